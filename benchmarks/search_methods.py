"""Budgets of a search for hyperparameters: how many trials begin, with how much of the budget, and which go on.

Paper of Hyperband: Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization (2018), algorithm
1. With factor 3 and three levels its brackets are nine trials from a ninth of the budget on, five from a third on and
three at all of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

Method = Literal["random", "tpe", "hyperband"]
FACTOR, LEVELS = 3, 3


@dataclass(frozen=True)
class Bracket:
    """Trials that begin together.

    Attributes:
        size: how many.
        shares: of the budget, ascending to 1; after each, one in :data:`FACTOR` goes on.
    """

    size: int
    shares: tuple[float, ...] = (1.0,)

    def kept(self, scores: Mapping[int, tuple[float, ...]], at: int, of: int) -> list[int]:
        """The trials that go on from level ``at``: those of the highest mean score, at least one; of equals the first.

        None from the last level.

        Args:
            scores: by trial, without those that failed.
            at: the level.
            of: trials of the level, with those that failed.
        """
        if at == len(self.shares) - 1:
            return []
        most = max(1, of // FACTOR)
        ranked = sorted(scores, key=lambda number: (-float(np.mean(scores[number])), number))
        return sorted(ranked[:most])


def brackets(method: Method, trials: int) -> Iterator[Bracket]:
    """The brackets of a search with so many trials: one for random search, one a trial for TPE.

    Hyperband's are filled in order, from the most to the least that is given up early, and around again.
    """
    if method == "random":
        yield Bracket(trials)
    elif method == "tpe":
        yield from (Bracket(1) for _ in range(trials))
    else:
        left, level = trials, LEVELS - 1
        while left:
            size = min(left, ceil(LEVELS * FACTOR**level / (level + 1)))
            yield Bracket(size, tuple(FACTOR**-one if one else 1.0 for one in range(level, -1, -1)))
            left, level = left - size, (level - 1) % LEVELS
