"""RewardMATH: a reward model against many incorrect solutions of the same style, in place of one of another style.

Each problem has one correct solution and several incorrect ones (nine in the paper). Accuracy asks for the correct one
to be above all of them (chance 1/10), the mean reciprocal rank for how near it comes (chance 0.2929).

Paper: Evaluating Robustness of Reward Models for Mathematical Reasoning (2024), section 3.
"""

import numpy as np
import numpy.typing as npt

from ..statistics import Floats


def accuracy(rewards: npt.ArrayLike) -> float:
    """The share of problems whose correct solution is above every incorrect one; a tie is not.

    Args:
        rewards: the correct solution first, ``[problems, solutions]``.

    Raises:
        ValueError: another shape, fewer than two solutions, or rewards that are not finite.
    """
    return float((_ranks(rewards) == 1).mean())


def reciprocal_rank(rewards: npt.ArrayLike) -> float:
    """The mean over problems of 1 / rank of the correct solution; those that tie with it are counted above it.

    Args:
        rewards: as in :func:`accuracy`.

    Raises:
        ValueError: likewise.
    """
    return float((1 / _ranks(rewards)).mean())


def pairwise(rewards: npt.ArrayLike) -> float:
    """The share of pairs of the correct and one incorrect solution that are ranked right: what it is compared with.

    Args:
        rewards: as in :func:`accuracy`; with one incorrect solution each this is its accuracy.

    Raises:
        ValueError: likewise.
    """
    given = _checked(rewards)
    return float((given[:, :1] > given[:, 1:]).mean())


def _ranks(rewards: npt.ArrayLike) -> Floats:
    given = _checked(rewards)
    return np.asarray(1.0 + (given[:, 1:] >= given[:, :1]).sum(1))


def _checked(rewards: npt.ArrayLike) -> Floats:
    given = np.asarray(rewards, np.float64)
    if given.ndim != 2 or given.shape[1] < 2 or not len(given) or not np.isfinite(given).all():
        raise ValueError(f"rewards are finite and of shape [problems, solutions], correct first; got {given.shape}")
    return given
