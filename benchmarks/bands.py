"""Bands and ranges that hold all at once: simultaneous bands of learning curves, and tolerance intervals.

A pointwise band covers each point of the true mean curve with 95%, and leaves some point out far more often; a
simultaneous one covers the whole curve with 95%. An interval of the mean says where the mean of many runs lies; a
tolerance interval says where a stated share of single runs lies, which is what whoever runs an agent once will meet.
"""

from math import nan, sqrt

import numpy as np
import numpy.typing as npt

from .statistics import MIN_RUNS, Band, Interval
from .verdicts import Sample


def simultaneous_band(curves: npt.ArrayLike, *, level: float = 0.95) -> Band:
    """The mean over runs of curves ``[runs, points]``, with a band that covers all points of the true one at once.

    Student's t with Bonferroni's correction over the points at which runs differ: it holds for few runs and any
    dependence between points, and is wider than need be where points depend on each other. Where all runs agree there
    is no interval (NaN).

    Raises:
        ValueError: fewer than three runs, another shape, a value that is no finite number, or a level outside (0, 1).
    """
    from scipy.stats import t

    values = _checked(curves, level)
    runs, centre, spread = len(values), values.mean(0), values.std(0, ddof=1)
    differ = spread > 1e-12 * np.abs(values).max(0)
    points = max(1, int(differ.sum()))
    half = np.where(differ, t.ppf(1 - (1 - level) / (2 * points), runs - 1) * spread / sqrt(runs), nan)
    return Band(centre, centre - half, centre + half)


def tolerance_interval(values: npt.ArrayLike, *, share: float = 0.9, level: float = 0.95) -> Interval:
    """Where at least ``share`` of all runs lies, with confidence ``level``, of normal scores of some runs, ``[runs]``.

    mean +- k s with Howe's k = z sqrt((n - 1) (1 + 1 / n) / chi2), z the normal quantile of (1 + share) / 2 and chi2
    the quantile of 1 - level with n - 1 degrees of freedom. Ends are NaN where all runs agree.

    Raises:
        ValueError: as :func:`simultaneous_band`.
    """
    from scipy.stats import chi2, norm

    array = np.asarray(values, np.float64)
    _checked(array[:, None] if array.ndim == 1 else array, level)
    _checked(np.zeros((MIN_RUNS, 1)), share)
    sample = Sample.of(array)
    if not sample.error:
        return Interval(sample.mean, nan, nan)
    runs, deviation = sample.runs, sample.error * sqrt(sample.runs)
    k = norm.ppf((1 + share) / 2) * sqrt((runs - 1) * (1 + 1 / runs) / chi2.ppf(1 - level, runs - 1))
    return Interval(sample.mean, sample.mean - k * deviation, sample.mean + k * deviation)


def _checked(curves: npt.ArrayLike, level: float) -> npt.NDArray[np.float64]:
    values = np.asarray(curves, np.float64)
    if values.ndim != 2 or len(values) < MIN_RUNS:
        raise ValueError(f"a band needs [runs, points] of at least {MIN_RUNS} runs, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("curves must be finite numbers")
    if not 0 < level < 1:
        raise ValueError(f"shares and levels must lie between 0 and 1, got {level}")
    return values
