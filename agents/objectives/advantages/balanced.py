"""Rewards less the group's mean, after the failures that are too many were dropped."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts
from ..answers import rank_in_group
from ..ops import group_mean, group_sum


def balanced(rollouts: Rollouts, *, drop: bool = False) -> Tensor:
    """A_i = r_i - mean(r) over the group of row i; ``[B]``. With ``drop``, over what is kept of it, and 0 for the rest.

    Kept are the answers at or above the group's mean, and as many of those below. Which of them is arbitrary (the
    authors draw them), but hangs on what was written alone, not on the order of rows.

    Args:
        rollouts: reads ``reward``, ``group`` and, to drop, ``tokens`` and ``mask``.
        drop: RED-Drop.

    Paper: Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm (2025); the authors' ``RECGroupedAdvantage``
    (``std_normalize=False``, ``drop="balance"``).
    """
    reward, group = rollouts.reward.double(), rollouts.group
    centred = reward - group_mean(reward, group)
    if not drop:
        return centred.float()
    above = centred >= 0
    n_above = group_sum(above.double(), group)
    place = rank_in_group((~above).double(), rollouts)  # those above come first
    kept = above | (place < 2 * n_above)
    mean = group_sum(torch.where(kept, reward, 0.0), group) / group_sum(kept.double(), group)
    return torch.where(kept, reward - mean, 0.0).float()
