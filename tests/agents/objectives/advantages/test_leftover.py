import pytest

from tiltyard.agents.objectives.advantages.leftover import leftover


def test_by_hand(answers):
    rollouts, _ = answers([1.0, 0.0, 0.5, 0.0, 0.2], [[-1.0]] * 5, group=[0, 0, 0, 1, 1])
    assert leftover(rollouts).tolist() == pytest.approx([0.5, 0.0, 0.0, 0.0, 0.1])
