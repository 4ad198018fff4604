"""Rewards standardised over the batch, without the outliers."""

import torch
from torch import Tensor

from ...language.rollouts import Rollouts


def outlier_filter(rollouts: Rollouts, *, limit: float = 3.0, epsilon: float = 1e-8) -> Tensor:
    """A_i = (r_i - mean) / std over the written tokens of the batch, and 0 where that is beyond ``limit``; ``[B]``.

    An answer far from all others is a sign of a broken reward more often than of a lesson. Groups do not matter.

    Args:
        rollouts: reads ``reward`` and ``mask``.
        limit: standard deviations.
        epsilon: added to the standard deviation.

    Paper: R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning (2025), advantage filter of
    StableReinforce. Its code sets the bounds at mean - 3 and mean + 3 of the raw advantages; these are the paper's.
    """
    reward, tokens = rollouts.reward.double(), rollouts.mask.sum(1).double()
    centred = reward - (reward * tokens).sum() / tokens.sum().clamp(min=1)
    variance = (centred.square() * tokens).sum() / tokens.sum().clamp(min=1)
    standard = centred / (variance.sqrt() + epsilon)
    return torch.where(standard.abs() > limit, 0.0, standard).float()
