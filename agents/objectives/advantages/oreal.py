"""Rewards less those of the others, right and wrong answers each weighed as a whole."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts
from ..answers import correct
from .leave_one_out import leave_one_out


def oreal(rollouts: Rollouts, *, right_weight: float = 1.0, wrong_weight: float = 0.5) -> Tensor:
    """A_i = (r_i - mean of the other rewards of the group) * weight * N / N_kind; ``[B]``.

    N counts the batch's written tokens, N_kind those of its right or of its wrong answers: averaged over tokens, right
    answers weigh ``right_weight`` in all and wrong ones ``wrong_weight``, however many there are. A right answer to a
    problem of pass rate p counts 1 - p, a wrong one -p, so that both push towards the same policy.

    Args:
        rollouts: reads ``reward``, ``group``, ``mask`` and what :func:`~..answers.correct` reads.
        right_weight: of all right answers.
        wrong_weight: of all wrong answers.

    Paper: Exploring the Limit of Outcome Reward for Learning Mathematical Reasoning (2025); shaping by leave-one-out,
    normalisation and numbers from the authors' code.
    """
    tokens, right = rollouts.mask.sum(1), correct(rollouts)
    ours, all_tokens = torch.where(right, tokens, 0).sum(), tokens.sum()
    weight = torch.where(
        right,
        right_weight * all_tokens / ours.clamp(min=1),
        wrong_weight * all_tokens / (all_tokens - ours).clamp(min=1),
    )
    return leave_one_out(rollouts) * weight
