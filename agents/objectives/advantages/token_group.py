"""Rewards compared within the group, each answer counted once a token."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts
from ..ops import group_max, group_mean
from .group_relative import group_relative


def token_group(rollouts: Rollouts, *, limit: float = 5.0, epsilon: float = 1e-6) -> Tensor:
    """A_i = (r_i - mean) / std, both over the written tokens of row i's group; ``[B]``.

    Summed over the tokens of a group the advantages cancel, whatever the lengths of its answers. A group with an
    advantage of ``limit`` or more (one short answer among long ones) falls back on :func:`group_relative`.

    Args:
        rollouts: reads ``reward``, ``group`` and ``mask``.
        limit: the largest advantage to be trusted.
        epsilon: added to the standard deviation.

    Paper: From Uniform to Heterogeneous: Tailoring Policy Optimization to Every Token's Nature (2025), its average over
    a group's tokens; ``limit`` from the authors' code.
    """
    group, tokens = rollouts.group, rollouts.mask.sum(1).double()
    total = group_mean(tokens, group).clamp(min=torch.finfo(tokens.dtype).tiny)
    reward = rollouts.reward - group_mean(rollouts.reward, group)  # exact zeros where all are equal
    centred = reward - group_mean(reward * tokens, group) / total
    std = (group_mean(centred.square() * tokens, group) / total).sqrt()
    advantage = centred / (std + epsilon)
    wild = group_max(advantage.abs(), group) >= limit
    return torch.where(wild, group_relative(rollouts, epsilon=epsilon).double(), advantage).float()
