import numpy as np
import pytest

from tiltyard.benchmarks.claims.n_pg_igt_harpg import CLAIM, PLAIN, SCORES
from tiltyard.benchmarks.testbeds.linear_quadratic import Linear, LinearQuadratic, Regulators, best_gain


def test_a_step_by_hand() -> None:
    env = Regulators(1, steps=10)
    env.reset(seed=0)
    env.state = np.array([[1.0, -2.0]])
    _, rewards, *_ = env.step(np.array([[3.0]]))
    assert rewards[0] == pytest.approx(-(1 + 4 + 0.9) / 10)
    np.testing.assert_allclose(env.state, [[0.8, -1.7]], atol=0.1)  # and noise


def test_scores_are_zero_for_nothing_and_one_for_the_best() -> None:
    bed = LinearQuadratic()
    assert bed.score(Linear(np.zeros((1, 2)))) == 0
    assert bed.score(Linear(best_gain())) == 1
    assert bed.score(Linear(-best_gain())) == -1
    assert 0.5 < bed.score(Linear(0.5 * best_gain())) < 1


def test_the_premise_is_that_noise_costs() -> None:
    assert not CLAIM.premise.missing({SCORES: {PLAIN: 0.5}})
    assert "its premise does not hold here" in CLAIM.premise.missing({SCORES: {PLAIN: 0.95}})
