"""RewardBench 2: how well a reward model tells the best of four completions, by skill, and treats equal ones alike.

* :func:`best_of_n`: an item is scored 1 if the chosen completion has the highest reward; of several highest, one over
  how many there are. Chance is 1/4 with three rejected completions.
* :func:`ties`: items with several valid completions, each beside one of the same prompt with a single valid one. Valid
  completions must all be above the best invalid one, and spread less among each other than they are above it.

The benchmark's score is the mean over skills, ties among them.

Paper: RewardBench 2: Advancing Reward Model Evaluation (2025), section 3; exact ties and the weights of the ties score
(0.3, 0.3, 0.2, 0.2 and 0.01) are those of the authors' code.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..statistics import Floats

WEIGHTS = (0.3, 0.3, 0.2, 0.2, 0.01)
"""Of accuracy on ties and on references, of both margins, and of their size."""


def best_of_n(rewards: npt.ArrayLike) -> Floats:
    """The score of every item, ``[items]``, from 0 to 1.

    Args:
        rewards: of all completions, the chosen one first, ``[items, n]``.

    Raises:
        ValueError: another shape, fewer than two completions, or rewards that are not finite.
    """
    given = np.asarray(rewards, np.float64)
    if given.ndim != 2 or given.shape[1] < 2 or not len(given) or not np.isfinite(given).all():
        raise ValueError(f"rewards are finite and of shape [items, completions], chosen first; got {given.shape}")
    highest = given == given.max(1, keepdims=True)
    return np.where(highest[:, 0], 1 / highest.sum(1), 0.0)


class Item(NamedTuple):
    """Rewards of the completions of one prompt; of several valid ones, or of a single one."""

    valid: Sequence[float]
    invalid: Sequence[float]

    @property
    def spread(self) -> float:
        """Between the best and the worst valid completion."""
        return max(self.valid) - min(self.valid)

    @property
    def margin(self) -> float:
        """By how much the worst valid one is above the best invalid one."""
        return min(self.valid) - max(self.invalid)


def ties(tied: Sequence[Item], references: Sequence[Item]) -> float:
    """The score of the ties subset, at most 1.01.

    0.3 of the share of tied items whose valid completions are all above the invalid ones, 0.3 of that of references,
    0.2 of the share whose margin exceeds the spread of the tied valid ones, 0.2 of the share that still does so with
    the lesser of both margins, and 0.01 of the mean of tanh(margin / spread - 1) with that lesser margin.

    Args:
        tied: with several valid completions each.
        references: of the same prompts, in order, with one.

    Raises:
        ValueError: not as many of both, none at all, or items without valid or invalid completions.
    """
    if len(tied) != len(references) or not tied:
        raise ValueError(f"give a reference for every tied item, got {len(tied)} and {len(references)}")
    if any(not one.valid or not one.invalid for one in (*tied, *references)):
        raise ValueError("every item has valid and invalid completions")
    spread = np.array([one.spread for one in tied])
    margin, alone = (np.array([one.margin for one in several]) for several in (tied, references))
    lesser = np.minimum(margin, alone)
    size = np.tanh(np.divide(lesser, spread, out=np.full_like(lesser, np.inf), where=spread > 0) - 1)
    size = np.where((spread == 0) & (lesser <= 0), np.where(lesser < 0, -1.0, 0.0), size)
    parts = (margin > 0, alone > 0, margin > spread, lesser > spread, size)
    return float(sum(weight * np.mean(part) for weight, part in zip(WEIGHTS, parts, strict=True)))


def score(skills: Mapping[str, npt.ArrayLike], *, ties_score: float | None = None) -> float:
    """The benchmark's score: the mean over skills of the mean score of their items.

    Args:
        skills: rewards ``[items, n]`` by skill, as in :func:`best_of_n`.
        ties_score: of :func:`ties`, one more skill where it is given.

    Raises:
        ValueError: no skill, or rewards as in :func:`best_of_n`.
    """
    if not skills:
        raise ValueError("a benchmark has at least one skill")
    each = [float(best_of_n(rewards).mean()) for rewards in skills.values()]
    return float(np.mean(each if ties_score is None else [*each, ties_score]))
