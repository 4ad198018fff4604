"""What a completion teaches that is the only one to its problem, by method; see ``parts.ops.group_baseline``."""

from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.catalogue import ROWS
from tiltyard.agents.objectives.parts.ops import group_baseline
from tiltyard.agents.objectives.registry import load

KEEPS_REWARD = """grpo dr-grpo dapo gspo cispo sapo steer degrpo rover llds reg-grpo rl-plus rloo kimi-k1-5 rec-red
    forking-tokens-80-20 guide scaf-grpo salt arpo reinforce-ada asyncflow llamarl pacs trpa disco drpo-decoupled
    copg""".split()
"""Their advantage is the reward, as in the reference implementations (the losses of the last five read none)."""
OTHERS = {  # of a reward of 0.5 beside a group of 1, 0, 0
    "lite-ppo": 0.0,
    "copo": 0.0066929 * 0.5 + 0.9933071 * 0.7071068,  # of 0 bits, and the better one of two problems
    "ngrpo": (0.5 - 0.75) / 0.3535534,  # beside an imagined reward of 1
    "gigpo": 0.5,  # and nothing for a state met once
    "oreal": 0.5 * 1.0 * 4 / 2,  # weighed as one of two correct completions of four
    "a-lol": 0.0,
    "canon": 0.0,
    "gtpo": 0.0,
    "hapo": 0.0,
    "riskpo": 0.0,
    "simpo": 0.0,
    "rpo": 0.0,
    "dpo-norm": 0.0,
}
NO_GROUPS = """reinforce ppo nlpo tulu-3-rlvr reinforce-plus-plus filtered-bc w-reinforce-nsr remax topr spo pure
    prime pav stablereinforce""".split()


def lonely(completions):
    rollouts, _ = completions([1.0, 0.0, 0.0, 0.5], [[-1.0]] * 4, group=[0, 0, 0, 1], ref=[[-1.0]] * 4)
    step_reward = torch.stack([torch.zeros(4), rollouts.reward], 1)
    return replace(rollouts, step_reward=step_reward, state=torch.tensor([[0, 0]] * 3 + [[1, 1]]))


def test_every_method_has_its_line():
    assert {row.handle for row in ROWS} == set(KEEPS_REWARD) | set(OTHERS) | set(NO_GROUPS)


def test_the_mean_of_a_group_of_one_is_no_baseline():
    assert group_baseline(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([3, 3, 7])).tolist() == [1.5, 1.5, 0.0]


@pytest.mark.parametrize("handle", [*KEEPS_REWARD, *OTHERS])
def test_a_group_of_one(completions, handle):
    advantage = load(handle).advantage(lonely(completions))
    last = advantage[3] if advantage.dim() == 1 else advantage[3, 1]
    assert last.item() == pytest.approx(OTHERS.get(handle, 0.5), abs=1e-4)


def test_a_group_of_one_in_pure_is_compared_with_nothing(completions):
    advantage = load("pure", reward_kl_coef=0.0, verifiable_weight=1.0).advantage(lonely(completions))
    assert advantage[3, 1].item() == pytest.approx(0.5)  # its step's reward; of its own verifiable one nothing
