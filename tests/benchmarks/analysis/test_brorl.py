"""BroRL's balance of mass: equal to the change that a small step makes, and signs as the paper has them."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.brorl import mass_change


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_a_small_step_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, correct, sampled = rng.normal(size=30), rng.random(30) < 0.3, rng.random(30) < 0.4
    p, rewards, rate = softmax(logits), (1.0, -0.7), 1e-5
    reward = np.where(sampled, np.where(correct, *rewards), 0.0)
    stepped = softmax(logits + rate / 4 * p * (reward - (p * reward).sum()))
    found = mass_change(p, correct, sampled, rewards=rewards, learning_rate=rate, rollouts=4)
    assert found.total == pytest.approx(stepped[correct].sum() - p[correct].sum(), rel=1e-3)
    assert found.correct >= 0
    assert found.incorrect >= 0


def test_by_hand_and_with_everything_sampled() -> None:
    p, correct = np.array([0.5, 0.25, 0.25]), np.array([True, False, True])
    found = mass_change(p, correct, [True, True, False])  # S = 0.5 - 0.25 = 0.25, Q = 0.75 and 0.25
    assert found.correct == pytest.approx(0.75 * 0.25 * 0.25)
    assert found.incorrect == pytest.approx(1.25 * 0.75 * 0.0625)
    assert found.unsampled == pytest.approx(0.25 * (0 - 0.25 * 0.0625))
    assert mass_change(p, correct, [True] * 3).unsampled == 0


def test_bad_input_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        mass_change([0.5, 0.4], [True, False], [True, True])
