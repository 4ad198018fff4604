"""Exact permutation tests of two sets of runs, and Holm's correction over a family of them.

With 8 runs a side there are 12,870 ways to divide 16 runs, all of which are looked at: under exchangeability a p-value
of at most alpha then comes up with a probability of at most alpha, whatever the distribution of scores is. Fewer than
four runs a side cannot give p below 0.05 (3 against 3: 0.1), and get no verdict.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

LEAST = 4
"""Runs a side below which there is no verdict."""
MOST_WAYS = 2_000_000
_ALL_WAYS, _SOME_WAYS, _AT_ONCE = 20_000, 4_000, 4_000_000


def exact_p(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Two-sided p-value of the difference of means under all ways to divide the runs.

    Args:
        a: one score a run, ``[n]``.
        b: of the other agent's runs, ``[m]``.

    Raises:
        ValueError: fewer than four runs a side, a score that is no number, or more than two million ways.

    >>> round(exact_p([5, 6, 7, 8], [1, 2, 3, 4]), 4)  # 2 of 70 ways are as extreme
    0.0286
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
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
        ValueError: fewer than four runs a side, or a score that is no number.
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    if comb(len(first) + len(second), len(first)) <= MOST_WAYS or not np.isfinite([*first, *second]).all():
        return exact_p(first, second)
    from scipy.stats import permutation_test

    def distance(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], axis: int) -> Any:
        return np.abs(x.mean(axis=axis) - y.mean(axis=axis))

    found = permutation_test(
        (first, second), distance, n_resamples=100_000, batch=10_000, alternative="greater", vectorized=True, rng=0
    )
    return float(found.pvalue)


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
    """
    values = np.array(list(p_values.values()) if isinstance(p_values, Mapping) else list(p_values), float)
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    adjusted = np.empty_like(values)
    adjusted[order] = stepped
    return [float(p) for p in adjusted]
