"""RLOO's advantage: rewards minus the mean of the group's other completions."""

from torch import Tensor

from ...language.rollouts import Rollouts
from .ops import group_baseline, group_size


def leave_one_out(rollouts: Rollouts) -> Tensor:
    """A_i = r_i - mean of the other rewards in row i's group = G / (G - 1) * (r_i - mean(r)); ``[B]``.

    The baseline of row i does not hang on its own completion, so the gradient is unbiased. A group of one has no others
    and no baseline: A_i = r_i, as in verl's ``compute_rloo_outcome_advantage``.

    Paper: Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs (2024),
    sec. 3.3 (RLOO).
    """
    size = group_size(rollouts.group)
    advantage = rollouts.reward - group_baseline(rollouts.reward, rollouts.group)
    return (advantage * size / (size - 1).clamp(min=1)).float()
