"""RewardMATH: ranks by hand, ties that count against the correct solution, and chance."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.rewardmath import accuracy, pairwise, reciprocal_rank


def test_ranks_by_hand() -> None:
    rewards = [[5, 1, 2, 3], [2, 1, 3, 0], [1, 1, 0, 0], [0, 1, 2, 3]]  # ranks 1, 2, 2 (a tie), 4
    assert accuracy(rewards) == 0.25
    assert reciprocal_rank(rewards) == pytest.approx((1 + 0.5 + 0.5 + 0.25) / 4)
    assert pairwise(rewards) == pytest.approx((3 + 2 + 2 + 0) / 12)


def test_a_model_that_knows_nothing_is_at_chance() -> None:
    rewards = np.random.default_rng(0).normal(size=(40_000, 10))
    assert accuracy(rewards) == pytest.approx(0.1, abs=0.005)
    assert reciprocal_rank(rewards) == pytest.approx(sum(1 / r for r in range(1, 11)) / 10, abs=0.005)
    assert pairwise(rewards) == pytest.approx(0.5, abs=0.005)


def test_one_to_many_is_harder_than_pairs() -> None:
    rewards = np.random.default_rng(1).normal(size=(2000, 10))
    rewards[:, 0] += 1.5
    assert accuracy(rewards) < reciprocal_rank(rewards) < pairwise(rewards)


def test_bad_input_is_a_sentence() -> None:
    for wrong in ([[1.0]], [1.0, 2.0], [[1.0, np.inf]]):
        with pytest.raises(ValueError, match="correct first"):
            accuracy(wrong)
