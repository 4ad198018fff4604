"""Exact permutation tests: hand-counted cases, scipy's, and how often they are wrong where there is no difference."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_ind, ttest_rel

from tiltyard.benchmarks.permutation import exact_p, holm, permutation_p, sign_flip_p, sign_flip_ps


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


def test_pairs_that_all_agree_are_as_rare_as_can_be_counted():
    assert sign_flip_p([1, 2, 3, 4, 5, 6]) == 2 / 64
    assert sign_flip_p([-1, -2, -3, -4, -5, -6]) == 2 / 64
    assert sign_flip_p([1, 2, 3, 4, 5, -1]) == 6 / 64  # |14| or |16|: no or either one of the two ones is turned
    assert sign_flip_p([0.0] * 6) == 1.0


def test_paired_p_values_equal_scipys_with_all_ways_and_those_of_many_at_once():
    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 1, (5, 9))
    for one in values:
        found = permutation_test(
            (one, np.zeros(9)),
            lambda x, y: abs(np.mean(x - y)),
            permutation_type="samples",
            n_resamples=np.inf,
            alternative="greater",
        )
        assert sign_flip_p(one) == pytest.approx(found.pvalue, abs=1e-12)
    assert sign_flip_ps(values, rng=rng).tolist() == [pytest.approx(sign_flip_p(one)) for one in values]


def test_of_many_pairs_ways_are_sampled():
    values = np.random.default_rng(2).normal(0.4, 1, 24)
    assert sign_flip_p(values) == sign_flip_p(values)
    assert sign_flip_p(values) == pytest.approx(ttest_rel(values, np.zeros(24)).pvalue, abs=0.02)


SHAPES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(0, 1.5, shape),
    "bimodal": lambda rng, shape: rng.integers(0, 2, shape) + rng.normal(0, 0.01, shape),
}


@pytest.mark.parametrize("draw", SHAPES)
@pytest.mark.parametrize("pairs", [6, 12])
def test_paired_runs_without_a_difference_are_called_different_no_more_often_than_stated(draw, pairs):
    rng = np.random.default_rng(4)
    repeats = 8000
    seed = 3 * rng.normal(size=(repeats, pairs))  # what a seed does to both runs
    a, b = (seed + SHAPES[draw](rng, (repeats, pairs)) for _ in range(2))
    wrong = float((sign_flip_ps(a - b, rng=rng) <= 0.05).mean())
    ways = 2 ** (pairs - 1)
    nominal = int(0.05 * ways) / ways  # whole ways alone can be called: 1 of 32, 102 of 2,048
    assert 0.5 * nominal < wrong < 1.2 * nominal


@pytest.mark.parametrize("draw", SHAPES)
def test_a_page_of_paired_verdicts_against_one_reference_is_wrong_no_more_often_than_stated(draw):
    rng = np.random.default_rng(5)
    repeats, others = 2000, 5
    scores = rng.normal(size=(repeats, 1, 12)) + SHAPES[draw](rng, (repeats, 1 + others, 12))
    p = sign_flip_ps((scores[:, 1:] - scores[:, :1]).reshape(-1, 12), rng=rng).reshape(repeats, others)
    wrong = np.mean([min(holm(page)) <= 0.05 for page in p.tolist()])
    assert 0.02 < wrong < 1.2 * 0.05


def test_what_pairs_share_does_not_hide_a_difference():
    rng = np.random.default_rng(6)
    seed = 10 * rng.normal(size=12)
    a, b = seed + rng.normal(2, 1, 12), seed + rng.normal(0, 1, 12)
    assert sign_flip_p(a - b) < 0.01
    assert permutation_p(a, b) > 0.5


@pytest.mark.parametrize(("values", "said"), [(range(5), "at least 6 pairs of runs, got 5"), ([np.nan] * 6, "finite")])
def test_differences_that_can_be_no_verdict_are_refused(values, said):
    with pytest.raises(ValueError, match=said):
        sign_flip_p(list(values))


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


@pytest.mark.parametrize("test", [exact_p, permutation_p])
def test_scores_of_several_tasks_are_refused(test: Callable[..., float]) -> None:
    with pytest.raises(ValueError, match=r"scores must be one number a run, got an array of shape \(5, 2\)"):
        test(np.zeros((5, 2)) + np.arange(5)[:, None], np.full((5, 2), 9.0))
    with pytest.raises(ValueError, match=r"one number a run, got an array of shape \(\)"):
        test([1.0, 2.0, 3.0, 4.0], 5.0)


def test_differences_of_several_tasks_are_refused_for_their_shape() -> None:
    with pytest.raises(ValueError, match=r"differences must be one number a pair, got an array of shape \(8, 2\)"):
        sign_flip_p(np.ones((8, 2)))


@pytest.mark.parametrize("wrong", [1.5, -0.03, float("nan")])
def test_what_is_no_p_value_is_not_corrected(wrong: float) -> None:
    with pytest.raises(ValueError, match="p-values must lie between 0 and 1, got"):
        holm([0.01, wrong])
    assert holm({"a": 0.0, "b": 1.0}) == [0.0, 1.0]
    assert holm([]) == []
