"""ReMax's baseline: the reward of the greedy completion."""

from dataclasses import replace

import torch

from ..collect import appended
from ..context import Context
from ..rollouts import Rollouts
from ..samplers.groups import graded_like
from .base import Provider


class Greedy(Provider):
    """``Rollouts.baseline``: the greedy completion of each problem is graded, and its reward shaped, like any other.

    Paper: ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large Language Models
    (2023), algorithm 1.
    """

    def extend(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With the greedy completion of each group's first prompt."""
        return appended(rollouts, graded_like(rollouts, context, deterministic=True), "greedy")

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """The sampled rows, with ``baseline``."""
        greedy = rollouts.info["greedy"]
        best, kept = rollouts.take(greedy), rollouts.take(~greedy)
        place = torch.searchsorted(best.group, kept.group)
        info = {name: column for name, column in kept.info.items() if name != "greedy"}
        extra = kept.extra if kept.extra is not None and kept.extra.any() else None
        return replace(kept, baseline=best.reward[place], info=info, extra=extra)
