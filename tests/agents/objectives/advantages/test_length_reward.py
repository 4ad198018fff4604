import pytest

from tiltyard.agents.objectives.advantages.length_reward import length_reward


def test_by_hand(answers):
    # lengths 2, 4, 3, 2: l = 0.5, -0.5, 0, 0.5; the wrong ones get min(0, l) = 0
    rollouts, _ = answers([1.0, 1.0, 0.0, 0.0], [[-1.0] * n for n in (2, 4, 3, 2)])
    assert length_reward(rollouts).tolist() == [0.5, 0.5, -0.5, -0.5]
    # 1.1, 0.9, 0, 0 of mean 0.5
    assert length_reward(rollouts, length_weight=0.2).tolist() == pytest.approx([0.6, 0.4, -0.5, -0.5])


def test_a_long_wrong_answer_loses_and_equal_lengths_change_nothing(answers):
    rollouts, _ = answers([0.0, 0.0], [[-1.0], [-1.0] * 3])
    assert length_reward(rollouts, length_weight=1.0).tolist() == [0.25, -0.25]  # 0 and -0.5
    rollouts, _ = answers([1.0, 0.0], [[-1.0] * 2] * 2)
    assert length_reward(rollouts, length_weight=1.0).tolist() == [0.5, -0.5]
