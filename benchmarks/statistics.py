"""Statistics of few runs on several tasks: point metrics, bootstrap intervals, profiles, comparisons, pass@k.

Every function takes ``scores``: rows are independent runs (seeds), columns are tasks. A bare array is checked for shape
and finiteness; :class:`Scores` adds the names of runs and tasks, so that swapped axes or a hole are refused by name. No
interval is given for fewer than :data:`MIN_RUNS` runs, and none of zero width: where all resamples are equal, one with
stated coverage takes its place (:mod:`.saturated`), or its ends are NaN.

    scores = score_matrix({"Hopper": [0.4, 0.5, 0.3], "Highway": [0.9, 0.8, 0.7]})
    print(bootstrap_interval(scores, iqm, rng=np.random.default_rng(0)))  # 0.575 [0.475, 0.650]

Paper: Deep Reinforcement Learning at the Edge of the Statistical Precipice (2021), section 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import overload

import numpy as np
import numpy.typing as npt

from . import _kernels, saturated

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], float]

MIN_RUNS = 3
_CHUNK = 1 << 22  # indices held at once when a statistic has no compiled path
_WORD = 1 << 64


@dataclass(frozen=True)
class Interval:
    """A point estimate and the ends of its interval, which are NaN where there is an estimate alone."""

    estimate: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        if not (isfinite(self.low) and isfinite(self.high)):
            return f"{self.estimate:{spec or '.3f'}} [{saturated.NONE}]"
        spec = saturated.finer(spec or ".3f", self.low, self.high)
        return f"{self.estimate:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def __str__(self) -> str:
        return format(self, "")


@dataclass(frozen=True)
class Band:
    """A curve and its pointwise interval, arrays ``[thresholds]``; the ends are NaN where there is no interval."""

    estimate: Floats
    low: Floats
    high: Floats


class Scores:
    """A ``[runs, tasks]`` matrix that knows what its rows and columns are.

    Args:
        values: ``[runs, tasks]``, finite.
        runs: one name a row (``("seed 0", ...)``).
        tasks: one name a column.

    Raises:
        ValueError: the labels do not fit the matrix (the message says so where the axes look swapped), a name is used
            twice, or a cell is NaN or infinite (named by run and task).
    """

    def __init__(self, values: npt.ArrayLike, *, runs: Sequence[str], tasks: Sequence[str]) -> None:
        self.runs, self.tasks = tuple(map(str, runs)), tuple(map(str, tasks))
        for axis, names in (("run", self.runs), ("task", self.tasks)):
            if len(set(names)) < len(names):
                raise ValueError(f"the name of a {axis} is used twice among {', '.join(names)}")
        self.values = _matrix(values)
        wanted = (len(self.runs), len(self.tasks))
        if self.values.shape != wanted:
            swapped = self.values.shape == wanted[::-1]
            raise ValueError(
                f"scores have shape {self.values.shape}, but {wanted[0]} runs and {wanted[1]} tasks are named"
                + ("; the axes are swapped: pass scores.T" if swapped else "")
            )
        _check_finite(self.values, self.runs, self.tasks)

    def __repr__(self) -> str:
        return f"Scores({len(self.runs)} runs x {len(self.tasks)} tasks: {', '.join(self.tasks)})"


ScoresLike = Scores | npt.ArrayLike


def score_matrix(by_task: Mapping[str, Sequence[float] | Mapping[str, float]]) -> Scores:
    """Labelled scores from ``{task: [score of each run]}`` or ``{task: {run: score}}``.

    Raises:
        ValueError: a task has another number of runs, or lacks a run the others have (named).
    """
    if not by_task:
        raise ValueError("no scores: give at least one task")
    columns = {
        task: dict(column) if isinstance(column, Mapping) else {f"run {i}": x for i, x in enumerate(column)}
        for task, column in by_task.items()
    }
    first, runs = next((task, tuple(column)) for task, column in columns.items())
    for task, column in columns.items():
        if odd := set(runs) ^ set(column):
            raise ValueError(
                f"task {task!r} has {len(column)} runs and task {first!r} {len(runs)}; only one of the two has "
                f"{', '.join(sorted(map(str, odd)))}: give every task the same runs"
            )
    values = np.array([[column[run] for column in columns.values()] for run in runs], dtype=np.float64)
    return Scores(values.reshape(len(runs), len(columns)), runs=list(map(str, runs)), tasks=list(columns))


def mean(scores: ScoresLike) -> float:
    """Mean over tasks of the mean over runs."""
    return float(_checked(scores).mean())


def median(scores: ScoresLike) -> float:
    """Median over tasks of the mean over runs."""
    return float(np.median(_checked(scores).mean(axis=0)))


def iqm(scores: ScoresLike) -> float:
    """Interquartile mean: the mean of the middle half of all runs x tasks cells.

    A quarter of the cells, rounded down, is dropped at each end (``scipy.stats.trim_mean(scores, 0.25, axis=None)``).
    """
    ordered = np.sort(_checked(scores), axis=None)
    cut = _quarter(ordered.size)
    return float(ordered[cut : ordered.size - cut].mean())


def optimality_gap(scores: ScoresLike, *, target: float = 1.0) -> float:
    """By how much the scores miss ``target`` on average, exceeding it earning nothing: mean of max(target - x, 0)."""
    if not isfinite(target):
        raise ValueError(f"target must be a finite number, got {target}")
    return float(np.maximum(target - _checked(scores), 0.0).mean())


def bootstrap_interval(
    scores: ScoresLike,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
    bounds: saturated.Bounds | None = None,
) -> Interval:
    """Percentile interval of a statistic by the stratified bootstrap: runs are resampled within each task.

    The same ``rng`` state gives the same interval, bit for bit; one 64-bit word is taken from it. The four statistics
    of this module run compiled, any other callable ``[runs, tasks] -> float`` once a resample. Where all resamples give
    the same number the ends are those of :func:`.saturated.of_scores`: NaN, unless the scores have ``bounds``.

    Args:
        scores: ``[runs, tasks]`` with at least three runs.
        statistic: such as :func:`iqm`.
        rng: decides the resamples.
        resamples: how many.
        level: share of the bootstrap distribution inside the interval.
        bounds: the least and the largest score that there can be, such as (0, 1) of success rates.

    Raises:
        ValueError: wrong shape, fewer than three runs, a cell that is NaN or infinite, a statistic that returns one, or
            a score outside the bounds.
    """
    values = _enough(scores)
    _check_settings(rng, resamples, level)
    saturated.check_bounds(values, bounds)
    draws = _distribution(values, statistic, resamples, _key(rng))
    if not np.isfinite(draws).all():
        raise ValueError("the statistic is NaN or infinite on some resamples: it has no interval")
    low, high = map(float, np.quantile(draws, _ends(level)))
    if saturated.no_width(low, high):
        low, high = saturated.of_scores(values, statistic, bounds, level)
    return Interval(float(statistic(values)), low, high)


def probability_of_improvement(a: ScoresLike, b: ScoresLike) -> float:
    """P(a run of ``a`` scores above a run of ``b`` on the same task), ties counting half, averaged over tasks.

    Args:
        a: ``[runs_a, tasks]``.
        b: ``[runs_b, tasks]``, the same tasks in the same order.
    """
    return float(_wins(a, b).mean())


def improvement_interval(
    a: ScoresLike, b: ScoresLike, *, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Interval of :func:`probability_of_improvement`, runs of both sides resampled independently within each task.

    Where all pairs of runs on a task end alike, as where every run of ``a`` beats every run of ``b``, it is that of
    :func:`.saturated.of_shares`, of as many pairs as can be made of different runs.
    """
    _enough(a), _enough(b)
    _check_settings(rng, resamples, level)
    wins = _wins(a, b)
    if (wins == wins[:, :1, :1]).all():
        return Interval(float(wins.mean()), *saturated.of_shares(wins[:, 0, 0], min(wins.shape[1:]), level))
    draws = _kernels.improvements(wins, resamples, _key(rng), _key(rng))
    low, high = np.quantile(draws, _ends(level))
    return Interval(float(wins.mean()), float(low), float(high))


