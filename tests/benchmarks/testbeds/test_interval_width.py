import numpy as np
import pytest

from tiltyard.benchmarks import statistics
from tiltyard.benchmarks.claims.rliable import CLAIM
from tiltyard.benchmarks.testbeds import interval_width
from tiltyard.benchmarks.testbeds.interval_width import IntervalWidth, Suite, Widths


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_ranges_are_those_of_26_games() -> None:
    assert len(interval_width.RANGES) == 26
    assert all(low < high for low, high in interval_width.RANGES)


@pytest.mark.parametrize("shape", interval_width.SHAPES)
def test_noise_has_mean_zero_and_variance_one(shape: interval_width.Noise) -> None:
    noise = shape(rng(), (400_000,))
    assert noise.mean() == pytest.approx(0.0, abs=0.01)
    assert noise.var() == pytest.approx(1.0, abs=0.05)


def test_the_batched_statistics_are_those_of_the_library() -> None:
    scores = rng().normal(size=(4, 7, 5))
    assert interval_width.iqms(scores).tolist() == pytest.approx([statistics.iqm(x) for x in scores])
    assert interval_width.medians(scores).tolist() == pytest.approx([statistics.median(x) for x in scores])


def test_a_suite_draws_scores_of_its_law() -> None:
    suite = Suite(np.array([0.2, 1.0]), np.array([0.1, 0.5]), (0, 1))
    scores = suite.experiments(rng(), 5000, 10)
    assert scores.shape == (5000, 10, 2)
    assert scores.mean(axis=(0, 1)) == pytest.approx([0.2, 1.0], abs=0.01)
    assert scores.std(axis=(0, 1)) == pytest.approx([0.1, 0.5], abs=0.01)


def test_one_normal_task_by_theory() -> None:
    """One task: the median of task means is the mean, of variance s^2 / n; a 25% trimmed mean's is 1.19 s^2 / n."""
    bed = IntervalWidth(tasks=1, shape=interval_width.NORMAL)
    ratios = [bed.ratio(bed.run("IQM", 0.0, seed), bed.run("median", 0.0, seed)) for seed in range(12)]
    assert np.exp(np.mean(np.log(ratios))) == pytest.approx(1 / 1.19, rel=0.1)


def test_the_ratio_is_interpolated_between_numbers_of_runs_by_hand() -> None:
    # Widths 0.4 and 0.1 at 4 and 16 runs fall as 1.6 / runs: the median's 0.2 at 24 runs is reached with 8.
    bed = IntervalWidth(reference=24, sizes=(4, 16))
    theirs = Widths(0.2, np.array([9.0, 9.0]))
    assert bed.ratio(Widths(9.0, np.array([0.4, 0.1])), theirs) == pytest.approx(3)
    assert bed.ratio(Widths(9.0, np.array([0.9, 0.5])), theirs) == pytest.approx(24 / 16)  # never: as if at the last


def test_measurement_gives_ratio_and_variations() -> None:
    claim = CLAIM.smallest()
    found = claim.measure(seeds=3)
    assert np.exp(found.means[""]) > 0
    assert found.parts[""].log
    assert set(found.details["variations"]) >= {"4 tasks", "10 tasks", "normal noise"}
    interval_width.simulated.cache_clear()
    assert found == claim.measure(seeds=3)
