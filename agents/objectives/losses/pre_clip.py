"""The clipped surrogate of a log-ratio that was bounded before it is exponentiated."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts
from ..ops import log_ratios
from .ppo_clip import ppo_clip


def pre_clip(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    ratio_limit: float = 1e3,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO's clipped surrogate of rho = exp(clamp(log pi - log pi_old, -log ratio_limit, log ratio_limit)); ``[B, T]``.

    PPO does not clip a ratio that has grown where A < 0, so that one token may outweigh a batch. Beyond the bound the
    loss is constant here, and its gradient 0.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        ratio_limit: the largest ratio, and the inverse of the smallest.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far a ratio may rise above 1.

    Paper: R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning (2025), Pre-CLIP of
    StableReinforce; 1e3 from the authors' code. Its consistency reward, for models that judge, is a task's business.
    """
    bound = math.log(ratio_limit)
    bounded = rollouts.logp_old + log_ratios(rollouts, policy_out).clamp(-bound, bound)
    bounded = torch.where(rollouts.mask, bounded, 0.0)
    return ppo_clip(rollouts, advantage, replace(policy_out, logp=bounded), clip_low=clip_low, clip_high=clip_high)
