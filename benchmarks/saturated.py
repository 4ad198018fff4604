"""Intervals where the bootstrap has nothing to resample: all runs alike, or every run of one side above the other's.

A percentile interval of equal resamples has no width, which would claim certainty from a few runs. Instead:

* of outcomes that are one of two or three (a pair of runs won, tied or lost; a run above a threshold): Clopper and
  Pearson's bound. After ``n`` equal outcomes, a share of others above 1 - (a / 2)^(1 / n) is rejected at level a / 2;
* of scores with known bounds: the largest such share of runs (or, where runs are not all alike, the share by which a
  distribution function may differ from the empirical one, by Dvoretzky, Kiefer, Wolfowitz and Massart) is moved to
  either bound, and the statistic taken there. It covers any statistic that does not fall where a score rises, and any
  that does not rise;
* of scores without known bounds: no interval. Its ends are NaN, and pages say of how many identical runs.

With 95% and one task the share is 0.71 of 3 runs, 0.52 of 5, 0.37 of 8, 0.17 of 20.

Papers: Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial (1934);
Massart, The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality (1990).
"""

import re
from collections.abc import Callable
from math import isfinite, log, nan, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float]

SAME = 1e-12
"""Ends that differ by less than this share of their size are one number, rounded twice."""
NONE = "no interval: identical runs"
_GRID = 2000  # cells that stand for a distribution


def none(count: int, what: str = "runs") -> str:
    """What is said in the place of an interval where there is none."""
    return f"no interval: {count} identical {what}"


def no_width(low: float, high: float) -> bool:
    """Whether an interval has no width, but for rounding."""
    return high - low <= SAME * max(abs(low), abs(high))


def finer(spec: str, low: float, high: float) -> str:
    """A format such as ``.2f`` with so many decimals more that two ends that differ do not read the same.

    >>> finer(".2f", 0.2494, 0.2538), finer(".0%", 0.1, 0.2)
    ('.3f', '.0%')
    """
    found = re.fullmatch(r"(.*\.)(\d+)([f%])", spec)
    if found is None or not low < high:
        return spec
    digits = int(found[2])
    while format(low, f"{found[1]}{digits}{found[3]}") == format(high, f"{found[1]}{digits}{found[3]}") and digits < 12:
        digits += 1
    return f"{found[1]}{digits}{found[3]}"


def share_of_others(outcomes: int, level: float) -> float:
    """The largest probability of another outcome that so many equal, independent outcomes leave possible."""
    return float(1 - ((1 - level) / 2) ** (1 / outcomes))


def of_shares(outcome: Floats, count: int, level: float) -> tuple[float, float]:
    """Ends for a mean over tasks of outcomes in [0, 1] that were the same at all of ``count`` trials of each task.

    With probabilities q_t of the outcome seen, the product of the q_t^count is at least (1 - level) / 2; the mean of
    1 - q_t is then largest where all are equal, at :func:`share_of_others` of all trials.

    Args:
        outcome: of each task, ``[tasks]``.
        count: independent trials of each.
        level: of the interval.
    """
    centre, share = float(outcome.mean()), share_of_others(count * outcome.size, level)
    low = centre - share * float(outcome.max())
    high = centre + share * float((1 - outcome).max())
    return max(0.0, low), min(1.0, high)


def of_scores(
    scores: Floats, statistic: Callable[[Floats], float], bounds: Bounds | None, level: float
) -> tuple[float, float]:
    """Ends for a statistic of ``[runs, tasks]`` whose resamples are all equal; NaN where there is no interval.

    Args:
        scores: of the runs.
        statistic: monotone in each score.
        bounds: the least and the largest score; None where they are not known.
        level: of the interval.

    Raises:
        ValueError: a score outside the bounds.
    """
    check_bounds(scores, bounds)
    if bounds is None:
        return nan, nan
    least, most = bounds
    share = _moved(scores, level)
    place = (np.arange(_GRID) + 0.5) / _GRID  # quantiles that stay, when a share of the runs is moved to a bound
    lowered = np.where((place < 1 - share)[:, None], _quantiles(scores, place), least)
    raised = np.where((place > share)[:, None], _quantiles(scores, place), most)
    ends = sorted((float(statistic(lowered)), float(statistic(raised))))
    return (nan, nan) if no_width(ends[0], ends[1]) else (ends[0], ends[1])


def check_bounds(scores: Floats, bounds: Bounds | None) -> None:
    """Refuses bounds that scores do not lie within; None are no bounds.

    Raises:
        ValueError: a score outside the bounds, or bounds that are none.
    """
    if bounds is None:
        return
    least, most = bounds
    if not (isfinite(least) and isfinite(most) and least <= scores.min() <= scores.max() <= most and least < most):
        raise ValueError(f"scores from {scores.min():g} to {scores.max():g} do not lie within the bounds {bounds}")


def _moved(scores: Floats, level: float) -> float:
    """The share of each task's runs that may lie elsewhere than the runs at hand."""
    runs, tasks = scores.shape
    if (scores == scores[0]).all():
        return share_of_others(runs, level)
    return min(1.0, sqrt(log(2 * tasks / (1 - level)) / (2 * runs)))


def _quantiles(scores: Floats, places: Floats) -> Floats:
    """Empirical quantiles ``[places, tasks]``: the runs in ascending order, each as often as its share."""
    found: Floats = np.sort(scores, axis=0)[np.minimum((places * len(scores)).astype(int), len(scores) - 1)]
    return found
