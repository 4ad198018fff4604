"""Differences from several base checkpoints: a layout worked out by hand, and the error rate of what it prints."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from tiltyard.benchmarks.between_bases import Bases

BY_HAND = Bases(np.array([[1.0, 2.0, 3.0], [5.0, 4.0, 9.0]]))


def test_a_layout_by_hand() -> None:
    # Means of bases 2 and 6, of seeds 3, 3, 6, of all 4. MS_base = 3 * (4 + 4) / 1 = 24; the rest is
    # [[0, 1, -1], [0, -1, 1]], MS_rest = 4 / 2 = 2: sqrt((24 - 2) / 3) between bases. Within: variances 1 and 7.
    assert BY_HAND.between == pytest.approx((22 / 3) ** 0.5)
    assert BY_HAND.within == pytest.approx(2.0)
    assert BY_HAND.of_these.estimate == BY_HAND.of_others.estimate == 4.0
    # F = 12 = t^2 of the differences 4, 2, 6: mean 4, deviation 2, t = 4 / (2 / sqrt 3); p = 1 - t / sqrt(2 + t^2)
    assert BY_HAND.p == pytest.approx(1 - (12 / 14) ** 0.5)
    # Seeds 3, 3, 6: error 1, t of two degrees 4.3027. Bases 2 and 6: error 2, t of one degree 12.7062.
    assert (BY_HAND.of_these.low, BY_HAND.of_these.high) == pytest.approx((4 - 4.3027, 4 + 4.3027), abs=1e-3)
    assert (BY_HAND.of_others.low, BY_HAND.of_others.high) == pytest.approx((4 - 25.4124, 4 + 25.4124), abs=1e-3)


def test_of_two_bases_p_is_the_paired_t_test_s() -> None:
    values = np.random.default_rng(0).standard_normal((2, 9)) + [[0.0], [0.7]]
    assert Bases(values).p == pytest.approx(ttest_rel(*values).pvalue)


def test_bases_that_differ_by_less_than_seeds_explain_have_no_spread() -> None:
    alike = Bases(np.array([[1.0, 2.0, 3.0, 2.0], [3.0, 2.0, 1.0, 2.1]]))
    assert alike.between == 0.0
    assert alike.p > 0.5
    same = Bases(np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]))  # seeds act alike from both: nothing is left over
    assert np.isnan(same.p)
    equal = Bases(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))  # both bases have the mean 2: no interval of no width
    assert np.isnan([equal.of_others.low, equal.of_others.high, equal.of_these.low]).all()


@pytest.mark.parametrize(("bases", "spread"), [(2, 0.0), (2, 1.0), (5, 1.0)])
def test_spreads_are_found_and_both_intervals_cover_what_they_are_of(bases: int, spread: float) -> None:
    """Of 1,000 made-up layouts with a deviation of 0.5 between seeds of one base, a third of it shared by the bases."""
    rng = np.random.default_rng(3)
    squares, covered, here, apart = [], 0, 0, 0
    for _ in range(1000):
        effect = spread * rng.standard_normal((bases, 1))
        shared = 0.5 * (1 / 3) ** 0.5 * rng.standard_normal(8)
        found = Bases(effect + shared + 0.5 * (2 / 3) ** 0.5 * rng.standard_normal((bases, 8)))
        base, rest = found._mean_squares
        squares.append(((base - rest) / 8, found.within**2))
        covered += found.of_others.low <= 0 <= found.of_others.high
        here += found.of_these.low <= effect.mean() <= found.of_these.high
        apart += found.p <= 0.05
    between, within = np.mean(squares, axis=0)
    assert between == pytest.approx(spread**2, abs=0.15)  # three standard errors, of the widest case
    assert within == pytest.approx(0.25, abs=0.02)
    assert 0.93 <= here / 1000 <= 0.97
    if spread:  # seeds that bases share make an interval of bases alone too short, the more the less bases differ
        assert covered / 1000 >= 0.93
    else:
        assert 0.03 <= apart / 1000 <= 0.07


@pytest.mark.parametrize("values", [np.zeros((1, 5)), np.zeros((2, 2)), np.zeros(6), np.array([[0, 1, np.nan]] * 2)])
def test_what_has_no_spread_of_both_kinds_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="bases"):
        Bases(values)
