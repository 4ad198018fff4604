"""Do experts, and perturbations towards the best episodes, help an agent that learns several tasks at once?

A point mass is steered in six tasks that turn its controls. After two thirds of training three quarters of the actor's
hidden neurons are silenced: the dormant neurons that perturbations are to cure. Conditions are one agent with parts
exchanged: MENTOR; MENTOR perturbed towards fresh weights; MENTOR whose middle is one dense network. Each is tuned over
the same learning rates and two forms: with and without the gate's entropy in the loss, and the dense network with as
many weights as all experts have, or as the two that act have.

Experts are judged by the share of arrivals before the injury, perturbations by that after it. ``details`` also tell how
alike the tasks' gradients of the actor are: below 0 they are in conflict.
"""

from typing import Any

from ..testbeds.turned_controls import Steered, Steering, SteeringTasks
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, rates_told, summary

OURS, RANDOM, DENSE = "MENTOR", "random perturbation", "one dense network"
SHOWN = "the dense network's share of arrivals before the injury, and the least dormant ratio after it"


def experts(**settings: Any) -> Steering:
    """MENTOR with other settings."""
    return Steering(settings)


def dense(width: int) -> Steering:
    """MENTOR with one network of that width in place of the experts."""
    return Steering({"policy_kwargs": {"net_arch": {"pi": [64, width, 64], "qf": [64, 64]}, "actor": "deterministic"}})


FORMS = {
    OURS: (experts(), experts(gate_entropy_coef=0.0)),
    RANDOM: (experts(perturbation="random"), experts(perturbation="random", gate_entropy_coef=0.0)),
    DENSE: (dense(512), dense(128)),
}


def sound(run: Steered) -> float:
    """Share of arrivals before the injury."""
    return run.sound


def recovering(run: Steered) -> float:
    """Share of arrivals after it."""
    return run.recovering


def whole(run: Steered) -> float:
    """Share of arrivals, mean over training."""
    return float(run.arrivals.mean())


def parts(found: Found[Steering, Steered]) -> dict[str, Part]:
    """Experts before the injury, perturbations after it."""
    return {
        "experts over one dense network, before the injury": leads(found, sound, (DENSE,))[f"over {DENSE}"],
        "task-oriented over random perturbation, after it": leads(found, recovering, (RANDOM,))[f"over {RANDOM}"],
    }


def details(found: Found[Steering, Steered]) -> dict[str, Any]:
    """Arrivals, dormant ratios and gradients."""
    after = [min(run.dormant[1] for run in outcome.runs) for outcome in found.outcomes.values()]
    return {
        "seeds": found.seeds,
        "steps before and after the injury": [
            found.testbed.part * n for n in (found.testbed.sound, found.testbed.injured)
        ],
        "learning rates": rates_told(found),
        SHOWN: [float(found[DENSE].each(sound).mean()), min(after)],
        "share of arrivals before the injury": summary(found.each(sound)),
        "share of arrivals after it": summary(found.each(recovering)),
        "dormant ratio before it": {
            name: float(of.mean()) for name, of in found.each(lambda run: run.dormant[0]).items()
        },
        "cosine between gradients of tasks": summary(found.each(lambda run: run.cosine)),
        "mean share of arrivals by part of training": {
            name: of.mean(axis=0).round(3).tolist() for name, of in found.each(lambda run: run.arrivals).items()
        },
    }


CLAIM = Comparison(
    handle="mentor",
    sentence="An actor of experts learns tasks with conflicting gradients better than a dense one, and perturbations "
    "towards the weights of the best episodes help more than those towards random ones (Huang et al. 2024, abstract)",
    effect="share of goals reached, mean over training, of MENTOR minus that of the same agent with one dense network "
    "before the injury, and with random perturbations after it",
    testbed=SteeringTasks(),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours=OURS,
    baselines=(RANDOM, DENSE),
    seeds=10,
    tuning=Tuning(whole, (5e-4, 1e-3, 2e-3, 4e-3), 2, variants=FORMS),
    premise=Premise(
        "The dense network learns, and the injury makes neurons dormant", (SHOWN,), lambda of: min(of) > 0.3
    ),
    parts=parts,
    details=details,
    remark="Numbers in place of images, six tasks of one point mass in place of robots. On numbers no neuron is "
    "dormant by itself: the injury is ours.",
)
measure = CLAIM.measure
