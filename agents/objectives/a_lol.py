"""A-LoL: offline policy gradient on whole completions of positive advantage, with clipped importance weights."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import group_mean, log_ratios, per_token


def advantage(rollouts: Rollouts) -> Tensor:
    """A_i = max(0, r_i - V), V the mean reward of row i's group; ``[B]``.

    The paper learns V(x), the value of a frozen reference policy at prompt x, with a head on that policy. Here the
    policy that wrote the completions is the reference, and the mean of its own completions estimates its value: that of
    a group of one is its reward, so that its advantage is 0.

    Paper: Improving Language Models with Advantage-based Offline Policy Gradients (2023), A-LoL.
    """
    return (rollouts.reward - group_mean(rollouts.reward, rollouts.group)).clamp(min=0).float()


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, clip: float | None = 0.9
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A sg[clip(pi(y) / pi_old(y), 1 - clip, 1 + clip)] log pi(token); ``[B, T]``, to be summed over a completion.

    The ratio is that of the whole completion. Unlike PPO's clip, this one bounds the weight and never stops the
    gradient. The paper also draws completions in proportion to A; here all of a batch are used.

    Args:
        rollouts: reads ``logp_old`` (the reference's) and ``mask``.
        advantage: ``[B]``, not negative.
        policy_out: reads ``logp``.
        clip: how far a ratio may be from 1; None: no ratio (the paper's reference-free variant).

    Paper: Improving Language Models with Advantage-based Offline Policy Gradients (2023), A-LoL; 0.9 from the authors'
    code.
    """
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    if clip is None:
        return -per_token(advantage) * logp, {}
    ratio = log_ratios(rollouts, policy_out).detach().sum(1).exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return -per_token(advantage * clipped) * logp, {"clip_fraction": (clipped != ratio).float().mean()}
