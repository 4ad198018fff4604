"""CISPO: policy gradient with clipped, detached importance weights, so that no token loses its gradient."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, per_token


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    clip_low: float = 1.0,
    clip_high: float = 4.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-sg(clip(rho, 1 - clip_low, 1 + clip_high)) A logp; ``[B, T]``. sg: no gradient flows through the weight.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        clip_low: how far a weight may fall below 1; 1 sets no bound, as in the paper.
        clip_high: how far it may rise above 1. The paper tunes it and gives no number; weights up to 5 are what The Art
            of Scaling Reinforcement Learning Compute for LLMs (2025) uses.

    Paper: MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention (2025), eqs. 4 and 5.
    """
    ratio = log_ratios(rollouts, policy_out).detach().exp()
    weight = ratio.clamp(1 - clip_low, 1 + clip_high)
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    metrics = {"clip_fraction": masked_mean((weight != ratio).float(), rollouts.mask)}
    return -weight * per_token(advantage) * logp, metrics
