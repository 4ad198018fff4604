"""ROVER: squared-error regression of log-ratio Q-values on those of the uniformly random policy."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, next_written, per_token


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, rho: float = 1.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """(Q_t - sg[A + Q'_t])^2; ``[B, T]``.

    Q_t = rho * (log pi - log pi_old) of the token; Q'_t = rho times the mean over the vocabulary of the same difference
    at the next token that is written (behind the environment's words, at a turn's end), the value of acting at random
    from there, and 0 behind a completion's last token. No clip, no KL.

    At the first gradient step after sampling pi = pi_old, so that Q' = 0. Later ones read ``policy_out.logp_mean`` and
    ``rollouts.logp_mean_old``; where these are None, Q' stays 0, which departs from the paper.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]``, the reward less its group's mean.
        policy_out: reads ``logp``.
        rho: temperature; the policy acts by softmax(Q / rho).

    Paper: Random Policy Valuation is Enough for LLM Reasoning with Verifiable Rewards (2025), algorithm 1, and the
    authors' code.
    """
    value = rho * log_ratios(rollouts, policy_out)
    target = per_token(advantage).expand_as(value)
    if policy_out.logp_mean is not None and rollouts.logp_mean_old is not None:
        here = torch.where(rollouts.mask, policy_out.logp_mean.detach() - rollouts.logp_mean_old, 0.0)
        target = target + rho * next_written(here, rollouts.mask)
    return (value - target.detach()).square(), {"q": masked_mean(value.detach(), rollouts.mask)}
