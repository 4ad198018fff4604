import numpy as np
import pytest

from tiltyard.benchmarks import statistics
from tiltyard.benchmarks.claims import rliable


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_ranges_are_those_of_26_games() -> None:
    assert len(rliable.RANGES) == 26
    assert all(low < high for low, high in rliable.RANGES)


@pytest.mark.parametrize("shape", rliable.SHAPES)
def test_noise_has_mean_zero_and_variance_one(shape: rliable.Noise) -> None:
    noise = shape(rng(), (400_000,))
    assert noise.mean() == pytest.approx(0.0, abs=0.01)
    assert noise.var() == pytest.approx(1.0, abs=0.05)


def test_the_batched_statistics_are_those_of_the_library() -> None:
    scores = rng().normal(size=(4, 7, 5))
    assert rliable.iqms(scores).tolist() == pytest.approx([statistics.iqm(x) for x in scores])
    assert rliable.medians(scores).tolist() == pytest.approx([statistics.median(x) for x in scores])


def test_a_suite_draws_scores_of_its_law() -> None:
    suite = rliable.Suite(np.array([0.2, 1.0]), np.array([0.1, 0.5]), (0, 1))
    scores = suite.experiments(rng(), 5000, 10)
    assert scores.shape == (5000, 10, 2)
    assert scores.mean(axis=(0, 1)) == pytest.approx([0.2, 1.0], abs=0.01)
    assert scores.std(axis=(0, 1)) == pytest.approx([0.1, 0.5], abs=0.01)


def test_one_normal_task_by_theory() -> None:
    """One task: the median of task means is the mean, of variance s^2 / n; a 25% trimmed mean's is 1.19 s^2 / n."""
    suite = rliable.Suite(np.array([1.0]), np.array([0.2]), (0,))
    ratios = [rliable.run_ratio(suite, rng(seed)) for seed in range(12)]
    assert np.exp(np.mean(np.log(ratios))) == pytest.approx(1 / 1.19, rel=0.1)


def test_measurement_gives_ratio_and_variations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rliable, "EXPERIMENTS", 50)
    found = rliable.measure(seeds=3)
    assert found.effect.low <= found.effect.estimate <= found.effect.high
    assert set(found.details["variations"]) >= {"4 tasks", "10 tasks", "normal noise"}
    assert found == rliable.measure(seeds=3)
