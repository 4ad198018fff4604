"""Does choosing one action dimension given the other find what independent dimensions miss in suboptimal data?

Each condition is the same class with the same networks, rates, bins and imitation weight (that of the authors for
their least good Hopper data), and differs in its decomposition alone: it learns from the demonstrations, which are
mostly of poor modes as in the paper's motivating example, then as many updates again in the environment with the
demonstrations at hand. The effect pairs by seed the reward of the deterministic policies of ARSQ and of independent
dimensions. ``additive``, which keeps ARSQ's loss but not its conditioning, is in ``details``, and so are scores after
the demonstrations alone, and Hopper from episodes of its expert with 30% to 100% of each action replaced by noise,
where the discount is 0.97, so that values can grow to their size within a small budget.
"""

from typing import Any

from ...agents.control.arsq_network import DECOMPOSITIONS
from ..testbeds.bandit import Coupled, demonstrations, earned
from ..testbeds.control import Agent, Control, Phase, Trained, normalised_return
from ..testbeds.mixed_experts import noisy_expert
from .claim import Comparison, Found, Premise
from .effects import interval, summary

STREAM, STEPS, TASK, TASK_STEPS, TASK_SEEDS, EPISODES = 2504, 500, "tiltyard/Hopper-v5", 1500, 4, 24
NETWORKS = {"net_arch": [64, 64]}
SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": STEPS,
    "learning_starts": 0,
    "gradient_steps": 1,
}
LEARNER = {"imitation_weight": 0.03, "policy_kwargs": NETWORKS}
TASK_SETTINGS = {"buffer_size": TASK_STEPS, "gamma": 0.97, "tau": 0.02}
HOPPER = Control(
    env=TASK,
    settings={**SETTINGS, **TASK_SETTINGS, **LEARNER, "n_envs": 1},
    data=lambda seed: noisy_expert(TASK, seed, episodes=EPISODES),
    phases=(Phase("data", TASK_STEPS), Phase("steps", TASK_STEPS)),
    score=normalised_return(TASK, 10),
    small={"data": lambda seed: noisy_expert(TASK, seed, episodes=2), "score": normalised_return(TASK, 1)},
)
BANDIT = Control(
    env=Coupled,
    settings={**SETTINGS, **LEARNER},
    data=demonstrations,
    phases=(Phase("data", STEPS), Phase("steps", STEPS)),
    score=earned,
)
Outcomes = Found[Agent, Trained[float]]


def end(run: Trained[float]) -> float:
    """After all phases."""
    return run.scores[-1]


def told(found: Outcomes) -> dict[str, Any]:
    """Every condition's scores and what separates ARSQ from the others."""
    others = [name for name in found.outcomes if name != found.claim.ours]
    leads = {name.removeprefix("over "): of for name, of in found.leads(end, others).items()}
    return {
        "from the data alone": summary(found.each(lambda run: run.scores[0]), 1, stream=STREAM),
        "in the end": summary(found.each(end), 2, stream=STREAM),
        "in the end, by seed": {n: [round(float(value), 3) for value in of] for n, of in found.each(end).items()},
        "auto-regressive minus": summary(leads, 3, stream=STREAM),
    }


def details(found: Outcomes) -> dict[str, Any]:
    """The bandit and Hopper."""
    phases, bed = found.testbed.phases, found.testbed.sized(HOPPER)
    some = dict.fromkeys((found.claim.ours, *found.claim.baselines), float("nan"))
    hopper = found.rerun(some, most=TASK_SEEDS, testbed=bed)
    return {
        "seeds": found.seeds,
        "bandit, reward": told(found),
        f"{TASK}, normalised return": {"seeds": hopper.seeds, **told(hopper)},
        "settings of all": SETTINGS | NETWORKS,
        f"settings on {TASK}": {key: TASK_SETTINGS[key] for key in ("gamma", "tau")},
        "imitation weight": LEARNER["imitation_weight"],
        "updates from the data, then steps": {"bandit": phases[0].amount, TASK: bed.phases[0].amount},
    }


CLAIM = Comparison(
    handle="arsq",
    sentence="Where dimensions of an action depend on each other, auto-regressive advantages find better actions from "
    "suboptimal data than values estimated independently for each dimension (Liu et al. 2025, abstract and figure 1)",
    effect="reward (1 at best) of ARSQ minus that with independent dimensions, in a bandit with coupled dimensions",
    testbed=BANDIT,
    conditions={name: Agent("arsq", {"decomposition": name}) for name in DECOMPOSITIONS},
    ours="auto-regressive",
    baselines=("independent",),
    seeds=10,
    premise=Premise("none measured: that independent dimensions mislead is arithmetic, and tested"),
    estimate=lambda found: interval(found.leads(end)["over independent"], 0, stream=STREAM),
    details=details,
)
measure = CLAIM.measure
