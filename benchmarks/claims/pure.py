"""Can a reward for every step be learnt from when it errs, and does it take the minimum instead of the sum?

The conditions differ in the rewards that one and the same method of the catalogue is given: ``min-form``, ``pure`` as
in its row but for the KL penalty (a step is one token, so that no separator is masked); ``sum-form``, ``pure`` with an
infinite temperature and step rewards times the number of steps, so that a step's credit is the plain sum of the
rewards from it on; ``outcome``, the verifiable reward alone; and ``min-form and outcome``.

The claim has two parts: by how much min-form's success exceeds sum-form's at the end; and by how much min-form's
success after 30% of the updates exceeds outcome's after all of them, of which it may miss 5 points ("comparable").
``details`` also has what becomes of all at the largest learning rate, and, with few seeds, reward models that mind
filler or do not err, and a base that seldom succeeds.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.proofs import OTHER_SETTINGS, Proofs, success_after, summed, without_steps
from ..testbeds.sequences import SequenceMethod, Sequences, mean_first
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, part, rates_told, summary

SIDE, SIDE_SEEDS, NO_KL = ("min-form", "sum-form", "outcome"), 3, {"reward_kl_coef": 0.0}
MAIN, BEFORE = "filler is no fault", "success before training"
Outcomes = Found[SequenceMethod, Floats]
success, after_30_percent = success_after(1.0), success_after(0.3)


def parts(found: Outcomes) -> dict[str, Part]:
    """More than the sum at the end, and soon no less than outcomes."""
    soon, end = found["min-form"].each(after_30_percent), found["outcome"].each(success)
    return {
        "min-form minus sum-form at the end": leads(found, success, ("sum-form",))["over sum-form"],
        "min-form at 30% minus outcome at the end": part(soon - end, margin=0.05, wanted="no less"),
    }


def of_setting(found: Outcomes) -> dict[str, Any]:
    """What is told of each reward model."""
    return {
        BEFORE: float(found["outcome"].each(lambda run: run[0, 0]).mean()),
        "success at the end": summary(found.each(success)),
        "steps at the end": summary(found.each(lambda run: run[-1, 1])),
    }


def details(found: Outcomes) -> dict[str, Any]:
    """Parts, haste, and other reward models."""
    rates, own = rates_told(found), {name: found[name].rate for name in SIDE}
    beds = {kind: found.testbed.with_task(**how) for kind, how in OTHER_SETTINGS.items()}
    fastest = rates["grid"][-1]
    hasty = found.rerun(dict.fromkeys(SIDE, fastest), most=SIDE_SEEDS)
    others = {kind: found.rerun(own, most=SIDE_SEEDS, testbed=bed) for kind, bed in beds.items()}
    return {
        "seeds": found.seeds,
        "seeds of other settings": hasty.seeds,
        "updates": found.testbed.iterations,
        "learning rates": rates,
        f"success at the end, at the largest learning rate, {fastest}": summary(hasty.each(success)),
        "success at 30%": summary(found.each(after_30_percent)),
        MAIN: of_setting(found),
        **{kind: of_setting(other) for kind, other in others.items()},
    }


CLAIM = Comparison(
    handle="pure",
    sentence="With the minimum instead of the sum of process rewards as the value, training reaches what verifiable "
    "rewards do in 30% of the steps, where the sum collapses (Cheng et al. 2025, abstract)",
    effect="min-form's success minus sum-form's; min-form's after 30% of the updates minus outcome's after all (no "
    "less than 0.05 below)",
    testbed=Sequences(task=Proofs()),
    conditions={
        "min-form": SequenceMethod("pure", NO_KL),
        "sum-form": SequenceMethod("pure", {"temperature": 1e9, **NO_KL}, sees=summed),
        "outcome": SequenceMethod("pure", {"verifiable_weight": 1.0, **NO_KL}, sees=without_steps),
        "min-form and outcome": SequenceMethod("pure", {"verifiable_weight": 1.0, **NO_KL}),
    },
    ours="min-form",
    baselines=("sum-form", "outcome"),
    seeds=12,
    tuning=Tuning(mean_first, (0.01, 0.03, 0.1), 2),
    premise=Premise("The base policy proves something, which outcomes can teach", (MAIN, BEFORE), lambda p: p > 0.1),
    parts=parts,
    details=details,
    remark="The sum of rewards does not collapse at the learning rates chosen, which the paper says it does.",
)
measure = CLAIM.measure
