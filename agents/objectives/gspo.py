"""GSPO: clipped surrogate with one importance ratio a sequence."""

from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, per_token


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    clip_low: float = 3e-4,
    clip_high: float = 4e-4,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-min(s A, clip(s, 1 - clip_low, 1 + clip_high) A) on each token; ``[B, T]``.

    s = (pi(y) / pi_old(y))^(1 / length) = exp(mean of logp - logp_old over the completion y): a whole completion is
    kept or clipped. Its bounds are far narrower than those of a token's ratio.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]``, or ``[B, T]``.
        policy_out: reads ``logp``.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far it may rise above 1.

    Paper: Group Sequence Policy Optimization (2025), eqs. 5 and 7; bounds of sec. 5.1.
    """
    advantage = per_token(advantage)
    ratio = masked_mean(log_ratios(rollouts, policy_out), rollouts.mask, 1)[:, None].exp().expand(rollouts.mask.shape)
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    cut = (clipped != ratio) & (clipped * advantage < ratio * advantage)
    return -(ratio * advantage).minimum(clipped * advantage), {"clip_fraction": masked_mean(cut.float(), rollouts.mask)}
