"""Does ALP-GMM teach more of a parameter space than uniform draws, robustly?

The student is a counter, as in the authors' toy (``toy_env.py`` of their code): the unit square is cut into 10 x 10
cells; an episode's return is its cell's competence in [0, 1], which an episode raises by 1/100, provided that some cell
one step nearer to the origin (along either axis or both) is mastered, that is, at 3/4 or above. The first cell needs no
neighbour. Three spaces hold the same square:

* ``plain``: the square alone;
* ``distractors``: ten more parameters that change nothing;
* ``unlearnable``: the square is a quarter of the space; in the rest no episode ever earns anything.

Score: the share of the 100 cells that is mastered after 15,000 episodes. The effect is the smallest over the spaces of
ALP-GMM's advantage, so that the claim falls if any one space refutes it. ``details`` tells, for the last space, how
many draws went where nothing can be learnt, once the first Gaussians were fitted: uniform draws spend 75% there, and
ALP-GMM cannot spend less than the 15% of its own uniform share.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ...wrappers.curricula.alp_gmm import ALPGMM, RandomTeacher
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="alp-gmm",
    sentence="ALP-GMM scales to tasks that are mostly unfeasible and to high-dimensional parameter spaces "
    "(Portelas et al. 2019, abstract)",
    effect="cells mastered with ALP-GMM minus with uniform draws, in percent, in the space where it helps least",
)

SEEDS = 10
EPISODES = 15_000
CELLS = 10
MASTERED = 75  # episodes of a hundred


@dataclass(frozen=True)
class Space:
    """A parameter space whose first two parameters matter.

    Attributes:
        dimensions: of the space.
        side: of the box along the two that matter; learnable is their unit square.
    """

    dimensions: int = 2
    side: float = 1.0


SPACES = {"plain": Space(), "distractors": Space(dimensions=12), "unlearnable": Space(side=2.0)}
TEACHERS: dict[str, Callable[..., RandomTeacher]] = {"ALP-GMM": ALPGMM, "uniform": RandomTeacher}


@dataclass
class Student:
    """Learns cell by cell, from the origin outwards.

    Attributes:
        competence: ``[CELLS, CELLS]`` episodes that counted, at most 100 each.
    """

    competence: Floats = field(default_factory=lambda: np.zeros((CELLS, CELLS)))

    def episode(self, params: Floats) -> float:
        """The return of an episode, in [0, 1]; 0 outside the unit square."""
        if (params[:2] > 1).any():
            return 0.0
        x, y = (min(int(place * CELLS), CELLS - 1) for place in params[:2])
        if self._unlocked(x, y):
            self.competence[x, y] = min(self.competence[x, y] + 1, 100)
        return float(self.competence[x, y]) / 100

    def _unlocked(self, x: int, y: int) -> bool:
        nearer = set(product((x, max(x - 1, 0)), (y, max(y - 1, 0)))) - {(x, y)}
        return x == y == 0 or any(self.competence[cell] >= MASTERED for cell in nearer)

    @property
    def mastered(self) -> float:
        """Share of the cells, in percent."""
        return 100 * float((self.competence >= MASTERED).mean())


@dataclass(frozen=True)
class Lesson:
    """What came of teaching one student.

    Attributes:
        mastered: share of cells after all episodes, in percent.
        wasted: share of the draws after the first fit that lay outside the learnable square, in percent.
    """

    mastered: float
    wasted: float


def lesson(teacher: str, space: Space, seed: int) -> Lesson:
    """Teaches one student for :data:`EPISODES` episodes."""
    low, high = np.zeros(space.dimensions), np.ones(space.dimensions)
    high[:2] = space.side
    taught, student, wasted, counted = TEACHERS[teacher](low, high, seed=seed), Student(), 0, 0
    first_fit = ALPGMM(low, high).fit_every
    for episode in range(EPISODES):
        params = taught.sample()
        taught.update(params, student.episode(params))
        if episode >= first_fit:
            counted += 1
            wasted += bool((params[:2] > 1).any())
    return Lesson(student.mastered, 100 * wasted / max(counted, 1))


def _least_mean(advantages: Floats) -> float:
    """Of ``[seeds, spaces]``: the mean over seeds in the space where it is least."""
    return float(advantages.mean(axis=0).min())


def measure(*, seeds: int | None = None) -> Measurement:
    """Teaches ``seeds`` students (10 by default) by each teacher in each space: about two minutes on one core."""
    count = SEEDS if seeds is None else seeds
    found = {
        (teacher, name): [lesson(teacher, space, seed) for seed in range(count)]
        for name, space in SPACES.items()
        for teacher in TEACHERS
    }

    def mastered(teacher: str) -> Floats:
        """``[seeds, spaces]``."""
        return np.array([[one.mastered for one in found[teacher, name]] for name in SPACES]).T

    advantage = mastered("ALP-GMM") - mastered("uniform")
    details: dict[str, Any] = {
        "seeds": count,
        "episodes": EPISODES,
        "cells mastered in percent": {
            f"{teacher}, {name}": asdict(_interval(mastered(teacher)[:, [i]], i))
            for i, name in enumerate(SPACES)
            for teacher in TEACHERS
        },
        "draws where nothing can be learnt in percent": {
            teacher: asdict(_interval(np.array([[one.wasted] for one in found[teacher, "unlearnable"]]), 7))
            for teacher in TEACHERS
        },
    }
    return Measurement(bootstrap_interval(advantage, _least_mean, rng=np.random.default_rng([1910, 0])), details)


def _interval(values: Floats, seed: int) -> Interval:
    return bootstrap_interval(values, mean, rng=np.random.default_rng([1910, seed]))
