"""Online against offline alignment: what a policy earns for the distance that it has moved from the reference.

Two ways to train are compared at equal KL(pi || pi_ref), for one that moves further also over-optimises more:
:func:`frontier` is the best true score at any moment of training within a budget of KL.

Paper: Understanding the performance gap between online and offline alignment algorithms (2024), its sections on KL
divergence as a budget and on classification against generation.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..statistics import Floats


def kl(policy: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """KL(pi || pi_ref) in nats of every prompt, ``[...]``, of distributions ``[..., completions]``.

    Infinite where the policy writes what the reference never does.

    Raises:
        ValueError: other shapes, or rows that do not sum to 1.
    """
    ours, theirs = np.asarray(policy, np.float64), np.asarray(reference, np.float64)
    if ours.shape != theirs.shape or not all(np.allclose(one.sum(-1), 1) for one in (ours, theirs)):
        raise ValueError("give distributions of the same completions that sum to 1")
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(ours > 0, ours * (np.log(ours) - np.log(theirs)), 0.0)
    return np.asarray(terms.sum(-1))


def frontier(divergence: npt.ArrayLike, score: npt.ArrayLike, budgets: Sequence[float]) -> Floats:
    """The best score within each budget of KL, ``[budgets]``.

    Args:
        divergence: KL at each moment, ``[moments]``, of which one at least is within every budget (the start is 0).
        score: the true one at each, such as a win rate against the reference.
        budgets: in nats.

    Raises:
        ValueError: other shapes, or a budget below every moment's KL.
    """
    far, good = np.asarray(divergence, np.float64), np.asarray(score, np.float64)
    if far.shape != good.shape or far.ndim != 1 or not len(far):
        raise ValueError(f"give KL and score of every moment, got shapes {far.shape} and {good.shape}")
    if min(budgets) < far.min():
        raise ValueError(f"no moment is within a budget of {min(budgets)}: give the reference itself, at KL 0, as well")
    return np.array([good[far <= budget].max() for budget in budgets])


def classification_accuracy(log_ratio: npt.ArrayLike, preferred: npt.ArrayLike) -> float:
    """How often the policy's log-ratio to the reference ranks a pair as the judge does; equals count half.

    Args:
        log_ratio: log pi/pi_ref of the first completion minus that of the second, ``[pairs]``.
        preferred: whether the first is preferred, ``[pairs]`` bool.

    Raises:
        ValueError: other shapes.
    """
    gap, first = np.asarray(log_ratio, np.float64), np.asarray(preferred, bool)
    if gap.shape != first.shape or gap.ndim != 1 or not len(gap):
        raise ValueError("give a log-ratio and a preference for every pair")
    return float(np.where(gap == 0, 0.5, (gap > 0) == first).mean())
