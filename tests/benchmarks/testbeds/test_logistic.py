"""Logistic regression: its gradient, its least loss, and schedules of equal peak."""

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.logistic import LogisticRegression, Problem, _problem, loss, slope

BED = LogisticRegression(steps=60)


def test_the_slope_is_the_gradient_of_the_loss() -> None:
    problem, rng = _problem(BED, 0), np.random.default_rng(0)
    weight, step = rng.normal(size=BED.width), 1e-6 * np.eye(BED.width)
    by_difference = [(loss(problem, weight + one) - loss(problem, weight - one)) / 2e-6 for one in step]
    assert slope(problem.features, problem.labels, weight) == pytest.approx(by_difference, rel=1e-4, abs=1e-8)
    by_hand = Problem(np.array([[1.0]]), np.array([1.0]), 0.0)
    assert loss(by_hand, np.array([0.0])) == pytest.approx(np.log(2))
    assert slope(*by_hand[:2], np.array([0.0])) == pytest.approx([-0.5])


def test_no_weights_have_less_than_the_least_loss() -> None:
    problem = _problem(BED, 1)
    rng = np.random.default_rng(1)
    assert all(loss(problem, rng.normal(size=BED.width)) > problem.least for _ in range(50))
    assert BED.run("linear", 1.0, 1).excess > 0


def test_schedules_have_a_peak_of_one_and_see_the_same_batches() -> None:
    for name in ("constant", "linear", "cosine", "refined"):
        schedule = BED.schedule(name, 1.0, 0)
        assert schedule.shape == (60,)
        assert schedule.max() == 1
    assert BED.run("constant", 0.0, 0).excess == BED.run("cosine", 0.0, 0).excess == BED.run("linear", 0.0, 0).before