def performance_profile(scores: ScoresLike, thresholds: npt.ArrayLike) -> Floats:
    """Share of all runs x tasks cells that score above each threshold, ``[thresholds]``."""
    taus = _thresholds(thresholds)
    ordered = np.sort(_checked(scores), axis=None)
    above: Floats = 1.0 - np.searchsorted(ordered, taus, side="right") / ordered.size
    return above


def profile_band(
    scores: ScoresLike,
    thresholds: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
) -> Band:
    """:func:`performance_profile` with its pointwise stratified bootstrap interval.

    At thresholds that all runs of a task exceed, or none, it is that of :func:`.saturated.of_shares`.
    """
    values, taus = _enough(scores), _thresholds(thresholds)
    _check_settings(rng, resamples, level)
    order = np.argsort(taus)
    passed = np.searchsorted(taus[order], values.T.ravel(), side="left")
    draws = _kernels.profiles(passed, len(values), len(taus), resamples, _key(rng))
    ends = np.empty((2, len(taus)))
    ends[:, order] = np.quantile(draws, _ends(level), axis=0)
    for i in np.flatnonzero(ends[0] == ends[1]):
        ends[:, i] = saturated.of_shares((values > taus[i]).mean(axis=0), len(values), level)
    return Band(performance_profile(values, taus), ends[0], ends[1])


