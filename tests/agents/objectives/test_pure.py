import math
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.pure import advantage as min_form
from tiltyard.agents.objectives.registry import load

ROOT = 0.25 * math.log(3)


def two_completions(completions):
    """Steps of 1 and 2 tokens with rewards 0 and ln 3; one step of 2 tokens with reward 1."""
    rollouts, _ = completions([1.0, 0.0], [[-1.0] * 3, [-1.0] * 2], turn=[[0, 1, 1], [0, 0]])
    rewards = torch.tensor([[0.0, 0.0, 0.0, math.log(3)], [0.0, 0.0, 1.0, 0.0]])
    return replace(rollouts, step_reward=rewards)


def test_by_hand(completions):
    # temperature 1: shares 3/4 and 1/4, credits 0 and ln(3)/4; the other earns 1 a 2 tokens, so 1/2 a token
    # step by step: 0 - 1/2 and ln(3)/4 - 2/2; the other: 1 - 2 * ln(3)/4/3
    advantage = min_form(two_completions(completions), temperature=1.0)
    first, second = -1.5 + ROOT, -1.0 + ROOT
    assert advantage[0].tolist() == pytest.approx([0.0, first, second, second])
    assert advantage[1].tolist() == pytest.approx([0.0, 1 - 2 * ROOT / 3, 1 - 2 * ROOT / 3, 0.0])


def test_a_verifiable_reward_joins_the_last_step(completions):
    rollouts = two_completions(completions)
    added = min_form(rollouts, verifiable_weight=0.1) - min_form(rollouts)
    assert added[0].tolist() == pytest.approx([0.0, 0.1, 0.1, 0.1], abs=1e-6)  # 0.1 * (1 - 0)
    assert added[1].tolist() == pytest.approx([0.0, -0.1, -0.1, 0.0], abs=1e-6)


def test_a_low_temperature_leaves_the_worst_step_alone_with_its_reward(completions):
    """No baseline: the other completion earned 0."""
    rollouts, _ = completions([0.0, 0.0], [[-1.0] * 5, [-1.0]], turn=[[0, 0, 1, 2, 2], [0]])
    rewards = torch.zeros(2, 6)
    rewards[0, 2], rewards[0, 3], rewards[0, 5] = 0.9, -0.4, 0.2
    advantage = min_form(replace(rollouts, step_reward=rewards), temperature=1e-3)
    assert advantage[0].tolist() == pytest.approx([0.0, -0.4, -0.4, -0.4, 0.0, 0.0], abs=1e-6)


def test_the_kl_penalty_inside_the_reward_goes_to_the_tokens_before(completions):
    rollouts = two_completions(completions)
    drift = torch.tensor([[0.0, 0.5, -0.25, 1.0], [0.0, 2.0, 0.0, 0.0]])
    rollouts = replace(rollouts, logp_ref=rollouts.logp_old - drift)
    added = min_form(rollouts, reward_kl_coef=0.1) - min_form(rollouts)
    assert added[0].tolist() == pytest.approx([0.0, -0.125, -0.075, -0.1], abs=1e-6)
    assert added[1].tolist() == pytest.approx([0.0, -0.2, 0.0, 0.0], abs=1e-6)
    assert "logp_ref" in load("pure").needs - load("pure", reward_kl_coef=0.0).needs
    with pytest.raises(ValueError, match="logp_ref"):
        min_form(two_completions(completions), reward_kl_coef=0.1)


def test_tokens_that_end_a_step_of_several_are_not_learnt_from(completions):
    rollouts = two_completions(completions)  # steps of 1 and 2 tokens, and of 2
    kept = min_form(rollouts, mask_separators=True) / min_form(rollouts)
    assert kept[0, 1:].tolist() == [1.0, 1.0, 0.0]
    assert kept[1, 1:3].tolist() == [1.0, 0.0]


def test_the_row_is_the_authors_script():
    params = {"temperature": 0.1, "reward_kl_coef": 0.001, "mask_separators": True}
    assert load("pure").params == params


def test_a_reward_inside_a_turn_ends_a_step(completions):
    """Process rewards of three steps in one turn are credited as those of three turns are."""
    rewards = torch.tensor([[0.0, 0.9, 0.0, -0.4, 0.2], [0.0, 0.0, 0.5, 0.0, 0.0]])
    inside, turns = (
        replace(completions([0.7, 0.5], [[-1.0] * 4, [-1.0] * 2], turn=turn)[0], step_reward=rewards)
        for turn in ([[0] * 4, [0] * 2], [[0, 1, 1, 2], [0, 0]])
    )
    assert min_form(inside).tolist() == min_form(turns).tolist()
    assert min_form(inside)[0, 1] != min_form(inside)[0, 4]
