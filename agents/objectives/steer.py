"""STEER: token weights that damp large changes of entropy."""

import math

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import group_max, masked_mean, per_token
from .parts.ppo_clip import ppo_clip


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    weight_min: float = 0.8,
    floor: float = 0.02,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Weighs PPO's clipped surrogate by w = weight_min ^ (|Omega| / max(|Omega|, floor)); ``[B, T]``.

    Omega = A / pi_old * p (1 - p) (log p + H) estimates, up to sign and step size, how a step on the token changes the
    entropy H of its distribution; p is its probability now. The maximum is over a group's tokens (the code: over
    whatever batch is at hand), hence whole groups.

    Args:
        rollouts: reads ``logp_old``, ``mask`` and ``group``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp`` and ``entropy``.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far a ratio may rise above 1.
        weight_min: weight of the token that changes the entropy most.
        floor: changes are small, and tokens hardly damped, where the largest is below this.

    Paper: Rethinking Entropy Interventions in RLVR: An Entropy Change Perspective (2025), with the exponential weights
    of the authors' code. Its bound of 10 on ratios where A < 0 is left out.
    """
    mask = rollouts.mask
    per, metrics = ppo_clip(rollouts, advantage, policy_out, clip_low=clip_low, clip_high=clip_high)
    logp = torch.where(mask, policy_out.logp.detach(), -1.0)
    p = logp.exp().clamp(1e-8, 1 - 1e-8)
    old = torch.where(mask, rollouts.logp_old, 0.0).exp().clamp(min=1e-8)
    entropy = torch.where(mask, policy_out.entropy.detach(), 0.0)
    change = torch.where(mask, (per_token(advantage) / old * p * (1 - p) * (p.log() + entropy)).abs(), 0.0)
    largest = group_max(change.amax(1), rollouts.group).clamp(min=floor)
    weight = (math.log(weight_min) * change / largest[:, None]).exp()
    return per * weight, {**metrics, "entropy_change": masked_mean(change, mask)}
