"""How claims compare methods: a learning rate for every arm from one grid, on seeds that no result comes from.

A *course* is what became of one student in one world of :mod:`.laboratory`; an *arm* is a method's courses in all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..statistics import Floats, Interval, bootstrap_interval, mean

GRID = (0.01, 0.03, 0.1, 0.3)
"""Learning rates that every arm may choose from."""

TUNING = 1000
"""Seeds from here on choose learning rates; no result comes from them."""


@dataclass(frozen=True)
class Course:
    """What became of a student, K moments of training; exact, nothing here is an estimate."""

    answers: npt.NDArray[np.int64]  # [K] answered so far
    success: Floats  # [K, N] probability of a right answer to each problem
    entropy: Floats  # [K, N] nats an answer
    trained: int

    @property
    def held_out(self) -> Floats:
        """Mean success on the problems held out, ``[K]``."""
        return np.asarray(self.success[:, self.trained :].mean(1))

    @property
    def mean_held_out(self) -> float:
        """Mean over training of :attr:`held_out` (its area by the trapezoid rule): high is soon and well."""
        return float(np.trapezoid(self.held_out, self.answers) / (self.answers[-1] - self.answers[0]))

    def pass_at(self, k: int, moment: int = -1) -> float:
        """Mean probability that one of ``k`` answers is right, on the problems held out."""
        return float((1 - (1 - self.success[moment, self.trained :]) ** k).mean())

    def answers_until(self, level: float) -> float:
        """Answers until :attr:`held_out` is at least ``level``; infinite if never."""
        there = np.flatnonzero(self.held_out >= level)
        return float(self.answers[there[0]]) if len(there) else float("inf")


def best_rates(
    score: Callable[[str, float, int], float], arms: Iterable[str], *, seeds: int = 4, grid: Sequence[float] = GRID
) -> dict[str, float]:
    """The learning rate of the highest mean ``score(arm, rate, seed)`` for each arm, on ``seeds`` tuning seeds."""
    tuning = range(TUNING, TUNING + seeds)
    return {arm: max(grid, key=lambda rate: sum(score(arm, rate, seed) for seed in tuning)) for arm in arms}


@dataclass(frozen=True)
class Arm:
    """What a method did at the learning rate that suits it: a course a seed."""

    rate: float
    courses: list[Course]

    def each(self, value: Callable[[Course], float]) -> Floats:
        """A number of every course, ``[seeds]``."""
        return np.array([value(course) for course in self.courses])

    @property
    def scores(self) -> Floats:
        """Held-out success, mean over training, of every course, ``[seeds]``."""
        return self.each(lambda course: course.mean_held_out)


def leads(arms: Mapping[str, Arm], ours: str, rivals: Iterable[str]) -> dict[str, Floats]:
    """By how much an arm's score exceeds each rival's in the same world, ``[seeds]`` each."""
    return {f"over {rival}": arms[ours].scores - arms[rival].scores for rival in rivals}


def compare(
    run: Callable[[str, float, int], Course],
    arms: Iterable[str],
    *,
    seeds: int,
    score: Callable[[Course], float] = lambda course: course.mean_held_out,
    grid: Sequence[float] = GRID,
    tuning: int = 4,
) -> dict[str, Arm]:
    """Runs every arm ``run(arm, rate, seed)`` on seeds 0, 1, ..., each at its :func:`best_rates` by ``score``."""
    rates = best_rates(lambda arm, rate, seed: score(run(arm, rate, seed)), arms, seeds=tuning, grid=grid)
    return {arm: Arm(rate, [run(arm, rate, seed) for seed in range(seeds)]) for arm, rate in rates.items()}


def interval(values: npt.ArrayLike, index: int = 0) -> Interval:
    """Mean of one value a seed, with its bootstrap interval; ``index`` tells several of a claim apart."""
    return bootstrap_interval(np.asarray(values, float).reshape(-1, 1), mean, rng=np.random.default_rng([2025, index]))


def summary(values: Mapping[str, npt.ArrayLike]) -> dict[str, dict[str, float]]:
    """:func:`interval` of each, as JSON."""
    return {name: asdict(interval(of, index)) for index, (name, of) in enumerate(values.items())}


def weakest(parts: Mapping[str, npt.ArrayLike]) -> Interval:
    """Of a claim in several parts, the least supported: the least estimate, low end and high end of the parts' own.

    It is above 0 only where every part's interval is, and at or below 0 as soon as one's is. (The interval of the
    least mean itself would be too low: the least of several noisy numbers is lower than what is least.)

    Args:
        parts: one value a seed of each.
    """
    intervals = [interval(values, index) for index, values in enumerate(parts.values())]
    return Interval(*(min(getattr(one, end) for one in intervals) for end in ("estimate", "low", "high")))


def report(arms: Mapping[str, Arm]) -> dict[str, Any]:
    """What every claim tells of its arms, as JSON: learning rates, success and entropy on the problems held out."""
    any_arm = next(iter(arms.values()))
    return {
        "seeds": len(any_arm.courses),
        "answers": int(any_arm.courses[0].answers[-1]),
        "learning rate": {name: arm.rate for name, arm in arms.items()},
        "held-out success before": asdict(interval(any_arm.each(lambda course: course.held_out[0]))),
        "held-out success, mean over training": summary(
            {n: a.each(lambda c: c.mean_held_out) for n, a in arms.items()}
        ),
        "held-out success at the end": summary({n: a.each(lambda c: c.held_out[-1]) for n, a in arms.items()}),
        "trained problems' success at the end": summary(
            {n: a.each(lambda c: c.success[-1, : c.trained].mean()) for n, a in arms.items()}
        ),
        "entropy of an answer at the end, nats": summary(
            {n: a.each(lambda c: c.entropy[-1, c.trained :].mean()) for n, a in arms.items()}
        ),
    }
