"""Kimi k1.5: mirror-descent policy gradient with a squared log-ratio penalty, and a length reward."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import group_baseline, group_max, log_ratios, masked_mean, masked_sum, per_token


def advantage(rollouts: Rollouts, *, length_weight: float = 0.0, threshold: float = 0.5) -> Tensor:
    """A_i = R_i - mean(R) over row i's group, R = r + length_weight * l; ``[B]``.

    l = 0.5 - (len - min len) / (max len - min len) within the group for a correct completion, min(0, l) for an
    incorrect one: brevity pays only if the completion is correct. Where all lengths are equal, l = 0. A group of one
    has neither lengths nor a mean to be compared with: A_i = r_i.

    Args:
        rollouts: reads ``reward``, ``group`` and ``length``.
        length_weight: of the length reward. In the paper it follows a schedule, so that it is the parameter for one: 0
            in a warm-up of plain policy optimisation, then constant; the paper gives neither number.
        threshold: a completion is correct if its reward is above this.

    Paper: Kimi k1.5: Scaling Reinforcement Learning with LLMs (2025), sec. 2.3.2 (mean reward as baseline) and 2.3.3.
    """
    rewards = rollouts.reward.double()
    if length_weight:
        length = rollouts.length.double()
        longest, shortest = group_max(length, rollouts.group), -group_max(-length, rollouts.group)
        span = longest - shortest
        brevity = torch.where(span > 0, 0.5 - (length - shortest) / span.clamp(min=1), 0.0)
        rewards = rewards + length_weight * torch.where(rewards > threshold, brevity, brevity.clamp(max=0))
    return (rewards - group_baseline(rewards, rollouts.group)).float()


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, tau: float = 0.1
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A logp + (tau / 2) (log pi(y) / pi_old(y))^2 / length; ``[B, T]``, to be summed over a completion y.

    pi_old wrote the completions and is what the policy is held to, so older completions may be learnt from too.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        tau: of the regulariser; the paper gives no number.

    Paper: Kimi k1.5: Scaling Reinforcement Learning with LLMs (2025), eq. 3.
    """
    mask = rollouts.mask
    moved = masked_sum(log_ratios(rollouts, policy_out), mask, 1).square()[:, None]
    logp = torch.where(mask, policy_out.logp, 0.0)
    held = tau / 2 * moved / mask.sum(1, keepdim=True).clamp(min=1)
    return held - per_token(advantage) * logp, {
        "squared_log_ratio": masked_mean(moved.detach().expand(mask.shape), mask)
    }