def mean_band(curves: npt.ArrayLike, *, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95) -> Band:
    """The mean over runs of curves ``[runs, points]``, with the pointwise bootstrap interval over whole curves.

    The band is NaN at points at which all runs are alike, as where they start from one checkpoint.
    """
    values = _enough(curves)
    _check_settings(rng, resamples, level)
    drawn = rng.integers(len(values), size=(resamples, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), _ends(level), axis=0)
    alike = high - low <= saturated.SAME * np.abs(values).max(axis=0)
    return Band(values.mean(axis=0), np.where(alike, np.nan, low), np.where(alike, np.nan, high))


@overload
def pass_at_k(n: int, c: int, k: int) -> float: ...
@overload
def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> float | Floats: ...
def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> float | Floats:
    """Unbiased estimate of the chance that at least one of ``k`` answers is correct: ``1 - C(n - c, k) / C(n, k)``.

    Args:
        n: answers drawn for a problem (or for each problem, an array).
        c: how many of them are correct.
        k: answers one may submit, at most n.

    Returns:
        A float, or one per problem (whose mean is the benchmark's pass@k).

    Raises:
        ValueError: counts that are no whole numbers, c above n, or k above n.

    Paper: Evaluating Large Language Models Trained on Code (2021), eq. 1.
    """
    drawn, right = np.broadcast_arrays(_counts(n, "n"), _counts(c, "c"))
    k = int(_counts(k, "k"))
    if (right < 0).any() or (right > drawn).any():
        raise ValueError("the number of correct answers c must lie between 0 and the number of answers n")
    if k < 1 or (drawn < k).any():
        raise ValueError(f"k must lie between 1 and the number of answers, got k={k} with n={drawn.min()}")
    failing = np.ones(drawn.shape)
    for i in range(k):  # the chance that answer i is incorrect as well, drawing without replacement
        failing = failing * np.maximum(drawn - right - i, 0) / (drawn - i)
    return 1.0 - failing if failing.ndim else float(1.0 - failing)


def _counts(values: npt.ArrayLike, name: str) -> npt.NDArray[np.int64]:
    found = np.asarray(values)
    if np.ma.isMaskedArray(values) or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise ValueError(f"{name} must hold whole numbers, got {values!r:.60}")
    return found.astype(np.int64)


def _matrix(scores: npt.ArrayLike) -> Floats:
    if np.ma.isMaskedArray(scores):
        raise ValueError("scores must not be a masked array, whose mask would be ignored: repeat or drop these runs")
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be a rectangular [runs, tasks] array of numbers: {error}") from error
    if values.ndim != 2:
        hint = "; one task is scores[:, None], one run scores[None, :]" if values.ndim == 1 else ""
        raise ValueError(f"scores must be a [runs, tasks] array, got {values.ndim} dimension(s){hint}")
    if not values.size:
        raise ValueError(f"scores must hold at least one run and one task, got shape {values.shape}")
    return values


