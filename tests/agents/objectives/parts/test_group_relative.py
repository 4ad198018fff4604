from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.objectives.parts.group_relative import group_relative


def rollouts(reward: list[float], group: list[int]) -> SimpleNamespace:
    return SimpleNamespace(reward=torch.tensor(reward), group=torch.tensor(group))


def test_by_hand():
    # rewards 1, 0, 0, 0: mean 1/4, deviations 3/4 and -1/4, variance (9/16 + 3/16) / 3 = 1/4, std 1/2
    advantage = group_relative(rollouts([1.0, 0.0, 0.0, 0.0], [0, 0, 0, 0]))
    assert advantage.tolist() == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=1e-4)


def test_without_scale_by_hand():
    assert group_relative(rollouts([1.0, 0.0, 5.0, 3.0], [0, 0, 1, 1]), scale=False).tolist() == [0.5, -0.5, 1.0, -1.0]


@pytest.mark.parametrize("reward", [0.0, 1.0, -0.1, 0.3])
def test_equal_rewards_give_exactly_nothing_and_a_group_of_one_keeps_its_reward(reward):
    assert group_relative(rollouts([reward] * 7 + [5.0], [0] * 7 + [1])).tolist() == [0.0] * 7 + [5.0]
