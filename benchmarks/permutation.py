"""Exact permutation tests of two sets of runs, paired or not, and Holm's correction over a family of them.

With 8 runs a side there are 12,870 ways to divide 16 runs, all of which are looked at: under exchangeability a p-value
of at most alpha then comes up with a probability of at most alpha, whatever the distribution of scores is. Fewer than
four runs a side cannot give p below 0.05 (3 against 3: 0.1), and get no verdict.

Where runs of two agents are paired by their seed, the two runs of a pair are exchanged, which turns the sign of their
difference (Fisher's randomisation test): 12 pairs have 4,096 ways, and fewer than six cannot give p below 0.05.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

LEAST = 4
"""Runs a side below which there is no verdict."""
LEAST_PAIRS = 6
"""Pairs of runs below which there is no verdict: 2 of the 32 ways of five pairs are 0.0625."""
MOST_PAIRS = 20
"""Pairs of which all ways are looked at."""
MOST_WAYS = 2_000_000
_ALL_WAYS, _SOME_WAYS, _AT_ONCE = 20_000, 4_000, 4_000_000
_DRAWN = 100_000


def exact_p(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Two-sided p-value of the difference of means under all ways to divide the runs.

    Args:
        a: one score a run, ``[n]``.
        b: of the other agent's runs, ``[m]``.

    Raises:
        ValueError: not one score a run, fewer than four runs a side, a score that is no number, or more than two
            million ways.

    >>> round(exact_p([5, 6, 7, 8], [1, 2, 3, 4]), 4)  # 2 of 70 ways are as extreme
    0.0286
    """
    first, second = _one_each(a, "scores", "run"), _one_each(b, "scores", "run")
    if min(len(first), len(second)) < LEAST:
        raise ValueError(f"a verdict needs at least {LEAST} runs a side, got {len(first)} and {len(second)}")
    every = np.concatenate([first, second])
    if not np.isfinite(every).all():
        raise ValueError("scores must be finite numbers")
    n = len(first)
    ways = comb(len(every), n)
    if ways > MOST_WAYS:
        raise ValueError(f"{n} and {len(second)} runs can be divided in {ways:,} ways, more than {MOST_WAYS:,}")
    chosen = np.fromiter((i for one in combinations(range(len(every)), n) for i in one), np.int64, ways * n)
    sums = every[chosen.reshape(ways, n)].sum(1)
    distances = np.abs(sums / n - (every.sum() - sums) / len(second))
    return float(np.mean(distances >= abs(first.mean() - second.mean()) - 1e-12))


def permutation_p(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """:func:`exact_p`; where there are too many ways, of 100,000 random ones (Phipson and Smyth 2010), always the same.

    Raises:
        ValueError: not one score a run, fewer than four runs a side, or a score that is no number.
    """
    first, second = _one_each(a, "scores", "run"), _one_each(b, "scores", "run")
    if comb(len(first) + len(second), len(first)) <= MOST_WAYS or not np.isfinite([*first, *second]).all():
        return exact_p(first, second)
    from scipy.stats import permutation_test

    def distance(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], axis: int) -> Any:
        return np.abs(x.mean(axis=axis) - y.mean(axis=axis))

    found = permutation_test(
        (first, second), distance, n_resamples=100_000, batch=10_000, alternative="greater", vectorized=True, rng=0
    )
    return float(found.pvalue)


def _one_each(values: npt.ArrayLike, what: str, each: str) -> npt.NDArray[np.float64]:
    """An array of one axis; any other is refused, for its means would be over something else."""
    found = np.asarray(values, float)
    if found.ndim != 1:
        raise ValueError(
            f"{what} must be one number a {each}, got an array of shape {found.shape}: of [{each}s, tasks] give the "
            "mean over tasks"
        )
    return found


