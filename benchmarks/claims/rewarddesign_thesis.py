"""Do designed rewards make learning faster: those of a designer who knows the task, and those of the agent itself?

Four rooms, where going right in the far corner pays: Q-learning with the original reward, with ExpRD's on five states
and on all, with a hand-made one and with the potential of the best values. And a line whose far end pays 1 once and
whose near end pays a little all the time: PPO with ExploRS, its bonus alone, its intrinsic reward alone, and neither.
Scored is the original return of the greedy policy in units of the best, exactly evaluated, mean over training.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.designed_rewards import DesignedRewards, Teaching, design
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, summary

EXPRD, EVERYWHERE, ORIGINAL = "ExpRD on five states", "ExpRD on all states", "original reward"
CRAFTED, POTENTIAL = "hand-made reward", "potential-based shaping"
EXPLORS, BONUS, SELF, PLAIN = "ExploRS", "its bonus alone", "its intrinsic reward alone", "PPO"
SCORES = "return of the greedy policy, mean over training"
LEADS = (  # ours, baseline, whether it decides
    *((EXPRD, ORIGINAL, True), (EVERYWHERE, ORIGINAL, True), (EXPRD, CRAFTED, False)),
    *((EXPLORS, PLAIN, True), (EXPLORS, BONUS, False), (EXPLORS, SELF, False)),
)


def score(run: Floats) -> float:
    """Mean over training."""
    return float(run.mean())


def parts(found: Found[Teaching, Floats]) -> dict[str, Part]:
    """Leads of both ways over the original reward; beside them over other ways."""
    each, told = found.each(score), {}
    for ours, baseline, decides in LEADS:
        how: dict[str, Any] = {"highest": 1 - float(each[baseline].mean()), "margin": 0.05, "decides": decides}
        told[f"{ours} over {baseline}"] = part(each[ours] - each[baseline], **how)
    return told


def details(found: Found[Teaching, Floats]) -> dict[str, Any]:
    """Scores, curves, and the states that ExpRD chose."""
    bed, each = found.testbed, found.each(score)
    return {
        "seeds": found.seeds,
        SCORES: {name: float(of.mean()) for name, of in each.items()},
        "with intervals": summary(each),
        "mean curves": {name: np.mean(one.runs, axis=0).round(3).tolist() for name, one in found.outcomes.items()},
        "states of ExpRD": list(design(bed.side, bed.budget).states),
    }


CLAIM = Comparison(
    handle="rewarddesign-thesis",
    sentence="Rewards that a teacher designs on few states, and rewards that an agent designs itself, speed up the "
    "convergence to optimal policies (Devidze 2025, abstract)",
    effect="return, mean over training, of Q-learning with ExpRD minus that without, and of ExploRS minus PPO's",
    remark="Walls are ours; of the many rewards that are equally informative the smallest is taken.",
    testbed=DesignedRewards(),
    conditions={
        **{EXPRD: Teaching("designed"), EVERYWHERE: Teaching("designed everywhere"), ORIGINAL: Teaching("original")},
        **{CRAFTED: Teaching("crafted"), POTENTIAL: Teaching("potential")},
        **{EXPLORS: Teaching(None, explores=True, shapes=True), BONUS: Teaching(None, explores=True)},
        **{SELF: Teaching(None, shapes=True), PLAIN: Teaching(None)},
    },
    ours=EXPRD,
    baselines=(ORIGINAL, PLAIN),
    seeds=10,
    tuning=Tuning(score=score, grid=(0.03, 0.1, 0.3, 1.0), seeds=2),
    premise=Premise(
        "There is something to gain, and it can be had: the original reward earns less than 0.9, shaping more",
        (SCORES,),
        lambda of: max(of[ORIGINAL], of[PLAIN]) < 0.9 and of[POTENTIAL] > of[ORIGINAL],
    ),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
