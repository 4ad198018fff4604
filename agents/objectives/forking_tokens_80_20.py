"""Forking tokens: group-relative advantages on the 20% of tokens with the highest entropy alone."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.group_relative import group_relative


def advantage(rollouts: Rollouts, *, share: float = 0.2, epsilon: float = 1e-6) -> Tensor:
    """A_i for the ``share`` of the batch's written tokens whose entropy is highest, 0 for the others; ``[B, T]``.

    The entropy is that of the distribution each token was drawn from. Tokens that tie with the last one chosen are
    chosen too, so that the order of rows does not matter.

    Args:
        rollouts: reads ``entropy``, ``mask``, ``reward`` and ``group``.
        share: of tokens to learn from, in (0, 1].
        epsilon: added to the group's standard deviation.

    Paper: Beyond the 80/20 Rule: High-Entropy Minority Tokens Drive Effective Reinforcement Learning for LLM Reasoning
    (2025), sec. 5.1: DAPO's objective times an indicator; the loss still divides by all tokens.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is the part of tokens to learn from, in (0, 1], got {share}")
    advantage = group_relative(rollouts, epsilon=epsilon)[:, None]
    entropies = rollouts.entropy[rollouts.mask]
    if len(entropies) == 0:
        return advantage * rollouts.mask
    kept = max(1, round(share * len(entropies)))
    threshold = entropies.topk(kept).values[-1]
    return torch.where(rollouts.mask & (rollouts.entropy >= threshold), advantage, 0.0)
