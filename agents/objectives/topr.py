"""TOPR: off-policy REINFORCE with importance weights tapered on incorrect completions alone."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, masked_sum, per_token


def loss(rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut) -> tuple[Tensor, dict[str, Tensor]]:
    """-sg(w) A logp; ``[B, T]``, with w = 1 where A >= 0 and w = min(pi(y) / mu(y), 1) where A < 0.

    The ratio is that of the whole completion y, mu the policy that wrote it. An incorrect completion that has become
    unlikely is let go, instead of being pushed down for ever; a correct one is imitated however unlikely it is.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``; the paper's reward less its baseline.
        policy_out: reads ``logp``.

    Paper: Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs (2025), sec. 3.
    """
    advantage = per_token(advantage)
    ratio = masked_sum(log_ratios(rollouts, policy_out).detach(), rollouts.mask, 1)[:, None].clamp(max=0).exp()
    weight = torch.where(advantage < 0, ratio, 1.0).expand(rollouts.mask.shape)
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    return -weight * advantage * logp, {"weight": masked_mean(weight, rollouts.mask)}
