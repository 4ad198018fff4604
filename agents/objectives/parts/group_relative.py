"""GRPO's advantage: rewards normalised within the group of completions to the same problem."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts
from .ops import group_baseline, group_size, group_std


def group_relative(rollouts: Rollouts, *, scale: bool = True, epsilon: float = 1e-6) -> Tensor:
    """A_i = (r_i - mean(r)) / std(r) over the group of row i; ``[B]``. A_i = r_i in a group of one.

    Args:
        rollouts: reads ``reward`` and ``group``.
        scale: divide by the group's standard deviation (n - 1); without it, A_i = r_i - mean(r).
        epsilon: added to the standard deviation, so that equal rewards give 0.

    Paper: DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models (2024), sec. 4.1.2.
    ``scale=False``: Understanding R1-Zero-Like Training: A Critical Perspective (2025), sec. 3.2. Groups of one as in
    verl's ``compute_grpo_outcome_advantage``, on which most methods' own code is built.
    """
    advantage = rollouts.reward - group_baseline(rollouts.reward, rollouts.group)
    if scale:
        alone = group_size(rollouts.group) == 1
        advantage = advantage / torch.where(alone, 1.0, group_std(rollouts.reward, rollouts.group) + epsilon)
    return advantage.float()
