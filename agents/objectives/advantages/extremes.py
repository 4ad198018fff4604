"""The best and the worst answers of a group, marked for a loss of pairs."""

from torch import Tensor

from ...language.rollouts import Rollouts
from ..ops import group_max


def extremes(rollouts: Rollouts) -> Tensor:
    """1 for the answers of the group's highest reward, -1 for those of its lowest, 0 for others; ``[B]``.

    A group whose answers all earned the same has no pair: 0.

    Paper: SimPO: Simple Preference Optimization with a Reference-Free Reward (2024), sec. 3 (its instruct setting pairs
    the best and the worst of five answers; where several share that place, all of them stand here).
    """
    reward = rollouts.reward
    best, worst = group_max(reward, rollouts.group), -group_max(-reward, rollouts.group)
    return (reward == best).float() - (reward == worst).float()
