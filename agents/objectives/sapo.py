"""SAPO: soft adaptive gate on token ratios in place of a hard clip."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, per_token


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    tau_positive: float = 1.0,
    tau_negative: float = 1.05,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-f(rho) A with f(rho) = (4 / tau) sigmoid(tau (rho - 1)); ``[B, T]``.

    The gradient of f is 4 p (1 - p) = sech^2(tau (rho - 1) / 2) with p the sigmoid: 1 at rho = 1, falling smoothly on
    both sides and never 0.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        tau_positive: tau where A > 0.
        tau_negative: tau elsewhere; a higher one closes the gate sooner, as pushing tokens down is less stable.

    Paper: Soft Adaptive Policy Optimization (2025), sec. 3.
    """
    advantage = per_token(advantage)
    ratio = log_ratios(rollouts, policy_out).exp()
    tau = torch.where(advantage > 0, tau_positive, tau_negative)
    open_share = torch.sigmoid(tau * (ratio - 1))
    gradient_weight = (4 * open_share * (1 - open_share)).detach()
    return -4 / tau * open_share * advantage, {"gate": masked_mean(gradient_weight, rollouts.mask)}
