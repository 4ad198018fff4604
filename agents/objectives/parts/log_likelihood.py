"""The REINFORCE (score-function) loss, whose gradient is the policy gradient."""

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts


def log_likelihood(rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut) -> tuple[Tensor, dict[str, Tensor]]:
    """-A log pi(token); ``[B, T]``. Only valid for one pass over fresh completions: nothing corrects for older ones.

    Args:
        rollouts: reads ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.

    Paper: Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning (1992), eq. 4.
    """
    advantage = advantage[:, None] if advantage.dim() == 1 else advantage
    return -advantage * torch.where(rollouts.mask, policy_out.logp, 0.0), {}
