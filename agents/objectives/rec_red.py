"""REC and RED: group-relative REINFORCE off-policy, with clipping in place of importance weights, and balanced data."""

from typing import Literal, get_args

import torch
from torch import Tensor

from ... import unknown
from ..language.rollouts import PolicyOut, Rollouts
from .parts.completions import rank_in_group
from .parts.ops import group_baseline, group_mean, group_sum, log_ratios, masked_mean, per_token


def advantage(rollouts: Rollouts, *, drop: bool = False) -> Tensor:
    """A_i = r_i - mean(r) over the group of row i; ``[B]``. With ``drop``, over what is kept of it, and 0 for the rest.

    Kept are the completions at or above the group's mean, and as many of those below. Which of them is arbitrary (the
    authors draw them), but hangs on what was written alone, not on the order of rows. A group of one keeps its reward,
    or with ``drop`` gets 0.

    Args:
        rollouts: reads ``reward``, ``group`` and, to drop, ``tokens`` and ``mask``.
        drop: RED-Drop.

    Paper: Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm (2025); the authors' ``RECGroupedAdvantage``
    (``std_normalize=False``, ``drop="balance"``).
    """
    reward, group = rollouts.reward.double(), rollouts.group
    if not drop:
        return (reward - group_baseline(reward, group)).float()
    above = reward >= group_mean(reward, group)
    n_above = group_sum(above.double(), group)
    place = rank_in_group((~above).double(), rollouts)  # those above come first
    kept = above | (place < 2 * n_above)
    mean = group_sum(torch.where(kept, reward, 0.0), group) / group_sum(kept.double(), group)
    return torch.where(kept, reward - mean, 0.0).float()


Clip = Literal["none", "one-side", "two-side", "ring"]
Weight = Literal["none", "ratio", "advantage"]


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    clip: Clip = "one-side",
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    ring: tuple[float, float] = (0.6, 2.0),
    weight: Weight = "none",
    temperature: float = 1.0,
    tau: float = 0.0,
    imitation: float = 0.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-w A logp where the clip keeps the token, else 0, + tau (logp - logp_old)^2 - imitation logp; ``[B, T]``.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        clip: "one-side" keeps rho <= 1 + clip_high where A >= 0 and rho >= 1 - clip_low where A <= 0, as PPO does;
            "two-side" keeps rho in between whatever A; "ring" also rho <= 1 - ring[0] where A >= 0 and
            rho >= 1 + ring[1] where A <= 0; "none" keeps all.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far it may rise above 1.
        ring: where the ring ends, below and above 1.
        weight: w: "none" is 1, "ratio" importance sampling, "advantage" exp(A / temperature) (RED-Weight).
        temperature: of that exponent.
        tau: weight of a pull to the policy that wrote the completions (OPMD's; the authors take 0.1).
        imitation: weight of imitating all completions alike (AsymRE's; likewise).

    Paper: Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm (2025); the authors' ``RECPolicyLossFn``.
    """
    for kind, name, valid in (("clip", clip, get_args(Clip)), ("weight", weight, get_args(Weight))):
        if name not in valid:
            raise ValueError(unknown(kind, name, valid))
    advantage, log_ratio = per_token(advantage), log_ratios(rollouts, policy_out)
    ratio = log_ratio.detach().exp()
    low, high, up, down = ratio >= 1 - clip_low, ratio <= 1 + clip_high, advantage >= 0, advantage <= 0
    beyond = (up & (ratio <= 1 - ring[0])) | (down & (ratio >= 1 + ring[1]))
    one_side = (up & high) | (down & low)
    kept = {"none": low | ~low, "one-side": one_side, "two-side": low & high, "ring": (low & high) | beyond}[clip]
    weights = {"none": ratio.new_ones(()), "ratio": ratio, "advantage": (advantage / temperature).exp()}[weight]
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    loss = -weights * advantage * logp * kept + tau * log_ratio.square() - imitation * logp
    return loss, {"clip_fraction": masked_mean((~kept).float(), rollouts.mask)}
