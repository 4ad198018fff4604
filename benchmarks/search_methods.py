"""Budgets of a search for hyperparameters: how many trials begin, with how much of the budget, and which go on.

Paper of Hyperband: Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization (2018), algorithm
1. With factor 3 and three levels its brackets are nine trials from a ninth of the budget on, five from a third on and
three at all of it.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, Protocol

import numpy as np

Method = Literal["random", "tpe", "hyperband"]
FACTOR, LEVELS = 3, 3

Scores = tuple[float, ...]
"""Of a trial, one a seed."""
Score = Callable[[Mapping[int, tuple[int, Sequence[int]]]], Mapping[int, Mapping[int, Scores]]]
"""Runs trials: level and numbers by condition to scores by condition and number."""


@dataclass(frozen=True)
class Bracket:
    """Trials that begin together.

    Attributes:
        size: how many.
        shares: of the budget, ascending to 1; after each, one in :data:`FACTOR` goes on.
    """

    size: int
    shares: tuple[float, ...] = (1.0,)

    def kept(self, scores: Mapping[int, Scores], at: int, of: int) -> list[int]:
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
        return sorted(_ranked(scores)[:most])


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


class Trials(Protocol):
    """What a search keeps of the trials of one condition."""

    @property
    def diverged(self) -> Container[int]:
        """Those that failed."""

    def tell(self, number: int, scores: Scores, share: float, *, over: bool) -> None:
        """Takes the scores of a trial at a share of the budget, and whether it is over."""


def climb(bracket: Bracket, numbers: Sequence[int], conditions: Sequence[Trials], score: Score) -> None:
    """One bracket of every condition: all its trials at the first share of the budget, the best at the next ones.

    Where none reaches the end, because all that went on diverged, the best of those given up go on in their place.

    Args:
        bracket: which shares, and how many go on.
        numbers: of its trials.
        conditions: which are told the scores.
        score: gives, by condition, the scores of those trials of a level that did not diverge.
    """
    levels: list[list[dict[int, Scores]]] = [[{} for _ in bracket.shares] for _ in conditions]
    going = {i: (0, list(numbers)) for i in range(len(conditions))}
    while going:
        scored = score(going)
        for i, (at, those) in going.items():
            levels[i][at] |= scored[i]
            kept, share = bracket.kept(scored[i], at, len(those)), bracket.shares[at]
            for number, scores in scored[i].items():
                conditions[i].tell(number, scores, share, over=share == 1 or number not in kept)
            going[i] = (at + 1, kept) if kept else _instead(levels[i], conditions[i].diverged)
        going = {i: (at, those) for i, (at, those) in going.items() if those}


def _instead(levels: Sequence[Mapping[int, Scores]], diverged: Container[int]) -> tuple[int, list[int]]:
    """The trial that goes on, and to which level, where none has ended the last one: the best of the highest level."""
    if not levels[-1]:
        for at in range(len(levels) - 2, -1, -1):
            left = [number for number in levels[at] if number not in levels[at + 1] and number not in diverged]
            if left:
                return at + 1, [_ranked({number: levels[at][number] for number in left})[0]]
    return len(levels), []


def _ranked(scores: Mapping[int, Scores]) -> list[int]:
    """Trials by their mean score, the highest first; of equals the first."""
    return sorted(scores, key=lambda number: (-float(np.mean(scores[number])), number))
