"""HAPO: token-level advantages and clip bounds that depend on each token's entropy."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.group_relative import group_relative
from .parts.ops import group_max, group_mean, log_ratios, masked_mean, per_token


def advantage(rollouts: Rollouts, *, limit: float = 5.0, epsilon: float = 1e-6) -> Tensor:
    """A_i = (r_i - mean) / std, both over the written tokens of row i's group; ``[B]``.

    Summed over the tokens of a group the advantages cancel, whatever the lengths of its completions. A group with an
    advantage of ``limit`` or more (one short completion among long ones) falls back on :func:`group_relative`. A group
    of one is its own mean: 0.

    Args:
        rollouts: reads ``reward``, ``group`` and ``mask``.
        limit: the largest advantage to be trusted.
        epsilon: added to the standard deviation.

    Paper: From Uniform to Heterogeneous: Tailoring Policy Optimization to Every Token's Nature (2025), its average over
    a group's tokens; ``limit`` from the authors' code.
    """
    group, tokens = rollouts.group, rollouts.mask.sum(1).double()
    total = group_mean(tokens, group).clamp(min=torch.finfo(tokens.dtype).tiny)
    reward = rollouts.reward - group_mean(rollouts.reward, group)  # exact zeros where all are equal
    centred = reward - group_mean(reward * tokens, group) / total
    std = (group_mean(centred.square() * tokens, group) / total).sqrt()
    advantage = centred / (std + epsilon)
    wild = group_max(advantage.abs(), group) >= limit
    return torch.where(wild, group_relative(rollouts, epsilon=epsilon).double(), advantage).float()


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    pivot: float = 0.8,
) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO's clipped surrogate of A' = A (1 + h) or A, with bounds that entropy widens; ``[B, T]``.

    h in [-1, 1] is a token's log-entropy less the ``pivot`` quantile of its group, divided by the largest such distance
    on its side. Tokens of h <= 0 may fall by clip_low (1 - h), others rise by clip_high (1 + h). A' is A (1 + h) for
    h > 0 outside, and for h <= 0 inside, the band half as wide as the bounds, and A elsewhere.

    Quantile and distances are a group's (the code: of whatever batch is at hand), hence whole groups. In the code the
    scale of the negative side lost its sign, so that its h is never negative; this is what the paper describes. The
    code's bound of 10 on ratios where A < 0 is left out.

    Args:
        rollouts: reads ``logp_old``, ``mask`` and ``group``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp`` and ``entropy``.
        clip_low: how far a ratio may fall below 1, at h = 0.
        clip_high: how far a ratio may rise above 1, at h = 0.
        pivot: share of tokens that count as being of low entropy.

    Paper: From Uniform to Heterogeneous: Tailoring Policy Optimization to Every Token's Nature (2025), differential
    advantage redistribution and asymmetric adaptive clipping; numbers from the authors' scripts. Its third part, a
    sampling temperature by entropy, is for whoever samples.
    """
    mask = rollouts.mask
    h = entropy_place(policy_out.entropy.detach(), mask, rollouts.group, pivot)
    ratio = log_ratios(rollouts, policy_out).exp()
    low, high = clip_low * (1 - h.clamp(max=0)), clip_high * (1 + h.clamp(min=0))
    inside = (ratio.detach() > 1 - low / 2) & (ratio.detach() < 1 + high / 2)
    per = per_token(advantage) * torch.where(inside == (h <= 0), 1 + h, 1.0)
    clipped = torch.minimum(torch.maximum(ratio, 1 - low), 1 + high)
    cut = (clipped != ratio) & (clipped * per < ratio * per)
    return -torch.minimum(ratio * per, clipped * per), {"clip_fraction": masked_mean(cut.float(), mask)}


def entropy_place(entropy: Tensor, mask: Tensor, group: Tensor, pivot: float) -> Tensor:
    """The h of :func:`hapo`, ``[B, T]``; 0 outside the mask."""
    h = torch.zeros_like(entropy)
    for number in torch.unique(group):
        own = mask & (group == number)[:, None]
        values = entropy[own].clamp(min=1e-8).log()
        away = values - values.sort().values[round(pivot * (len(values) - 1))] if len(values) else values
        reach = (away.clamp(min=0).amax(), (-away).clamp(min=0).amax()) if len(values) else (1.0, 1.0)
        h[own] = torch.where(away > 0, away / reach[0], away / reach[1]).nan_to_num(0.0)
    return h
