"""Random processes of 64 actions that vary smoothly along a line, and how finely these are grouped to learn them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from ..action_grouping import Discounted, chosen, intervals, learn
from ..statistics import Floats

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Groups of the candidates."""
TUNING = 1000
"""Seeds from here on tell which grouping is best for each budget; no result comes from them."""


def smooth(rng: np.random.Generator, *, states: int, actions: int, anchors: int, gamma: float) -> Discounted:
    """Kernels and rewards of a few anchors on a line, and of the actions between them their linear interpolation."""
    transitions, rewards = rng.dirichlet(np.full(states, 0.3), (states, anchors)), rng.random((states, anchors))
    place = np.linspace(0, anchors - 1, actions)
    weights = np.maximum(1 - np.abs(place[:, None] - np.arange(anchors)), 0)  # [A, anchors]
    mixed = np.einsum("ak,skt->sat", weights, transitions)
    return Discounted(mixed, np.clip(rewards @ weights.T, 0, 1), gamma)


Strategy = Callable[["GroupedActions", Discounted, int], int]
"""From a process and a budget of samples to an index of :data:`SIZES`."""


def by_bound(bed: "GroupedActions", mdp: Discounted, samples: int) -> int:
    """The least bound of the loss."""
    return chosen([intervals(bed.actions, size) for size in SIZES], mdp, samples=samples, scale=bed.scale)


def ungrouped(bed: "GroupedActions", mdp: Discounted, samples: int) -> int:
    """Each action by itself."""
    return len(SIZES) - 1


def always_coarse(bed: "GroupedActions", mdp: Discounted, samples: int) -> int:
    """What is best for the smallest budget, whatever the budget."""
    return int(bed.best()[0])


def in_hindsight(bed: "GroupedActions", mdp: Discounted, samples: int) -> int:
    """What is best for the budget, on other processes."""
    return int(bed.best()[bed.budgets.index(samples)])


@dataclass(frozen=True, kw_only=True)
class GroupedActions:
    """The testbed.

    Attributes:
        states: of a process.
        actions: of a process.
        anchors: see :func:`smooth`.
        gamma: discount.
        budgets: samples in all.
        repeats: learnt models whose scores are averaged.
        scale: of the bound's estimation error.
        tuning: processes that say which grouping is best.
    """

    states: int = 8
    actions: int = 64
    anchors: int = 4
    gamma: float = 0.9
    budgets: tuple[int, ...] = (128, 512, 2048, 8192, 32768)
    repeats: int = 8
    scale: float = 0.3
    tuning: int = 20

    def process(self, seed: int) -> Discounted:
        """Of a seed."""
        size = {"states": self.states, "actions": self.actions, "anchors": self.anchors}
        return smooth(np.random.default_rng([2306, seed]), **size, gamma=self.gamma)

    def score(self, mdp: Discounted, size: int, samples: int, seed: int) -> float:
        """Mean value of what is learnt with so many groups: 0 for acting at random, 1 for acting best."""
        idle = mdp.values(np.full(mdp.rewards.shape, 1 / self.actions)).mean()
        best = mdp.values(np.eye(self.actions)[mdp.optimal()]).mean()
        rng, groups = np.random.default_rng([2306, seed, size, samples]), intervals(self.actions, size)
        found = [mdp.values(learn(mdp, groups, samples=samples, rng=rng)).mean() for _ in range(self.repeats)]
        return float((np.mean(found) - idle) / (best - idle))

    @lru_cache(maxsize=4)  # noqa: B019 (frozen, and few)
    def table(self) -> Floats:
        """Mean scores ``[budgets, sizes]`` of the tuning seeds."""
        rows = []
        for seed in range(TUNING, TUNING + self.tuning):
            mdp = self.process(seed)
            rows.append([[self.score(mdp, size, budget, seed) for size in SIZES] for budget in self.budgets])
        return np.asarray(np.mean(rows, axis=0))

    def best(self) -> Floats:
        """The index of the best size for each budget, ``[budgets]``, on the tuning seeds."""
        return np.asarray(self.table().argmax(axis=1))

    def run(self, condition: Strategy, rate: float, seed: int) -> Floats:
        """Scores ``[budgets]`` of a strategy; there is no learning rate."""
        mdp = self.process(seed)
        return np.array([self.score(mdp, SIZES[condition(self, mdp, n)], n, seed) for n in self.budgets])

    def smallest(self) -> Self:
        """Two budgets, two processes."""
        return replace(self, budgets=self.budgets[::4], repeats=1, tuning=2)
