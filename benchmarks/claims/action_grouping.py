"""Is grouping actions finer not always better, and does the bound tell how finely to group?

Random processes of 64 actions that vary smoothly along a line, learnt from 128 to 32,768 samples of a generative model,
with 1 to 64 groups. The bound knows how similar actions are, as in the paper, and weighs its estimation error by 0.3,
which was chosen on other processes. Scored is the value of what is learnt: 0 at random, 1 at best.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds import grouped_actions as bed
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import leads, summary

CHOSEN, NONE, COARSE, HINDSIGHT = "by the bound", "no groups", "one coarse grouping", "the best in hindsight"
BEST = "best number of groups by samples, on tuning seeds"
FEW, MANY = "few samples", "many samples"


def few(run: Floats) -> float:
    """Mean score of the two smallest budgets."""
    return float(run[:2].mean())


def many(run: Floats) -> float:
    """Mean score of the two largest budgets."""
    return float(run[-2:].mean())


def parts(found: Found[bed.Strategy, Floats]) -> dict[str, Part]:
    """More than no groups with few samples and than coarse ones with many; and no less than the best in hindsight."""
    near = leads(found, lambda run: float(run.mean()), [HINDSIGHT], margin=0.05, wanted="no less")
    return {
        f"over {NONE}, {FEW}": leads(found, few, [NONE], margin=0.02)[f"over {NONE}"],
        f"over {COARSE}, {MANY}": leads(found, many, [COARSE], margin=0.02)[f"over {COARSE}"],
        **near,
        f"over {NONE}, {MANY}": leads(found, many, [NONE], margin=0.02, decides=False)[f"over {NONE}"],
    }


def details(found: Found[bed.Strategy, Floats]) -> dict[str, Any]:
    """Scores by budget, and how many groups are best for each."""
    of = found.testbed
    picked = [[bed.SIZES[bed.by_bound(of, of.process(seed), n)] for n in of.budgets] for seed in found.seed_list]
    return {
        "seeds": found.seeds,
        "samples": list(of.budgets),
        BEST: [bed.SIZES[i] for i in of.best()],
        "groups by the bound, first seeds": picked[:5],
        "scores by groups and samples, on tuning seeds": {
            str(size): column.round(3).tolist() for size, column in zip(bed.SIZES, of.table().T, strict=True)
        },
        "scores by samples": {
            name: np.mean(each.runs, axis=0).round(3).tolist() for name, each in found.outcomes.items()
        },
        "with intervals": {FEW: summary(found.each(few)), MANY: summary(found.each(many))},
    }


CLAIM = Comparison(
    handle="action-grouping",
    sentence="Finer groups of actions lessen the approximation error but add estimation error where samples are "
    "limited, and a grouping chosen for both is nearly optimal (Li et al. 2024, abstract)",
    effect="score of the grouping with the least bound minus that of no groups with few samples, of the grouping that "
    "is best for few samples with many, and of the best in hindsight on tuning seeds",
    testbed=bed.GroupedActions(),
    conditions={CHOSEN: bed.by_bound, NONE: bed.ungrouped, COARSE: bed.always_coarse, HINDSIGHT: bed.in_hindsight},
    ours=CHOSEN,
    baselines=(NONE, COARSE),
    seeds=30,
    premise=Premise(
        "The best number of groups grows with the samples", (BEST,), lambda sizes: 1 < sizes[0] < sizes[-1]
    ),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
