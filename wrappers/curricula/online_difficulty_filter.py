"""Online difficulty filtering: learn from groups of intermediate success rate only, as just sampled."""

import torch
from torch import Tensor

from ..components import Curriculum, Episodes


class OnlineDifficultyFilter(Curriculum):
    """Keeps a group if ``low <= share of it that succeeded <= high``; others cost sampling but are not learnt from.

    The expected improvement of a policy is bounded from below by the variance p (1 - p) of success, which is largest at
    p = 1/2; groups that all succeed or all fail teach a group-relative method nothing.

    Args:
        low: smallest kept success rate.
        high: largest kept success rate.

    Paper: Online Difficulty Filtering for Reasoning Oriented Reinforcement Learning (2025), balanced filtering. With
    bounds just inside 0 and 1 it is the dynamic sampling of DAPO (2025), eq. 11.
    """

    def __init__(self, *, low: float = 0.25, high: float = 0.75) -> None:
        if not 0 <= low <= high <= 1:
            raise ValueError(f"kept success rates need 0 <= low <= high <= 1, got {low} and {high}")
        self.low, self.high = low, high

    def keep(self, episodes: Episodes) -> Tensor:
        """The rows of the kept groups, bool ``[B]``."""
        _, index, size = torch.unique(episodes.group, return_inverse=True, return_counts=True)
        solved = torch.zeros_like(size, dtype=torch.float64).index_add_(0, index, episodes.info["success"].double())
        rate = solved / size
        kept: Tensor = (self.low <= rate) & (rate <= self.high)
        return kept[index]
