"""Numbers by hand, equality with rliable, bad input refused by name, and (slow) the coverage of the intervals."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rliable import library, metrics

from tiltyard import benchmarks
from tiltyard.benchmarks import statistics as S

POINT = [
    (S.iqm, metrics.aggregate_iqm),
    (S.mean, metrics.aggregate_mean),
    (S.median, metrics.aggregate_median),
    (S.optimality_gap, metrics.aggregate_optimality_gap),
]
FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)
MATRICES = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=FINITE)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def heavy(runs: int = 10, tasks: int = 26, seed: int = 0) -> np.ndarray:
    return rng(seed).lognormal(sigma=1.0, size=(runs, tasks)) * np.linspace(0.2, 2.0, tasks)


# --- point metrics ----------------------------------------------------------------------------------------------------


def test_point_metrics_by_hand() -> None:
    scores = [[0.0, 4.0], [1.0, 5.0], [2.0, 12.0]]  # sorted 0 1 2 4 5 12; a quarter of 6 cells rounds down to 1
    assert S.iqm(scores) == pytest.approx((1 + 2 + 4 + 5) / 4)
    assert S.mean(scores) == pytest.approx(24 / 6)
    assert S.median(scores) == pytest.approx((1 + 7) / 2)  # task means 1 and 7
    assert S.optimality_gap(scores) == pytest.approx(1 / 6)  # only the 0 misses 1
    assert S.optimality_gap(scores, target=3.0) == pytest.approx((3 + 2 + 1) / 6)


@settings(max_examples=60, deadline=None)
@given(MATRICES)
def test_point_metrics_equal_rliable(scores: np.ndarray) -> None:
    for ours, theirs in POINT:
        assert ours(scores) == pytest.approx(theirs(scores), rel=1e-8, abs=1e-8)
    assert S.optimality_gap(scores, target=2.5) == pytest.approx(
        metrics.aggregate_optimality_gap(scores, 2.5), abs=1e-8
    )


@pytest.mark.parametrize("cells", [(1, 1), (3, 1), (5, 1), (3, 3), (7, 5), (4, 4)])
def test_iqm_trims_like_scipy_when_cells_do_not_divide_by_four(cells: tuple[int, int]) -> None:
    scores = rng(1).normal(size=cells)
    assert S.iqm(scores) == pytest.approx(scipy.stats.trim_mean(scores, 0.25, axis=None), abs=1e-12)


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ours", "theirs"), POINT)
def test_intervals_equal_rliable_within_monte_carlo_error(ours: S.Statistic, theirs: S.Statistic) -> None:
    scores = heavy()
    np.random.seed(0)  # rliable draws from the global generator
    _, ends = library.get_interval_estimates({"x": scores}, lambda x: np.array([theirs(x)]), reps=2000)
    draws = S._distribution(scores, ours, 20000, np.uint64(7))
    # standard error of a quantile estimate: sqrt(p (1 - p) / n) / density, with n rliable's resamples
    for p, end in zip((0.025, 0.975), ends["x"][:, 0], strict=True):
        width = np.quantile(draws, p + 0.01) - np.quantile(draws, p - 0.01)
        error = np.sqrt(p * (1 - p) / 2000) * width / 0.02
        assert np.quantile(draws, p) == pytest.approx(end, abs=4 * error)


@pytest.mark.parametrize("statistic", [S.iqm, S.mean, S.median, S.optimality_gap])
@pytest.mark.parametrize("shape", [(3, 1), (5, 3), (10, 26)])
def test_compiled_statistics_equal_the_callable_path(statistic: S.Statistic, shape: tuple[int, int]) -> None:
    scores = heavy(*shape)
    scores[0, 0] = scores[1, 0]  # a tie
    fast = S.bootstrap_interval(scores, statistic, rng=rng(3), resamples=300)
    slow = S.bootstrap_interval(scores, lambda x: statistic(x), rng=rng(3), resamples=300)
    assert (fast.estimate, fast.low, fast.high) == pytest.approx((slow.estimate, slow.low, slow.high), abs=1e-12)


def test_resampling_stays_within_tasks() -> None:
    scores = np.array([[0.0, 100.0], [1.0, 101.0], [2.0, 102.0]])
    seen = S._distribution(scores, lambda x: float(x[:, 0].max() < 50 <= x[:, 1].min()), 200, np.uint64(1))
    assert seen.all()


def test_a_resample_draws_every_run_equally_often() -> None:
    picks = S._kernels.picks(np.uint64(5), 0, 20000, 7, 3)  # [resamples, tasks, runs]
    for task in range(3):
        counts = np.bincount(picks[:, task].ravel(), minlength=7)
        assert scipy.stats.chisquare(counts).pvalue > 1e-4
    together = np.corrcoef(picks.reshape(20000, -1).T) - np.eye(21)
    assert np.abs(together).max() < 5 / np.sqrt(20000)  # draws within a resample are independent


def test_same_rng_same_interval_bit_for_bit_and_prefix_of_a_longer_bootstrap() -> None:
    scores = heavy()
    assert S.bootstrap_interval(scores, S.iqm, rng=rng(1)) == S.bootstrap_interval(scores, S.iqm, rng=rng(1))
    assert S.bootstrap_interval(scores, S.iqm, rng=rng(1)) != S.bootstrap_interval(scores, S.iqm, rng=rng(2))
    key = np.uint64(9)
    np.testing.assert_array_equal(
        S._distribution(scores, S.iqm, 50, key), S._distribution(scores, S.iqm, 500, key)[:50]
    )


def test_interval_by_hand() -> None:
    """Two of three runs score 0, one 3: the mean of 3 draws is 0 w.p. 8/27, 1 w.p. 12/27, 2 w.p. 6/27, 3 w.p. 1/27."""
    draws = S._distribution(np.array([[0.0], [0.0], [3.0]]), S.mean, 40000, np.uint64(2))
    shares = [np.isclose(draws, value).mean() for value in range(4)]
    assert shares == pytest.approx([8 / 27, 12 / 27, 6 / 27, 1 / 27], abs=4 * np.sqrt(0.25 / 40000))
    interval = S.bootstrap_interval([[0.0], [0.0], [3.0]], S.mean, rng=rng(), level=0.9)
    assert interval == S.Interval(1.0, 0.0, 2.0)  # P(3) = 1/27 < 5%
    assert str(interval) == "1.000 [0.000, 2.000]"
    assert f"{interval:.1f}" == "1.0 [0.0, 2.0]"


# --- comparisons and profiles -----------------------------------------------------------------------------------------


def test_probability_of_improvement_by_hand() -> None:
    a, b = [[1.0, 0.0], [2.0, 0.0]], [[1.0, 1.0], [0.0, 1.0], [3.0, 1.0]]
    # task 0: (1 ties 1, beats 0), (2 beats 1, 0) -> (0.5 + 1 + 2) / 6; task 1: never
    assert S.probability_of_improvement(a, b) == pytest.approx((3.5 / 6 + 0.0) / 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(0, 1000))
def test_probability_of_improvement_equals_rliable(runs_a: int, runs_b: int, tasks: int, seed: int) -> None:
    a, b = rng(seed).integers(0, 4, (runs_a, tasks)), rng(seed + 1).integers(0, 4, (runs_b, tasks))
    ours = S.probability_of_improvement(a, b)
    assert ours == pytest.approx(metrics.probability_of_improvement(a, b), abs=1e-8)
    assert ours + S.probability_of_improvement(b, a) == pytest.approx(1.0)


def test_improvement_interval_resamples_both_sides() -> None:
    a, b = heavy(8, 5, seed=1), heavy(6, 5, seed=2)
    slow = [
        S.probability_of_improvement(
            np.take_along_axis(a, rng(i).integers(0, 8, a.shape), 0),
            np.take_along_axis(b, rng(i + 9999).integers(0, 6, b.shape), 0),
        )
        for i in range(2000)
    ]
    interval = S.improvement_interval(a, b, rng=rng(), resamples=20000)
    assert interval.estimate == S.probability_of_improvement(a, b)
    assert [interval.low, interval.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.02)
    same = S.improvement_interval(a, a, rng=rng())  # a against itself: equal draws on both sides would give no width
    assert same.low < 0.4 < same.estimate == 0.5 < 0.6 < same.high


def test_performance_profile_by_hand_and_equal_to_rliable() -> None:
    assert S.performance_profile([[0.0, 1.0], [2.0, 3.0]], [-1, 0, 1.5, 3]).tolist() == [1.0, 0.75, 0.5, 0.0]
    scores, taus = heavy(), np.linspace(0, 5, 41)
    theirs, bands = library.create_performance_profile({"x": scores}, taus, reps=500)
    ours = S.profile_band(scores, taus, rng=rng())
    np.testing.assert_allclose(ours.estimate, theirs["x"], atol=1e-8)
    np.testing.assert_allclose([ours.low, ours.high], bands["x"], atol=0.02)
    assert (np.diff(ours.estimate) <= 0).all()


def test_mean_band_resamples_whole_curves() -> None:
    curves = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 5.0], [1.0, 0.0, 5.0]])
    band = S.mean_band(curves, rng=rng(), resamples=4000)
    assert band.estimate.tolist() == [0.5, 0.5, 5.0]
    assert (band.low[:2].tolist(), band.high[:2].tolist()) == ([0.0, 0.0], [1.0, 1.0])  # all four alike: 1 in 16
    assert np.isnan([band.low[2], band.high[2]]).all()
    half = S.mean_band(curves, rng=rng(), resamples=4000, level=0.5)
    assert (half.low[:2].tolist(), half.high[:2].tolist()) == ([0.25, 0.25], [0.75, 0.75])
    with pytest.raises(ValueError, match="at least 3 runs"):
        S.mean_band(curves[:2], rng=rng())


def test_profile_band_takes_thresholds_in_any_order() -> None:
    scores, taus = heavy(), np.array([3.0, 0.1, 1.0, 0.1])
    mixed, order = S.profile_band(scores, taus, rng=rng()), np.argsort(taus)
    plain = S.profile_band(scores, taus[order], rng=rng())
    np.testing.assert_array_equal(mixed.low[order], plain.low)
    np.testing.assert_array_equal(mixed.high[order], plain.high)


def test_pass_at_k_by_hand_and_by_simulation() -> None:
    assert S.pass_at_k(10, 3, 2) == pytest.approx(1 - (7 * 6) / (10 * 9))
    assert S.pass_at_k(5, 0, 5) == 0.0
    assert S.pass_at_k(5, 1, 5) == 1.0
    np.testing.assert_allclose(S.pass_at_k([4, 4], [1, 4], 1), [0.25, 1.0])
    correct = rng().binomial(20, 0.3, 20000)  # unbiased: the mean estimate is 1 - 0.7**k
    assert np.mean(S.pass_at_k(20, correct, 4)) == pytest.approx(1 - 0.7**4, abs=0.005)
    for n, c, k in ((3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)):
        with pytest.raises(ValueError, match="must lie between"):
            S.pass_at_k(n, c, k)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([0.1, 0.2, 0.3], r"\[runs, tasks\] array, got 1 dimension.*scores\[:, None\]"),
        (np.zeros((3, 2, 2)), "got 3 dimension"),
        ([[1.0, 2.0], [3.0]], "rectangular"),
        (np.zeros((0, 4)), "at least one run"),
        ([["a"]], "numbers"),
        ([[0.0, 1.0], [np.nan, 1.0], [0.0, np.inf]], "run 1 on task 0 is nan; run 2 on task 1 is inf"),
    ],
)
def test_bad_scores_are_refused_in_a_sentence(scores: object, says: str) -> None:
    for statistic in (S.iqm, S.mean, S.median, S.optimality_gap):
        with pytest.raises(ValueError, match=says):
            statistic(scores)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=says):
        S.bootstrap_interval(scores, S.iqm, rng=rng())  # type: ignore[arg-type]


def test_fewer_than_three_runs_get_no_interval() -> None:
    two = np.array([[0.1, 0.2], [0.3, 0.4]])
    with pytest.raises(ValueError, match="at least 3 runs, got 2 for 2 tasks.*more seeds"):
        S.bootstrap_interval(two, S.iqm, rng=rng())
    with pytest.raises(ValueError, match="at least 3 runs, got 2 for Hopper, Highway"):
        S.bootstrap_interval(S.Scores(two, runs=["a", "b"], tasks=["Hopper", "Highway"]), S.iqm, rng=rng())
    with pytest.raises(ValueError, match="at least 3 runs"):
        S.improvement_interval(heavy(5, 2), two, rng=rng())
    with pytest.raises(ValueError, match="at least 3 runs"):
        S.profile_band(two, [0.5], rng=rng())


def test_swapped_axes_are_noticed_by_labels() -> None:
    values, runs, tasks = np.zeros((5, 2)), [f"seed {i}" for i in range(5)], ["Hopper", "Highway"]
    assert S.Scores(values, runs=runs, tasks=tasks).values.shape == (5, 2)
    with pytest.raises(ValueError, match="5 runs and 2 tasks are named; the axes are swapped"):
        S.Scores(values.T, runs=runs, tasks=tasks)
    with pytest.raises(ValueError, match="seed 3 on Highway is nan"):
        S.Scores(np.where(np.arange(10).reshape(5, 2) == 7, np.nan, 0.0), runs=runs, tasks=tasks)
    with pytest.raises(ValueError, match="used twice"):
        S.Scores(values, runs=runs, tasks=["Hopper", "Hopper"])
    with pytest.raises(ValueError, match="if the rows are tasks"):
        S.probability_of_improvement(np.zeros((2, 5)), np.zeros((2, 3)))
    ours = S.Scores(values, runs=runs, tasks=tasks)
    with pytest.raises(ValueError, match="same tasks in the same order"):
        S.probability_of_improvement(ours, S.Scores(values, runs=runs, tasks=tasks[::-1]))


def test_score_matrix_names_missing_runs() -> None:
    scores = S.score_matrix({"A": {"s0": 0.0, "s1": 1.0}, "B": {"s1": 3.0, "s0": 2.0}})
    assert scores.values.tolist() == [[0.0, 2.0], [1.0, 3.0]]
    assert (scores.runs, scores.tasks) == (("s0", "s1"), ("A", "B"))
    with pytest.raises(ValueError, match=r"'B' has 1 runs and task 'A' 2; only one of the two has s1"):
        S.score_matrix({"A": {"s0": 0.0, "s1": 1.0}, "B": {"s0": 2.0}})
    with pytest.raises(ValueError, match="run 2"):
        S.score_matrix({"A": [0.0, 1.0], "B": [0.0, 1.0, 2.0]})
    with pytest.raises(ValueError, match="no scores"):
        S.score_matrix({})


def test_bad_settings_are_refused() -> None:
    with pytest.raises(TypeError, match="Generator"):
        S.bootstrap_interval(heavy(), S.iqm, rng=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="resamples"):
        S.bootstrap_interval(heavy(), S.iqm, rng=rng(), resamples=0)
    with pytest.raises(ValueError, match="level"):
        S.bootstrap_interval(heavy(), S.iqm, rng=rng(), level=95)
    with pytest.raises(ValueError, match="NaN or infinite on some resamples"):
        S.bootstrap_interval(heavy(), lambda x: float("nan"), rng=rng(), resamples=5)


# --- coverage ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_iqm_interval_covers_the_truth_with_ten_runs_and_less_with_three() -> None:
    tasks, suites = 10, 2000

    def sample(runs: int, seed: int) -> np.ndarray:
        return rng(seed).gamma(2.0, 0.25, (runs, tasks)) + np.linspace(0.0, 0.5, tasks)

    truth = S.iqm(sample(200_000, 10**6))

    def coverage(runs: int) -> float:
        found = [S.bootstrap_interval(sample(runs, seed), S.iqm, rng=rng(seed)) for seed in range(suites)]
        return float(np.mean([x.low <= truth <= x.high for x in found]))

    ten, three = coverage(10), coverage(3)
    assert 0.90 <= ten <= 0.97
    assert three < ten - 0.03


def test_statistics_are_an_attribute_of_benchmarks_before_they_are_imported() -> None:
    asked = (
        "import sys; from tiltyard import benchmarks; assert 'tiltyard.benchmarks.statistics' not in sys.modules; "
        "print(benchmarks.statistics.iqm([[1.0], [3.0]]))"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert float(told.stdout) == 2.0
    with pytest.raises(AttributeError, match="unknown attribute of tiltyard.benchmarks 'statistic'; did you mean"):
        benchmarks.statistic  # noqa: B018


@pytest.mark.parametrize("counts", [(10.7, 3.9, 1), ("10", 3, 1), (10, 3, 2.5), ([10.0], [3], 1), (10, True, 1)])
def test_counts_that_are_no_whole_numbers_are_refused(counts: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ValueError, match="must hold whole numbers"):
        S.pass_at_k(*counts)


def test_a_mask_is_not_ignored() -> None:
    with pytest.raises(ValueError, match="masked array, whose mask would be ignored"):
        S.iqm(np.ma.masked_array([[1.0, 100.0]], mask=[[0, 1]]))
    with pytest.raises(ValueError, match="must hold whole numbers"):
        S.pass_at_k(np.ma.masked_array([4, 4], mask=[0, 1]), 1, 1)


def test_bounds_targets_and_counts_that_cannot_be_are_refused() -> None:
    scores = np.random.default_rng(1).normal(1.0, 0.2, (5, 4))
    with pytest.raises(ValueError, match="do not lie within the bounds"):
        S.bootstrap_interval(scores, S.iqm, rng=np.random.default_rng(0), bounds=(0.0, 0.1))
    with pytest.raises(ValueError, match="target must be a finite number, got nan"):
        S.optimality_gap(scores, target=np.nan)
    for resamples in (1e3, "100", 100.5, 0):
        with pytest.raises(ValueError, match="resamples must be a whole number of at least 1"):
            S.bootstrap_interval(scores, S.iqm, rng=np.random.default_rng(0), resamples=resamples)  # type: ignore[arg-type]
