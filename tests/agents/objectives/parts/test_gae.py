from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.collect import shaped
from tiltyard.agents.objectives.parts.gae import gae, raw_gae


def test_by_hand(completions):
    # lambda 1/2: delta_2 = 1 - 0.25, delta_1 = 0.25 - 0.5, A_1 = -0.25 + 0.75 / 2
    rollouts = replace(completions([1.0], [[-1.0, -1.0]])[0], values=torch.tensor([[9.0, 0.5, 0.25]]))
    assert raw_gae(rollouts, gae_lambda=0.5).tolist() == [[0.0, 0.125, 0.75]]
    # mean 0.4375, deviations of 0.3125 either way
    assert gae(rollouts, gae_lambda=0.5)[0].tolist() == pytest.approx([0.0, -(0.5**0.5), 0.5**0.5], abs=1e-3)
    # gamma 1/2: delta_1 = 0.125 - 0.5, A_1 = -0.375 + 0.75 / 4
    assert raw_gae(rollouts, gamma=0.5, gae_lambda=0.5).tolist() == [[0.0, -0.1875, 0.75]]


def test_what_stands_behind_the_last_token_is_worth_something_by_hand(completions):
    # lambda 1/2, V behind it 0.75: delta_2 = 0.75 - 0.25, delta_1 = -0.25, A_1 = -0.25 + 0.5 / 2; then padding
    rollouts = replace(completions([0.0], [[-1.0, -1.0]])[0], values=torch.tensor([[9.0, 0.5, 0.25]]))
    after = torch.tensor([0.75])
    assert raw_gae(rollouts, gae_lambda=0.5, after=after).tolist() == [[0.0, 0.0, 0.5]]
    rollouts = replace(rollouts, mask=torch.tensor([[False, True, False]]))
    assert raw_gae(rollouts, gae_lambda=0.5, after=after).tolist() == [[0.0, 0.25, 0.0]]


def test_words_of_the_environment_take_no_time(completions):
    rollouts = replace(completions([1.0], [[-1.0] * 4])[0], values=torch.tensor([[0.0, 0.5, 9.0, 9.0, 0.25]]))
    rollouts = replace(rollouts, mask=torch.tensor([[False, True, False, False, True]]))
    assert raw_gae(rollouts, gamma=0.5, gae_lambda=0.5).tolist() == [[0.0, -0.1875, 0.0, 0.0, 0.75]]


def test_lambda_1_is_return_less_value(completions):
    values = torch.rand(3, 5, generator=torch.Generator().manual_seed(0))
    rollouts = replace(completions([1.0, 0.0, 0.5], [[-1.0] * 4, [-1.0], [-1.0] * 3])[0], values=values)
    expected = torch.where(rollouts.mask, rollouts.reward[:, None] - values, 0.0)
    assert torch.allclose(raw_gae(rollouts, gae_lambda=1.0), expected, atol=1e-6)


def test_rewards_of_tokens_arrive_with_their_tokens_by_hand(completions):
    # gamma 1, lambda 1/2: A_3 = 1 - 0.25, delta_2 = 0.25 - 0, A_2 = 0.25 + 0.75 / 2, delta_1 = 2 + 0 - 0.5
    rollouts = replace(completions([9.0], [[-1.0] * 3])[0], values=torch.tensor([[9.0, 0.5, 0.0, 0.25]]))
    rollouts = replace(rollouts, step_reward=torch.tensor([[7.0, 2.0, 0.0, 1.0]]))  # 7 stands on the prompt
    assert raw_gae(rollouts, gae_lambda=0.5).tolist() == [[0.0, 1.8125, 0.625, 0.75]]
    whole = replace(rollouts, step_reward=None)
    assert raw_gae(whole, gae_lambda=0.5).tolist() == [[0.0, 1.8125, 4.625, 8.75]]


def test_the_rewards_of_a_component_that_spreads_them_reach_the_critic(completions):
    rollouts = replace(completions([1.0], [[-1.0] * 3])[0], values=torch.zeros(1, 4))
    spread = shaped(rollouts, torch.tensor([[0.0, 0.5, 0.0, 0.25]]))
    assert raw_gae(spread, gae_lambda=1.0).tolist() == [[0.0, 0.75, 0.25, 0.25]]
    assert raw_gae(rollouts, gae_lambda=1.0).tolist() == [[0.0, 1.0, 1.0, 1.0]]