def sign_flip_p(differences: npt.ArrayLike) -> float:
    """Two-sided p-value of the mean difference of pairs under all ways to turn the signs of differences.

    It holds its level where the two runs of a pair are exchangeable if there is no difference, whatever pairs have in
    common and whatever the distribution is. Of more than 20 pairs it is of 100,000 random ways (Phipson and Smyth
    2010), always the same.

    Args:
        differences: one a pair, ``[n]``.

    Raises:
        ValueError: not one difference a pair, fewer than six pairs, or a difference that is no number.

    >>> sign_flip_p([1, 2, 3, 4, 5, 6])  # 2 of 64 ways are as extreme
    0.03125
    """
    values = _one_each(differences, "differences", "pair")
    if len(values) < LEAST_PAIRS:
        raise ValueError(f"a verdict needs at least {LEAST_PAIRS} pairs of runs, got {len(values)}")
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite numbers")
    observed = abs(values.sum()) - 1e-12 * np.abs(values).sum()
    if len(values) <= MOST_PAIRS:
        sums = values[:1]  # the first sign stands for both, for turning all signs changes no size
        for value in values[1:]:
            sums = np.concatenate([sums + value, sums - value])
        return float(np.mean(np.abs(sums) >= observed))
    rng = np.random.default_rng(0)
    sums = sum((value * rng.choice((-1.0, 1.0), _DRAWN) for value in values), np.zeros(_DRAWN))
    return float((np.sum(np.abs(sums) >= observed) + 1) / (_DRAWN + 1))


def sign_flip_ps(differences: npt.ArrayLike, *, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """p-values of many comparisons at once, for simulations: of differences ``[comparisons, n]``.

    Up to 20,000 ways are all looked at; of more, the same 4,000 random ones for all comparisons.
    """
    values = np.asarray(differences, float)
    n = values.shape[1]
    if 2 ** (n - 1) <= _ALL_WAYS:
        signs = 1.0 - 2.0 * ((np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1)
    else:
        signs = rng.choice((-1.0, 1.0), (_SOME_WAYS, n))
        signs[0] = 1.0
    size = max(1, _AT_ONCE // len(signs))
    found = []
    for i in range(0, len(values), size):
        some = values[i : i + size]
        found.append((np.abs(some @ signs.T) >= np.abs(some.sum(1))[:, None] - 1e-9).mean(1))
    return np.concatenate(found)


def permutation_ps(a: npt.ArrayLike, b: npt.ArrayLike, *, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """p-values of many comparisons at once, for simulations: of ``[comparisons, n]`` and ``[comparisons, m]``.

    Up to 20,000 ways are all looked at; of more, the same 4,000 random ones for all comparisons.
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    n, every = first.shape[1], np.concatenate([first, second], 1)
    taken = _divisions(n, every.shape[1], rng)
    rest = every.shape[1] - n
    total, size = every.sum(1), max(1, _AT_ONCE // len(taken))
    observed = np.abs(first.mean(1) - second.mean(1))
    found = []
    for i in range(0, len(every), size):
        sums = every[i : i + size] @ taken.T
        distances = np.abs(sums / n - (total[i : i + size, None] - sums) / rest)
        found.append((distances >= observed[i : i + size, None] - 1e-9).mean(1))
    return np.concatenate(found)


def _divisions(n: int, every: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Ways to choose ``n`` of all runs, 1 where chosen, ``[ways, every]``; the first is the observed one."""
    ways = comb(every, n)
    if ways <= _ALL_WAYS:
        chosen = np.fromiter((i for one in combinations(range(every), n) for i in one), np.int64, ways * n)
        chosen = chosen.reshape(ways, n)
    else:
        chosen = np.argsort(rng.random((_SOME_WAYS, every)), 1)[:, :n]
        chosen[0] = np.arange(n)
    taken = np.zeros((len(chosen), every))
    np.put_along_axis(taken, chosen, 1.0, 1)
    return taken


def holm(p_values: Mapping[Any, float] | Sequence[float]) -> list[float]:
    """Adjusted p-values of a family, in its order; one of them is falsely below alpha at most that often (Holm 1979).

    The p-values 0.01, 0.04 and 0.03 become 0.03, 0.06 and 0.06.

    Raises:
        ValueError: a p-value outside [0, 1], or NaN.
    """
    values = np.array(list(p_values.values()) if isinstance(p_values, Mapping) else list(p_values), float)
    if wrong := [float(p) for p in values.ravel() if not 0.0 <= p <= 1.0]:
        raise ValueError(f"p-values must lie between 0 and 1, got {wrong[0]:g}")
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    adjusted = np.empty_like(values)
    adjusted[order] = stepped
    return [float(p) for p in adjusted]
