from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents import PolicyGradient
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.soft_overlong_punishment import SoftOverlongPunishment, soft_overlong_punishment


def test_by_hand():
    # of at most 20 tokens, the last 4 are the buffer: none at 16, 1/4 at 17, all of it from 20 on
    length = torch.tensor([1, 16, 17, 19, 20, 25])
    penalty = soft_overlong_punishment(length, max_length=20, buffer=4)
    assert penalty.tolist() == [0.0, 0.0, -0.25, -0.75, -1.0, -1.0]
    assert torch.equal(soft_overlong_punishment(length, max_length=20, buffer=4, penalty=0.5), penalty / 2)


def test_correct_and_incorrect_completions_pay_alike():
    rollouts = SimpleNamespace(reward=torch.tensor([1.0, 1.0, 0.0, 0.0]), length=torch.tensor([8, 10, 9, 10]))
    reward = load({"name": "soft-overlong-punishment", "max_length": 10})  # of which a fifth is the buffer
    assert reward.shape(rollouts, None).tolist() == [1.0, 0.0, -0.5, -1.0]


@pytest.mark.parametrize("buffer", [0, 11])
def test_a_buffer_has_to_fit(buffer):
    with pytest.raises(ValueError, match="from 1 to max_length"):
        SoftOverlongPunishment(max_length=10, buffer=buffer)


def test_the_longest_completion_is_the_agents_unless_it_is_given():
    small = {"policy": "transformer-100k", "group_size": 2, "prompts_per_batch": 2, "seed": 0, "device": "cpu"}

    def agent(**reward):
        rewards = {"name": "soft-overlong-punishment", **reward}
        return PolicyGradient(env="tiltyard/Countdown-v0", rewards=rewards, max_answer_tokens=20, **small)

    rows = SimpleNamespace(reward=torch.zeros(4), length=torch.tensor([16, 17, 20, 5]))  # a fifth of 20 is 4
    for made in (agent(), agent(max_length=20)):
        assert made.rewards[0].shape(rows, made.context()).tolist() == [0.0, -0.25, -1.0, 0.0]
    with pytest.raises(ValueError, match=r"from 1 to max_length \(20\), got 21"):
        agent(buffer=21)


def test_a_policy_that_has_no_longest_completion_wants_it_given():
    with pytest.raises(ValueError, match="give the reward a max_length"):
        SoftOverlongPunishment().start(SimpleNamespace(policy=object()))


def test_a_penalty_is_no_reward_and_lengths_are_whole_numbers():
    with pytest.raises(ValueError, match="penalty is what the longest completion costs"):
        SoftOverlongPunishment(penalty=-1.0)
    with pytest.raises(TypeError, match="max_length must be a whole number"):
        SoftOverlongPunishment(max_length="long")
