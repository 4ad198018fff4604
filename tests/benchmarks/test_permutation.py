"""Exact permutation tests: hand-counted cases, scipy's, and how often they are wrong where there is no difference."""

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_ind

from tiltyard.benchmarks.permutation import exact_p, holm, permutation_p


def test_all_runs_apart_is_as_rare_as_can_be_counted():
    assert exact_p([4, 5, 6, 7], [0, 1, 2, 3]) == pytest.approx(2 / 70)
    assert exact_p([1, 1, 1, 1], [1, 1, 1, 1]) == 1.0


def test_equals_scipy_with_all_ways():
    rng = np.random.default_rng(0)
    for n, m in ((4, 4), (5, 7), (8, 8)):
        a, b = rng.normal(0.5, 1, n), rng.normal(0, 2, m)
        found = permutation_test(
            (a, b), lambda x, y: abs(np.mean(x) - np.mean(y)), n_resamples=np.inf, alternative="greater"
        )
        assert exact_p(a, b) == pytest.approx(found.pvalue, abs=1e-12)


@pytest.mark.parametrize("draw", ["normal", "lognormal", "bimodal"])
def test_no_difference_is_called_one_no_more_often_than_stated(draw):
    rng = np.random.default_rng(1)
    draws = {
        "normal": lambda: rng.normal(size=10),
        "lognormal": lambda: rng.lognormal(0, 1.5, 10),
        "bimodal": lambda: rng.integers(0, 2, 10) + rng.normal(0, 0.01, 10),
    }
    wrong = []
    for _ in range(600):
        scores = draws[draw]()
        wrong.append(exact_p(scores[:5], scores[5:]) <= 0.05)
    # of 252 ways at most 12 (4.8%) may be called; three standard errors of 600 draws are 0.026
    assert 0.02 < np.mean(wrong) < 0.05 + 0.026


def test_too_many_ways_are_sampled():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.6, 1, 14), rng.normal(0, 1, 14)
    assert permutation_p(a, b) == permutation_p(a, b)
    assert permutation_p(a, b) == pytest.approx(ttest_ind(a, b).pvalue, abs=0.02)
    assert permutation_p(a[:5], b[:5]) == exact_p(a[:5], b[:5])
    with pytest.raises(ValueError, match="finite"):
        permutation_p([*a[1:], np.inf], b)


def test_holm_by_hand():
    assert holm([0.01, 0.02, 0.5]) == pytest.approx([0.03, 0.04, 0.5])
    assert holm({"a": 0.04, "b": 0.03}) == pytest.approx([0.06, 0.06])
    assert holm([]) == []


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([1, 2, 3], [1, 2, 3, 4], "at least 4 runs a side, got 3 and 4"),
        ([1, 2, 3, np.nan], [1, 2, 3, 4], "finite"),
        (range(30), range(30), "more than 2,000,000"),
    ],
)
def test_what_can_be_no_verdict_is_refused(a, b, said):
    with pytest.raises(ValueError, match=said):
        exact_p(list(a), list(b))
