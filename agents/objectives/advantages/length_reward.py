"""Rewards and a reward for brevity, compared with the group's mean."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts
from ..ops import group_max, group_mean


def length_reward(rollouts: Rollouts, *, length_weight: float = 0.0, threshold: float = 0.5) -> Tensor:
    """A_i = R_i - mean(R) over row i's group, R = r + length_weight * l; ``[B]``.

    l = 0.5 - (len - min len) / (max len - min len) within the group for a right answer, min(0, l) for a wrong one:
    brevity pays only if the answer is right. Where all lengths are equal, l = 0.

    Args:
        rollouts: reads ``reward``, ``group`` and ``length``.
        length_weight: of the length reward; the authors begin without and switch it on later.
        threshold: an answer is right if its reward is above this.

    Paper: Kimi k1.5: Scaling Reinforcement Learning with LLMs (2025), sec. 2.3.2 (mean reward as baseline) and 2.3.3.
    """
    rewards = rollouts.reward.double()
    if length_weight:
        length = rollouts.length.double()
        longest, shortest = group_max(length, rollouts.group), -group_max(-length, rollouts.group)
        span = longest - shortest
        brevity = torch.where(span > 0, 0.5 - (length - shortest) / span.clamp(min=1), 0.0)
        rewards = rewards + length_weight * torch.where(rewards > threshold, brevity, brevity.clamp(max=0))
    return (rewards - group_mean(rewards, rollouts.group)).float()
