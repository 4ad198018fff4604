"""Do agents of many turns come further where the number of turns grows than where it is the same all along?

Errands of up to 80 moves. All conditions learn by GRPO from the same number of moves and are judged with all 80:
``growing`` cuts its episodes off after fewer moves in the first and the second third of training (the authors' scripts
begin with 0.3 to 0.5 of the last stage's turns), ``short`` all along, and ``long`` never. Each has three forms, stages
or numbers of moves for the first two and other methods for the last, and the same learning rates to choose from.

The claim's parts are success on errands held out at the end of training; its mean over training is told beside it.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.errands import Errands, mean_success
from ..testbeds.staged_errands import Staged, StagedErrands, staged
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, rates_told, summary

BEFORE = "success before training"
FORMS = {
    "growing": (staged(20, 40, 80), staged(27, 53, 80), staged(40, 60, 80)),
    "short": (staged(20), staged(27), staged(40)),
    "long": (staged(80), staged(80, method="rloo"), staged(80, method="dr-grpo", length=80)),
}


def last(run: Floats) -> float:
    """Success at the end."""
    return float(run[-1])


def parts(found: Found[Staged, Floats]) -> dict[str, Part]:
    """Growing minus each: the end decides, the mean over training is told."""
    means = leads(found, mean_success, decides=False)
    return leads(found, last) | {f"{name}, mean over training": part for name, part in means.items()}


def details(found: Found[Staged, Floats]) -> dict[str, Any]:
    """What was chosen, tuning and scores."""
    return {
        "seeds": found.seeds,
        "moves of training": found.testbed.budget,
        "chosen": {name: [one.condition.handle, *one.condition.moves] for name, one in found.outcomes.items()},
        "learning rates": rates_told(found),
        BEFORE: float(found["growing"].each(lambda run: float(run[0])).mean()),
        "success over training": summary(found.each(mean_success)),
        "success at the end": summary(found.each(last)),
    }


CLAIM = Comparison(
    handle="agentgym-rl",
    sentence="A number of turns that grows during training makes agents better in the end than a large one from the "
    "beginning, which is less stable, and than a small one, which bounds what they find (Xi et al. 2025, abstract)",
    effect="held-out success at the end, after as many moves, minus that with few and that with all turns all along",
    testbed=StagedErrands(task=Errands(side=7, walls=8, moves=80)),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours="growing",
    baselines=("short", "long"),
    seeds=40,
    tuning=Tuning(last, (0.005, 0.01, 0.02, 0.04), 5, variants=FORMS),
    premise=Premise("Untrained policies succeed now and then", (BEFORE,), lambda success: success > 0.02),
    parts=parts,
    details=details,
    remark="Policies of a small network on a grid; most errands can be run in 20 moves, so that short episodes leave "
    "out few of them.",
)
measure = CLAIM.measure
