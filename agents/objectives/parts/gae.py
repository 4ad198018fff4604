"""Generalised advantage estimation (GAE) from a critic."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts
from .ops import whiten


def gae(rollouts: Rollouts, *, gamma: float = 1.0, gae_lambda: float = 0.95) -> Tensor:
    """A_t = sum over l of (gamma lambda)^l delta_{t+l}, whitened over the batch's written tokens; ``[B, T]``.

    delta_t = r_t + gamma V_{t+1} - V_t over written tokens alone: the environment's words between turns take no time.
    r_t is the token's reward where rewards are known by tokens or turns; else the episode's reward arrives with its
    last written token.

    Args:
        rollouts: reads ``values``, ``reward``, ``mask``, and ``step_reward`` where there is one.
        gamma: discount a token.
        gae_lambda: 1 weighs whole returns, 0 the next value.

    Raises:
        ValueError: ``rollouts.values`` is None.

    Paper: Proximal Policy Optimization Algorithms (2017), eqs. 11 and 12; whitening is common practice.
    """
    return whiten(raw_gae(rollouts, gamma=gamma, gae_lambda=gae_lambda).double(), rollouts.mask).float()


def raw_gae(rollouts: Rollouts, *, gamma: float = 1.0, gae_lambda: float = 0.95, after: Tensor | None = None) -> Tensor:
    """The same before whitening; ``[B, T]``, 0 outside the mask. Plus the values, it is what a critic should say.

    Args:
        rollouts: as for :func:`gae`.
        gamma: discount a token.
        gae_lambda: 1 weighs whole returns, 0 the next value.
        after: ``[B]`` value of the state behind each row's last written token (None: 0, the episodes have ended).
    """
    mask = rollouts.mask
    values = rollouts.need("values")
    rewards = torch.where(mask, rollouts.token_reward, 0.0)
    advantage = torch.zeros_like(values)
    total = torch.zeros_like(values[:, 0])
    following = total if after is None else after
    for t in reversed(range(mask.shape[1])):
        delta = rewards[:, t] + gamma * following - values[:, t]
        total = torch.where(mask[:, t], delta + gamma * gae_lambda * total, total)
        following = torch.where(mask[:, t], values[:, t], following)
        advantage[:, t] = torch.where(mask[:, t], total, 0.0)
    return advantage
