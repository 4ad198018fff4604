"""Reasoning boundary: pass@k of a base and a trained policy up to large k, where they cross, and what each covers.

A policy that is better at k = 1 and worse at large k has become surer of what it could do before, and lost some of it.

    curves = [curve(n=1024, correct=counts, ks=KS) for counts in (base_counts, trained_counts)]
    crossover(*curves, KS)      # the k from which on the base is no worse, or None

Paper: Does Reinforcement Learning Really Incentivize Reasoning Capacity in LLMs Beyond the Base Model? (2025), sections
2.2 (the estimator of Chen et al. 2021) and 4 (coverage of problems, perplexity under the base).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..statistics import Band, Floats, mean_band, pass_at_k

KS = tuple(2**i for i in range(11))
"""1 to 1024."""


def curve(n: int, correct: npt.ArrayLike, ks: Sequence[int]) -> Floats:
    """pass@k of a policy, ``[ks]``: the mean over problems of the unbiased estimate.

    Args:
        n: completions of each problem.
        correct: how many of them are correct, ``[problems]``.
        ks: at most n each.

    Raises:
        ValueError: a k beyond 1 to n, or counts beyond 0 to n.
    """
    return np.array([float(np.mean(pass_at_k(n, correct, k))) for k in ks])


def exact_curve(success: npt.ArrayLike, ks: Sequence[int]) -> Floats:
    """pass@k where the probability of a correct completion of each problem is known, ``[problems]``: 1 - (1 - p)^k.

    Raises:
        ValueError: probabilities beyond 0 to 1.
    """
    chance = np.asarray(success, np.float64)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("probabilities of a correct completion lie between 0 and 1")
    return np.array([float((1 - (1 - chance) ** k).mean()) for k in ks])


def crossover(base: npt.ArrayLike, trained: npt.ArrayLike, ks: Sequence[int]) -> int | None:
    """The least k from which on the base's curve is nowhere below the trained one's, which was above it before.

    Args:
        base: pass@k, ``[ks]``.
        trained: the same of the trained policy.
        ks: ascending.

    Returns:
        None where training never led, or still leads at the largest k.

    Raises:
        ValueError: curves of other lengths than ks, or ks that do not ascend.
    """
    ours, theirs, at = np.asarray(base, np.float64), np.asarray(trained, np.float64), list(ks)
    if not ours.shape == theirs.shape == (len(at),) or at != sorted(set(at)):
        raise ValueError(f"give one value of each curve for each of the ascending k, got {ours.shape}, {theirs.shape}")
    leads = np.flatnonzero(theirs > ours)
    if not len(leads) or leads[-1] == len(at) - 1:
        return None
    return int(at[leads[-1] + 1])


@dataclass(frozen=True)
class Coverage:
    """Shares of problems that two policies solve at least once in their completions; they sum to 1."""

    both: float
    only_base: float
    only_trained: float
    neither: float


def coverage(base: npt.ArrayLike, trained: npt.ArrayLike) -> Coverage:
    """Which problems are solved by whom.

    Args:
        base: correct completions of each problem, ``[problems]``.
        trained: the same of the trained policy, of as many completions.

    Raises:
        ValueError: other numbers of problems.
    """
    ours, theirs = np.asarray(base) > 0, np.asarray(trained) > 0
    if ours.shape != theirs.shape or ours.ndim != 1 or not len(ours):
        raise ValueError(f"give the same problems for both policies, got shapes {ours.shape} and {theirs.shape}")
    parts = (ours & theirs, ours & ~theirs, ~ours & theirs, ~ours & ~theirs)
    return Coverage(*(float(part.mean()) for part in parts))


def lead(n: int, base: npt.ArrayLike, trained: npt.ArrayLike, ks: Sequence[int], *, rng: np.random.Generator) -> Band:
    """By how much the trained policy's pass@k leads, ``[ks]``, with a 95% bootstrap interval over problems.

    Problems are paired. Ends are NaN where all problems agree.

    Args:
        n: completions of each problem, of both policies.
        base: correct ones of each problem, ``[problems]``, three at least.
        trained: the same of the trained policy.
        ks: at most n each.
        rng: decides the resamples.

    Raises:
        ValueError: as :func:`curve`, or fewer than three problems.
    """
    each = [[pass_at_k(n, np.asarray(counts), k) for k in ks] for counts in (trained, base)]
    return mean_band(np.subtract(*map(np.array, each)).T, rng=rng)


def perplexity(logp: npt.ArrayLike, mask: npt.ArrayLike) -> Floats:
    """exp(-mean log-probability of a token) of completions, ``[B]``: of the trained policy's, under the base.

    Low values say that the base would have written them as well.

    Args:
        logp: of every token under the base, ``[B, T]``.
        mask: which of them are part of the completion, ``[B, T]``.

    Raises:
        ValueError: a completion without tokens, or other shapes.
    """
    values, written = np.asarray(logp, np.float64), np.asarray(mask, bool)
    if values.shape != written.shape or values.ndim != 2 or not written.any(1).all():
        raise ValueError("give log-probabilities and mask of the same shape [B, T], with a token in every row")
    return np.asarray(np.exp(-np.where(written, values, 0.0).sum(1) / written.sum(1)))
