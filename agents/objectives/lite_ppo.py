"""Lite PPO: advantages centred by the group's mean and scaled by the batch's standard deviation."""

from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.ops import group_mean


def advantage(rollouts: Rollouts, *, epsilon: float = 1e-6) -> Tensor:
    """A_i = (r_i - mean of row i's group) / std of all rewards of the batch (n - 1); ``[B]``.

    A nearly solved problem, whose own spread is small, is not blown up as it is by the group's deviation. A group of
    one is its own mean: 0, as its reward over the deviation of a batch of equal rewards would be endless.

    Args:
        rollouts: reads ``reward`` and ``group``.
        epsilon: added to the standard deviation, so that equal rewards give 0.

    Paper: Part I: Tricks or Traps? A Deep Dive into RL for LLM Reasoning (2025), group-level mean and batch-level std.
    """
    rewards = rollouts.reward.double()
    centred = rewards - group_mean(rewards, rollouts.group)
    return (centred / (rewards.std(unbiased=len(rewards) > 1) + epsilon)).float()