def _check_finite(values: Floats, runs: Sequence[str], tasks: Sequence[str]) -> None:
    if not np.isfinite(values).all():
        holes = [f"{runs[i]} on {tasks[j]} is {values[i, j]}" for i, j in np.argwhere(~np.isfinite(values))[:5]]
        raise ValueError(f"scores must be finite, but {'; '.join(holes)}: repeat or drop these runs")


def _checked(scores: ScoresLike) -> Floats:
    if isinstance(scores, Scores):
        return scores.values
    values = _matrix(scores)
    _check_finite(values, [f"run {i}" for i in range(len(values))], [f"task {j}" for j in range(values.shape[1])])
    return values


def _enough(scores: ScoresLike) -> Floats:
    values = _checked(scores)
    if len(values) < MIN_RUNS:
        names = ", ".join(scores.tasks if isinstance(scores, Scores) else [f"{values.shape[1]} tasks"])
        raise ValueError(
            f"an interval needs at least {MIN_RUNS} runs, got {len(values)} for {names}: run more seeds "
            "(or pass scores.T if the rows are tasks)"
        )
    return values


def _check_settings(rng: object, resamples: int, level: float) -> None:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy Generator such as np.random.default_rng(0), got {rng!r}")
    if isinstance(resamples, bool) or not isinstance(resamples, int | np.integer) or resamples < 1:
        raise ValueError(f"resamples must be a whole number of at least 1, got {resamples!r}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def _thresholds(thresholds: npt.ArrayLike) -> Floats:
    taus = np.asarray(thresholds, dtype=np.float64)
    if taus.ndim != 1 or not np.isfinite(taus).all():
        raise ValueError(f"thresholds must be a finite 1-D array, got shape {taus.shape}")
    return taus


def _key(rng: np.random.Generator) -> np.uint64:
    return np.uint64(rng.integers(_WORD, dtype=np.uint64))


def _ends(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _quarter(cells: int) -> int:
    return cells // 4


def _wins(a: ScoresLike, b: ScoresLike) -> Floats:
    x, y = _checked(a), _checked(b)
    if isinstance(a, Scores) and isinstance(b, Scores) and a.tasks != b.tasks:
        raise ValueError(f"a and b must have the same tasks in the same order, got {a.tasks} and {b.tasks}")
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"a and b must have the same tasks (columns), got shapes {x.shape} and {y.shape}"
            + ("; if the rows are tasks, pass a.T and b.T" if len(x) == len(y) else "")
        )
    pairs = x.T[:, :, None], y.T[:, None, :]
    wins: Floats = (pairs[0] > pairs[1]) + 0.5 * (pairs[0] == pairs[1])  # [tasks, runs_a, runs_b]
    return wins


def _distribution(values: Floats, statistic: Statistic, resamples: int, key: np.uint64) -> Floats:
    """The statistic of each resample, ``[resamples]``; all paths draw the same resamples from the same key."""
    columns = np.ascontiguousarray(values.T)
    if statistic is iqm:
        order = np.argsort(columns, axis=None, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        cut = _quarter(order.size)
        draws: Floats = _kernels.trimmed_means(columns.ravel()[order], rank, len(values), cut, resamples, key)
        return draws
    if statistic is optimality_gap:
        columns = np.maximum(1.0 - columns, 0.0)
    if statistic is mean or statistic is optimality_gap:
        return np.asarray(_kernels.task_means(columns, resamples, key).mean(axis=1))
    if statistic is median:
        return np.asarray(np.median(_kernels.task_means(columns, resamples, key), axis=1))
    chunk = max(1, _CHUNK // values.size)
    out = np.empty(resamples)
    for first in range(0, resamples, chunk):
        picks = _kernels.picks(key, first, min(chunk, resamples - first), len(values), values.shape[1])
        for i, pick in enumerate(picks):
            out[first + i] = statistic(np.take_along_axis(values, pick.T, axis=0))
    return out
