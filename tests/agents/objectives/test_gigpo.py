from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.gigpo import advantage as group_in_group
from tiltyard.agents.objectives.parts.group_relative import group_relative


def episodes(completions, reward=(1.0, 1.0)):
    """The first stays in state 5 for a turn of two tokens, then does as the second: the right thing at once."""
    rollouts, _ = completions(list(reward), [[-1.0] * 3, [-1.0]], turn=[[0, 0, 1], [0]])
    rewards = torch.tensor([[0.0, 0.0, 0.0, reward[0]], [0.0, reward[1], 0.0, 0.0]])
    return replace(rollouts, step_reward=rewards, state=torch.full((2, 4), 5))


def test_the_useless_loop_by_hand(completions):
    # returns in state 5 with gamma 1/2: 1/2, 1 and 1, of mean 5/6; the episodes earned the same
    advantage = group_in_group(episodes(completions), gamma=0.5)
    assert advantage[0].tolist() == pytest.approx([0.0, -1 / 3, -1 / 3, 1 / 6])
    assert advantage[1].tolist() == pytest.approx([0.0, 1 / 6, 0.0, 0.0])
    # deviations -1/3, 1/6, 1/6: variance (1/9 + 2/36) / 2 = 1/12
    scaled = group_in_group(episodes(completions), gamma=0.5, omega=2.0, scale=True)
    assert scaled[0].tolist() == pytest.approx([0.0, *[-2 / 3 * 12**0.5] * 2, 1 / 3 * 12**0.5], abs=1e-4)


@pytest.mark.parametrize("scale", [True, False])
def test_states_met_once_leave_the_episodes_advantage(completions, scale):
    rollouts = episodes(completions, (1.0, 0.0))
    rollouts = replace(rollouts, state=torch.tensor([[0, 1, 1, 2], [3, 3, 3, 3]]))
    expected = torch.where(rollouts.mask, group_relative(rollouts, scale=scale)[:, None], 0.0)
    assert torch.allclose(group_in_group(rollouts, scale=scale), expected)


def test_states_of_other_problems_are_other_states(completions):
    rollouts = replace(episodes(completions), reward=torch.zeros(2))
    apart = group_in_group(replace(rollouts, group=torch.tensor([0, 1])), gamma=0.5)
    assert apart[0].tolist() == pytest.approx([0.0, -0.25, -0.25, 0.25])  # 1/2 and 1, of mean 3/4
    assert apart[1].tolist() == [0.0] * 4  # and the one episode of its group, at its one state


def test_environment_tokens_between_turns_have_no_advantage(completions):
    rollouts = episodes(completions)
    mask = rollouts.mask.clone()
    mask[0, 2] = False  # the second token of the first turn is now the environment's
    advantage = group_in_group(replace(rollouts, mask=mask), gamma=0.5)
    assert advantage[0].tolist() == pytest.approx([0.0, -1 / 3, 0.0, 1 / 6])


def test_rewards_inside_a_turn_are_the_turns(completions):
    rollouts = episodes(completions)
    spread = rollouts.step_reward.clone()
    spread[0, 1] = -0.5  # the first turn, of two tokens, earns -1/2: returns 0, 1 and 1 of mean 2/3
    advantage = group_in_group(replace(rollouts, step_reward=spread), gamma=0.5)
    assert advantage[0].tolist() == pytest.approx([0.0, -2 / 3, -2 / 3, 1 / 3])
    assert advantage[1].tolist() == pytest.approx([0.0, 1 / 3, 0.0, 0.0])
