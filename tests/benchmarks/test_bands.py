"""Simultaneous bands and tolerance intervals: hand-made cases, and how often they cover what they say they cover."""

import numpy as np
import pytest
from scipy.stats import norm, t

from tiltyard.benchmarks.bands import simultaneous_band, tolerance_interval


def test_one_point_is_students_interval() -> None:
    found = simultaneous_band([[1.0], [2.0], [3.0]])
    assert found.high[0] == pytest.approx(2 + t.ppf(0.975, 2) / np.sqrt(3))


def test_points_at_which_all_runs_agree_have_no_interval_and_widen_no_other() -> None:
    alone = simultaneous_band([[1.0], [2.0], [3.0]])
    found = simultaneous_band([[0.5, 1.0], [0.5, 2.0], [0.5, 3.0]])
    assert np.isnan(found.low[0])
    assert found.high[1] == alone.high[0]


@pytest.mark.parametrize("runs", [3, 5, 10, 20])
def test_whole_curves_are_covered(runs: int) -> None:
    rng = np.random.default_rng(runs)
    steps = rng.normal(size=(1500, runs, 6)).cumsum(2)  # points of a curve depend on each other; the truth is 0
    inside = [bool(((band.low <= 0) & (0 <= band.high)).all()) for band in map(simultaneous_band, steps)]
    assert 0.935 < np.mean(inside) < 0.99
    ratios = steps.mean(1) / steps.std(1, ddof=1) * np.sqrt(runs)
    assert (np.abs(ratios) <= t.ppf(0.975, runs - 1)).all(1).mean() < 0.91  # what a pointwise band covers


@pytest.mark.parametrize("runs", [5, 20])
def test_tolerance_intervals_hold_the_share_of_runs_they_say(runs: int) -> None:
    values = np.random.default_rng(runs).normal(size=(1000, runs))
    found = [tolerance_interval(one, share=0.9) for one in values]
    held = [norm.cdf(one.high) - norm.cdf(one.low) for one in found]
    assert np.mean(np.array(held) >= 0.9) == pytest.approx(0.95, abs=0.025)


def test_tolerance_by_the_table() -> None:
    # Of 10 runs, 90% with 95% confidence: k = 2.839 in the tables (Howe's approximation 2.856).
    values = np.arange(10.0)
    found = tolerance_interval(values)
    assert (found.high - found.estimate) / values.std(ddof=1) == pytest.approx(2.839, rel=0.01)
    assert np.isnan(tolerance_interval([1.0, 1.0, 1.0]).low)


@pytest.mark.parametrize(
    ("curves", "said"), [([[1.0], [2.0]], "at least 3 runs"), ([[1.0], [2.0], [np.inf]], "finite"), ([1.0], "shape")]
)
def test_what_has_no_band_is_refused(curves: list[list[float]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        simultaneous_band(curves)
    with pytest.raises(ValueError, match="between 0 and 1"):
        simultaneous_band([[1.0], [2.0], [3.0]], level=1.0)
