"""Does ALP-GMM teach more of a parameter space than uniform draws, robustly?

Three spaces hold the same square of cells to be learnt: ``plain``, the square alone; ``distractors``, ten more
parameters that change nothing; ``unlearnable``, where the square is a quarter of the space and in the rest no episode
ever earns anything.

Score: the share of the cells that is mastered after 15,000 episodes. Each space is a part of the claim: ALP-GMM's
advantage there. Two percent of the cells count as none. ``details`` tells, for the last space, how many draws went
where nothing can be learnt, once the first Gaussians were fitted: uniform draws spend 75% there, and ALP-GMM cannot
spend less than the 15% of its own uniform share.
"""

from dataclasses import asdict
from typing import Any

from ...wrappers.curricula.alp_gmm import ALPGMM, RandomTeacher
from ..testbeds.counter import Lesson, Lessons, Space, Teacher, mastered
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import interval, part, summary

SPACES = {"plain": Space(), "distractors": Space(dimensions=12), "unlearnable": Space(side=2.0)}
WASTED = "draws where nothing can be learnt in percent"
Outcomes = Found[Teacher, list[Lesson]]


def parts(found: Outcomes) -> dict[str, Part]:
    """The advantage in each space."""
    (advantage,) = found.minus(mastered).values()
    rest = 100 - found["uniform"].each(mastered).mean(axis=0)
    return {space: part(advantage[:, i], highest=rest[i], margin=2.0) for i, space in enumerate(SPACES)}


def details(found: Outcomes) -> dict[str, Any]:
    """Cells mastered and draws wasted."""
    each = found.each(mastered)
    return {
        "seeds": found.seeds,
        "episodes": found.testbed.episodes,
        "cells mastered in percent": {
            f"{teacher}, {space}": asdict(interval(of[:, i]))
            for i, space in enumerate(SPACES)
            for teacher, of in each.items()
        },
        WASTED: summary(found.each(lambda run: run[-1].wasted)),
    }


CLAIM = Comparison(
    handle="alp-gmm",
    sentence="ALP-GMM scales to tasks that are mostly unfeasible and to high-dimensional parameter spaces "
    "(Portelas et al. 2019, abstract)",
    effect="cells mastered with ALP-GMM minus with uniform draws, in percent, in each space",
    testbed=Lessons(spaces=SPACES),
    conditions={"ALP-GMM": ALPGMM, "uniform": RandomTeacher},
    ours="ALP-GMM",
    baselines=("uniform",),
    seeds=10,
    premise=Premise("Uniform draws waste episodes where nothing can be learnt", (WASTED, "uniform")),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
