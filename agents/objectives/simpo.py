"""SimPO: reference-free preference loss on mean log-probabilities with a target margin."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import group_max, group_sum, masked_mean


def advantage(rollouts: Rollouts) -> Tensor:
    """1 for the answers of the group's highest reward, -1 for those of its lowest, 0 for others; ``[B]``.

    A group whose answers all earned the same has no pair: 0.

    Paper: SimPO: Simple Preference Optimization with a Reference-Free Reward (2024), sec. 3 (its instruct setting pairs
    the best and the worst of five answers; where several share that place, all of them stand here).
    """
    reward = rollouts.reward
    best, worst = group_max(reward, rollouts.group), -group_max(-reward, rollouts.group)
    return (reward == best).float() - (reward == worst).float()


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, beta: float = 2.0, margin: float = 1.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """-log sigmoid(beta m_w - beta m_l - margin), m an answer's mean logp, averaged over a group's pairs; ``[B, T]``.

    Winners are the rows with A > 0, losers those with A < 0. Each of them carries its group's loss, on all its tokens,
    so that the mean over tokens and rows is the mean over groups. Groups must be whole.

    Args:
        rollouts: reads ``group`` and ``mask``.
        advantage: ``[B]``, from :func:`advantage`.
        policy_out: reads ``logp``.
        beta: scale of the rewards.
        margin: by which a winner should win; the paper's gamma.

    Paper: SimPO: Simple Preference Optimization with a Reference-Free Reward (2024), eq. 6.
    """
    mask, group = rollouts.mask, rollouts.group
    reward = beta * masked_mean(policy_out.logp, mask, 1)
    gap = reward[:, None] - reward[None, :]
    pair = (advantage[:, None] > 0) & (advantage[None, :] < 0) & (group[:, None] == group[None, :])
    losses = torch.where(pair, -F.logsigmoid(gap - margin), 0.0)
    pairs = group_sum(pair.sum(1).double(), group).clamp(min=1)
    carried = torch.where(advantage != 0, group_sum(losses.sum(1).double(), group) / pairs, 0.0).float()
    right = (gap.detach() > 0) & pair
    return carried[:, None].expand(mask.shape), {"ranking_accuracy": right.sum() / pair.sum().clamp(min=1)}
