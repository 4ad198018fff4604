"""PPO's clipped surrogate on tokens, with GRPO's KL penalty to a reference policy."""

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts
from .ops import k3, masked_mean


def ppo_clip(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    kl_coef: float = 0.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A) + kl_coef * KL; ``[B, T]``.

    rho = exp(logp - logp_old); KL is estimated by exp(d) - d - 1 with d = logp_ref - logp, unbiased and never negative.

    Departures from verl's code, on which most methods' own is built: it also bounds the loss where A < 0 (dual clip, at
    a ratio of 3 unless told otherwise) and the KL of a token, at 10. Like it, this cuts log rho and d at 20 above, so
    that loss and gradient are finite whatever became of a token's probability.

    Args:
        rollouts: reads ``logp_old``, ``mask`` and, for the KL penalty, ``logp_ref``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far a ratio may rise above 1.
        kl_coef: weight of the KL penalty towards the reference policy.

    Raises:
        ValueError: a KL penalty without ``logp_ref``.

    Paper: DeepSeekMath (2024), eq. 3 (objective) and eq. 4 (KL); separate bounds: DAPO (2025), eq. 10.
    """
    mask = rollouts.mask
    advantage = advantage[:, None] if advantage.dim() == 1 else advantage
    log_ratio = torch.where(mask, policy_out.logp - rollouts.logp_old, 0.0).clamp(max=20)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    per_token = -torch.minimum(ratio * advantage, clipped * advantage)
    cut = (clipped != ratio) & (clipped * advantage < ratio * advantage)
    metrics = {
        "clip_fraction": masked_mean(cut.float(), mask),
        "approx_kl": masked_mean((ratio - 1 - log_ratio).detach(), mask),
    }
    if kl_coef > 0:
        if rollouts.logp_ref is None:
            raise ValueError("kl_coef above 0 needs rollouts.logp_ref, the reference policy's log-probabilities")
        kl = k3(policy_out.logp, rollouts.logp_ref, mask)
        per_token = per_token + kl_coef * kl
        metrics["kl_ref"] = masked_mean(kl.detach(), mask)
    return per_token, metrics
