"""Preference pairs in groups of completions: every best one against every worst one."""

from torch import Tensor

from ...language.rollouts import Rollouts
from .ops import group_max, group_sum


def preference_pairs(rollouts: Rollouts) -> Tensor:
    """Weights of chosen completions (above 0), of rejected ones (below 0) and of others (0); ``[B]``.

    Chosen are those of the group's highest reward, rejected those of its lowest; stored pairs are groups of two. Of L
    groups with both, each of n chosen completions of one weighs B / (L n), each of n rejected -B / (L n), so that the
    mean over rows of |weight| / 2 times a group's loss is the mean over these groups. A group of equal rewards has no
    pair.
    """
    reward, group = rollouts.reward, rollouts.group
    best, worst = reward == group_max(reward, group), reward == -group_max(-reward, group)
    paired = best != worst  # in a group of equal rewards every completion is both
    sides = [(side & paired).double() for side in (best, worst)]
    shares = [side / group_sum(side, group).clamp(min=1) for side in sides]
    groups = shares[0].sum().clamp(min=1)
    return (len(reward) / groups * (shares[0] - shares[1])).float()
