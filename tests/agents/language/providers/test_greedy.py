"""ReMax's baseline: graded like any completion, shaped like any completion."""

import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.components import Reward

SMALL = {"policy": "chain-sum-base", "group_size": 4, "prompts_per_batch": 8, "max_answer_tokens": 48, "seed": 0}


def batch(**settings):
    agent = PolicyGradient(env="tiltyard/ChainSum-v0", method="remax", device="cpu", **{**SMALL, **settings})
    agent._callback = agent._setup_learn(1)[1]
    context = agent.context()
    return agent._supplied(agent._sample(context), context)


class Doubles(Reward):
    """Pays twice, and one more."""

    def shape(self, episodes, context):
        return 2 * episodes.reward + 1


def test_the_greedy_baseline_is_shaped_like_what_is_compared_with_it():
    """With rewards='laser' a completion as good as the greedy one was taught +0.5, its bonus."""
    plain, shaped = batch(), batch(rewards={"name": "laser", "target": 48})
    as_good = plain.info["success"] & (plain.baseline > 0.9)
    assert as_good.sum() > 3
    assert (shaped.reward - shaped.baseline)[as_good].tolist() == pytest.approx([0.0] * int(as_good.sum()))
    assert torch.allclose(batch(rewards=Doubles()).baseline, 2 * plain.baseline + 1)


def test_greedy_completions_are_neither_learnt_from_nor_shown_to_curricula():
    rollouts = batch()
    assert len(rollouts) == 4 * 8
    assert rollouts.extra is None
    assert "greedy" not in rollouts.info
