"""PRIME: RLOO with the outcome and, for every token, an implicit process reward that is learnt from outcomes online."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts import ops
from .parts.completions import others_mean
from .parts.leave_one_out import leave_one_out


def advantage(
    rollouts: Rollouts,
    *,
    beta: float = 0.05,
    gamma: float = 1.0,
    process_weight: float = 1.0,
    normalise: bool = True,
    whiten: bool = True,
) -> Tensor:
    """A_t = r_o - mean of the others' r_o + sum over s >= t of gamma^(s - t) (r_s - mean of the others' r a token).

    ``[B, T]``; 0 outside the mask. r_o is the outcome reward of a completion, and r_s = beta log(pi_phi(y_s) /
    pi_ref(y_s)) the process reward of a token: pi_phi is a language model, trained by cross-entropy on the outcomes of
    the policy's own completions (see :class:`~tiltyard.agents.language.providers.prime.OnlinePRM`). The others are the
    group's other completions, each with the mean of its own tokens' process rewards. Only written tokens take time.

    ``normalise`` divides log-ratios by the largest absolute sum of them over a completion's end in the batch, so that
    what they sum to is 1 at most and ``beta`` matters to pi_phi's loss alone; ``whiten`` makes the batch's advantages
    of mean 0 and deviation 1. Algorithm 1 has neither; the authors' code does both.

    Departures: their code weighs a token's own distance from its completion's mean by K / (K - 1), K being the group's
    size, where the paper's formula has 1. Left out are a pi_ref that is the policy itself, process rewards as a sum on
    the last token, and the filter for completions that were cut off. The filter of difficulty, which is the row's
    curriculum, keeps shares of 0.2 and 0.8 as the code does, where Algorithm 1 says between; it drops all groups of
    one.

    Args:
        rollouts: reads ``reward`` (of outcomes), ``logp_prm``, ``logp_ref``, ``mask`` and ``group``.
        beta: scale of the log-ratios.
        gamma: discount of process rewards, a token.
        process_weight: of process rewards beside the outcome; 0 is RLOO on the outcome alone.
        normalise: divide process rewards by their largest sum.
        whiten: make advantages of mean 0 and deviation 1.

    Raises:
        ValueError: ``rollouts.logp_prm`` or ``logp_ref`` is None, or a discount outside of 0 to 1.

    Paper: Process Reinforcement through Implicit Rewards (2025), Algorithm 1, line 18; the authors'
    ``compute_rloo_returns``, ``prime_norm`` and numbers of ``run_prime_main.sh``.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must be from 0 to 1, got {gamma}")
    mask = rollouts.mask
    ratios = torch.where(mask, rollouts.need("logp_prm") - rollouts.need("logp_ref"), 0.0).double()
    process = ratios / (to_go(ratios, mask).abs().max() + 1e-6) if normalise else beta * ratios
    baseline = others_mean(ops.masked_mean(process, mask, 1), rollouts.group)
    returns = to_go(process - baseline[:, None], mask, gamma)
    found = torch.where(mask, leave_one_out(rollouts)[:, None] + process_weight * returns, 0.0)
    return (ops.whiten(found, mask) if whiten else found).float()


def to_go(rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> Tensor:
    """The discounted sum of ``rewards`` ``[B, T]`` from each written token on, ``[B, T]``; 0 outside the mask."""
    found, total = torch.zeros_like(rewards), torch.zeros_like(rewards[:, 0])
    for t in reversed(range(mask.shape[1])):
        total = torch.where(mask[:, t], rewards[:, t] + gamma * total, total)
        found[:, t] = torch.where(mask[:, t], total, 0.0)
    return found
