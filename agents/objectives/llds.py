"""LLDS: GRPO with a penalty on lost likelihood of completions with non-negative advantage."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, per_token
from .parts.ppo_clip import ppo_clip


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    preserve: float = 0.2,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO's clipped surrogate + preserve * max(0, log pi_old - log pi) where the turn lost likelihood; ``[B, T]``.

    Only in completions of advantage 0 or more, and only in turns in which the sum of log pi_old - log pi is above 0:
    the penalty and its gradient are exactly 0 where a turn has become likelier. The paper averages the penalty over the
    tokens of the completions preserved; here it is averaged as the surrogate is, as in the authors' code. Its variant
    that spares the tokens of the answer is left out, and so is its KL penalty to a reference (0.001).

    Args:
        rollouts: reads ``logp_old``, ``mask`` and ``turn``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        preserve: weight of the penalty, lambda.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far a ratio may rise above 1.

    Paper: On GRPO Collapse in Search-R1: The Lazy Likelihood-Displacement Death Spiral (2025), second version, eq. 4
    and 6; weight and the gate by turns as in the authors' ``train_grpo_nqhot.sh``.
    """
    mask = rollouts.mask
    surrogate, metrics = ppo_clip(rollouts, advantage, policy_out, clip_low=clip_low, clip_high=clip_high)
    fall = -log_ratios(rollouts, policy_out)
    turn = torch.where(mask, rollouts.turn, 0)
    by_turn = torch.zeros_like(fall).scatter_add(1, turn, fall.detach())  # turns are fewer than positions
    gate = mask & (per_token(advantage) >= 0) & (by_turn.gather(1, turn) > 0)
    penalty = torch.where(gate, fall.clamp(min=0), 0.0)
    return surrogate + preserve * penalty, {**metrics, "likelihood_lost": masked_mean(penalty.detach(), mask)}
