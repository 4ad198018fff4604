"""REINFORCE++: reward minus the KL penalty to go, normalised over all tokens of the batch."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.ops import whiten


def advantage(rollouts: Rollouts, *, reward_kl_coef: float = 0.0) -> Tensor:
    """A_t = r - k * sum over t' >= t of (logp_old - logp_ref), whitened over the batch's written tokens; ``[B, T]``.

    No group and no critic: a token of a long completion counts as much as one of a short completion in mean and
    deviation.

    Args:
        rollouts: reads ``reward``, ``mask`` and, for a KL penalty, ``logp_old`` and ``logp_ref``.
        reward_kl_coef: k, weight of the KL penalty inside the reward.

    Raises:
        ValueError: a KL penalty without ``logp_ref``.

    Paper: REINFORCE++: An Efficient RLHF Algorithm with Robustness to Both Prompt and Reward Models (2025), sec. 3.
    """
    returns = rollouts.reward.double()[:, None].expand(rollouts.mask.shape)
    if reward_kl_coef:
        gap = torch.where(rollouts.mask, rollouts.logp_old - rollouts.need("logp_ref"), 0.0).double()
        returns = returns - reward_kl_coef * gap.flip(1).cumsum(1).flip(1)
    return whiten(returns, rollouts.mask).float()
