"""StableReinforce: log-ratios clipped before the exponential, and advantages without outliers."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios
from .parts.ppo_clip import ppo_clip


def advantage(rollouts: Rollouts, *, limit: float = 3.0, epsilon: float = 1e-8) -> Tensor:
    """A_i = (r_i - mean) / std over the written tokens of the batch, and 0 where that is beyond ``limit``; ``[B]``.

    A completion far from all others is a sign of a broken reward more often than of a lesson. Groups do not matter.

    Args:
        rollouts: reads ``reward`` and ``mask``.
        limit: standard deviations.
        epsilon: added to the standard deviation.

    Paper: R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning (2025), advantage filter of
    StableReinforce. Its code sets the bounds at mean - 3 and mean + 3 of the raw advantages; these are the paper's.
    The KL penalty inside the reward of its script (0.001, as in REINFORCE++, on which it builds) is left out.
    """
    reward, tokens = rollouts.reward.double(), rollouts.mask.sum(1).double()
    centred = reward - (reward * tokens).sum() / tokens.sum().clamp(min=1)
    variance = (centred.square() * tokens).sum() / tokens.sum().clamp(min=1)
    standard = centred / (variance.sqrt() + epsilon)
    return torch.where(standard.abs() > limit, 0.0, standard).float()


def loss(
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
