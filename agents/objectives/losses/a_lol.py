"""A whole answer as one action, cloned by its advantage and its clipped ratio."""

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts
from ..ops import log_ratios, per_token


def a_lol(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, clip: float | None = 0.9
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A sg[clip(pi(y) / pi_old(y), 1 - clip, 1 + clip)] log pi(token); ``[B, T]``, to be summed over an answer.

    The ratio is that of the whole answer. Unlike PPO's clip, this one bounds the weight and never stops the gradient.
    The paper also draws answers in proportion to A; here all of a batch are used.

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
