"""Right answers are cloned, wrong ones avoided by policy gradient."""

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts
from ..answers import correct
from ..ops import log_ratios, masked_mean, per_token


def oreal(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, kl_coef: float = 0.01
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A log pi for right answers, -A pi / pi_old for wrong ones, + kl_coef * KL to the reference; ``[B, T]``.

    KL is estimated by exp(d) - d - 1 with d = logp_ref - logp.

    The paper also weighs tokens by a reward model w of tokens, trained beside the policy on outcomes:
    max(2 sigmoid(w) - 1, 0) in right answers, max(1 - 2 sigmoid(w), 0) in wrong ones. This is its configuration without
    that model, all weights 1. It keeps one right and one wrong answer of each problem, here all are used.

    Args:
        rollouts: reads ``logp_old``, ``logp_ref``, ``mask`` and what :func:`~..answers.correct` reads.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        kl_coef: weight of the KL penalty towards the reference policy; 0: none, and ``logp_ref`` is not read.

    Paper: Exploring the Limit of Outcome Reward for Learning Mathematical Reasoning (2025), and the authors' code.
    """
    ratio = log_ratios(rollouts, policy_out).exp()
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    loss = -per_token(advantage) * torch.where(correct(rollouts)[:, None], logp, ratio)
    if kl_coef == 0:
        return loss, {}
    distance = torch.where(rollouts.mask, rollouts.need("logp_ref") - policy_out.logp, 0.0)
    kl = distance.exp() - distance - 1
    return loss + kl_coef * kl, {"kl_ref": masked_mean(kl.detach(), rollouts.mask)}
