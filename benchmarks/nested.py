"""Nested resampling of tuning and race: what a condition scores when its setting is chosen anew each time.

An interval over the runs of a race says what the chosen value of a setting gives, not what tuning and racing give: with
other tuning seeds another value might have been chosen. Each draw here tunes again and races again:

1. the mean trial of every value is drawn around the one seen, with the error that its seeds leave, and the value with
   the highest mean is chosen, as tuning does;
2. where that is the value of the race, the score is drawn around the mean of the race's runs; where it is another, of
   which there are no runs, around the mean of its trials, anew. All errors are Student's t.

The spread of a trial is pooled over the values of a task, for two or three seeds alone do not tell it; scores of tuning
and race must be of one environment, budget and scale. Trials whose spread grows with their mean make it a little small.
``tests/benchmarks/test_nested.py`` simulates the coverage for flat, sloping, peaked and collapsing grids.

Papers: Jordan, Chandak, Cohen, Zhang and Thomas, Evaluating the Performance of Reinforcement Learning Algorithms
(2020), section 3: what is evaluated is a complete algorithm, with the rule that sets its hyperparameters, and not the
best setting found; Patterson, Neumann, White and White, Empirical Design in Reinforcement Learning (2024), on the bias
of the best of few trials.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from .saturated import no_width
from .statistics import MIN_RUNS, Interval

Floats = npt.NDArray[np.float64]
DRAWS = 20_000


@dataclass(frozen=True)
class Tuned:
    """A condition that was tuned and raced on the same tasks.

    Attributes:
        trials: normalised scores of tuning, ``[values, tasks, seeds]``.
        scores: normalised scores of the race, ``[runs, tasks]``.
        raced: which of the values the race has.
    """

    trials: Floats
    scores: Floats
    raced: int

    def __post_init__(self) -> None:
        """Refuses what cannot be resampled.

        Raises:
            ValueError: other axes, fewer than two values or seeds, fewer than three runs, a score that is no finite
                number, or a race whose value is not the one that these trials choose.
        """
        for name, values, axes in (("trials", self.trials, 3), ("scores", self.scores, 2)):
            if values.ndim != axes or not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite numbers on {axes} axes, got shape {values.shape}")
        if min(self.trials.shape[0], self.trials.shape[2]) < 2 or len(self.scores) < MIN_RUNS:
            raise ValueError(
                f"resampling needs two values, two tuning seeds and {MIN_RUNS} runs, "
                f"got trials of shape {self.trials.shape} and {len(self.scores)} runs"
            )
        if self.trials.shape[1] != self.scores.shape[1]:
            raise ValueError(f"{self.trials.shape[1]} tasks were tuned and {self.scores.shape[1]} raced: give the same")
        if self.raced != self.best:
            raise ValueError(f"the race has value {self.raced} of the grid, and its trials choose {self.best}")

    @property
    def best(self) -> int:
        """Which of the values has the highest mean over tasks and seeds; of equals the first."""
        return int(self.trials.mean(axis=(1, 2)).argmax())

    def outcomes(self, rng: np.random.Generator, draws: int, tasks: Sequence[int] | None = None) -> Floats:
        """Mean scores over ``tasks`` (indices, all by default) of so many tunings with their races, ``[draws]``."""
        chosen = list(range(self.scores.shape[1]) if tasks is None else tasks)
        values, _, seeds = self.trials.shape
        centre = self.trials.mean(axis=2)  # [values, tasks]
        error = np.sqrt(self.trials.var(axis=2, ddof=1).mean(axis=0) / seeds)  # [tasks]
        freedom = values * (seeds - 1)
        shape = (draws, *centre.shape)
        again = centre + error * _student(rng, shape, freedom)
        picked = again.mean(axis=2).argmax(axis=1)
        elsewhere = centre + error * _student(rng, shape, freedom)
        found = elsewhere[np.arange(draws), picked]  # [draws, tasks]
        runs = len(self.scores)
        spread = self.scores.std(axis=0, ddof=1) / sqrt(runs)
        raced = self.scores.mean(axis=0) + spread * _student(rng, (draws, 1, len(spread)), runs - 1)[:, 0]
        outcome: Floats = np.where((picked == self.raced)[:, None], raced, found)[:, chosen].mean(axis=1)
        return outcome


def _student(rng: np.random.Generator, shape: tuple[int, ...], freedom: int) -> Floats:
    """Student's t, its scale drawn once a draw and task: the values of a task share their pooled spread."""
    scale = np.sqrt(freedom / rng.chisquare(freedom, (shape[0], 1, *shape[2:])))
    values: Floats = rng.standard_normal(shape) * scale
    return values


def nested_interval(condition: Tuned, *, rng: np.random.Generator, draws: int = DRAWS, level: float = 0.95) -> Interval:
    """The mean score of the race, with the interval of tuning and race together; NaN where nothing varies."""
    return _interval(float(condition.scores.mean()), condition.outcomes(rng, draws), level)


def nested_difference(
    a: Tuned,
    b: Tuned,
    *,
    rng: np.random.Generator,
    tasks: Sequence[int] | None = None,
    draws: int = DRAWS,
    level: float = 0.95,
) -> tuple[Interval, float]:
    """By how much ``a`` scored above ``b`` in the race: the nested interval, and the two-sided p-value.

    Args:
        a: a condition.
        b: another, of the same tasks.
        rng: decides the draws.
        tasks: the mean over these, all by default; values are chosen over all of them in any case.
        draws: how many.
        level: of the interval.

    Returns:
        The interval, NaN where nothing varies, and p, which is 1 there.
    """
    chosen = list(range(a.scores.shape[1]) if tasks is None else tasks)
    apart = a.outcomes(rng, draws, chosen) - b.outcomes(rng, draws, chosen)
    return _judged(float(a.scores[:, chosen].mean() - b.scores[:, chosen].mean()), apart, level)


def nested_mean_difference(
    pairs: Sequence[tuple[Tuned, Tuned]], *, rng: np.random.Generator, draws: int = DRAWS, level: float = 0.95
) -> tuple[Interval, float]:
    """:func:`nested_difference` of two conditions, averaged over several places where both were tuned and raced.

    Args:
        pairs: one a place, such as a base checkpoint; places are drawn independently, and weigh the same.
        rng: decides the draws.
        draws: how many.
        level: of the interval.
    """
    apart = np.mean([a.outcomes(rng, draws) - b.outcomes(rng, draws) for a, b in pairs], axis=0)
    return _judged(float(np.mean([a.scores.mean() - b.scores.mean() for a, b in pairs])), apart, level)


def _judged(estimate: float, apart: Floats, level: float) -> tuple[Interval, float]:
    """The interval of so many differences ``[draws]``, and the two-sided p-value of none."""
    found = _interval(estimate, apart, level)
    if np.isnan(found.low):
        return found, 1.0
    fewer = min(int((apart <= 0).sum()), int((apart >= 0).sum()))
    return found, min(1.0, 2 * (fewer + 1) / (len(apart) + 1))


def _interval(estimate: float, outcomes: Floats, level: float) -> Interval:
    low, high = map(float, np.quantile(outcomes, ((1 - level) / 2, (1 + level) / 2)))
    if no_width(low, high):
        return Interval(estimate, np.nan, np.nan)
    return Interval(estimate, min(low, estimate), max(high, estimate))
