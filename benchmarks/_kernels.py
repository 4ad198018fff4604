"""The compiled inner loops of :mod:`tiltyard.benchmarks.statistics`: stratified resampling that sorts only once.

Resample number r of a ``[runs, tasks]`` matrix draws, for each task, ``runs`` run indices with replacement. Its draws
come from SplitMix64 started at a state that hangs only on (key, r), so a result never depends on threads, chunks or the
number of resamples. Trimmed means come from counting: the cells are sorted once, each resample only counts how often
every sorted cell was drawn and walks those counts.
"""

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)


@numba.njit(cache=True, inline="always")
def _mix(x: np.uint64) -> np.uint64:
    """SplitMix64's finaliser (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True)
def _draw(key: np.uint64, resample: int, runs: int, out: Ints) -> None:
    """Fills ``out`` with indices in [0, runs), two from each 64-bit word (bias below runs / 2**32)."""
    state = _mix(key + np.uint64(resample) * _GAMMA)
    bound = np.uint64(runs)
    for pair in range(len(out) // 2):
        state += _GAMMA
        word = _mix(state)
        out[2 * pair] = np.int64(((word & _LOW) * bound) >> np.uint64(32))
        out[2 * pair + 1] = np.int64(((word >> np.uint64(32)) * bound) >> np.uint64(32))
    if len(out) % 2:
        out[-1] = np.int64(((_mix(state + _GAMMA) & _LOW) * bound) >> np.uint64(32))


@numba.njit(cache=True)
def picks(key: np.uint64, first: int, count: int, runs: int, tasks: int) -> Ints:
    """Run indices ``[count, tasks, runs]`` of resamples ``first`` to ``first + count - 1``."""
    out = np.empty((count, tasks, runs), np.int64)
    for r in range(count):
        _draw(key, first + r, runs, out[r].reshape(tasks * runs))
    return out


@numba.njit(cache=True)
def trimmed_means(ordered: Floats, rank: Ints, runs: int, cut: int, resamples: int, key: np.uint64) -> Floats:
    """Mean of each resample's cells without the ``cut`` lowest and highest.

    Args:
        ordered: all cells, sorted ``[cells]``.
        rank: where task t's run i sits in ``ordered``, at ``[t * runs + i]``.
        runs: rows of the matrix.
        cut: cells dropped at each end.
        resamples: how many.
        key: of the random streams.
    """
    cells = len(ordered)
    counts = np.zeros(cells, np.int64)
    drawn = np.empty(cells, np.int64)
    out = np.empty(resamples)
    for r in range(resamples):
        _draw(key, r, runs, drawn)
        for start in range(0, cells, runs):
            for i in range(start, start + runs):
                counts[rank[start + drawn[i]]] += 1
        total, skip, left = 0.0, cut, cells - 2 * cut
        for i in range(cells):
            taken = min(max(counts[i] - skip, 0), left)
            skip = max(skip - counts[i], 0)
            left -= taken
            total += taken * ordered[i]
            counts[i] = 0
        out[r] = total / (cells - 2 * cut)
    return out


@numba.njit(cache=True)
def task_means(columns: Floats, resamples: int, key: np.uint64) -> Floats:
    """Each resample's mean per task ``[resamples, tasks]`` of ``columns`` ``[tasks, runs]``."""
    tasks, runs = columns.shape
    drawn = np.empty(tasks * runs, np.int64)
    out = np.empty((resamples, tasks))
    for r in range(resamples):
        _draw(key, r, runs, drawn)
        for t in range(tasks):
            total = 0.0
            for i in range(t * runs, (t + 1) * runs):
                total += columns[t, drawn[i]]
            out[r, t] = total / runs
    return out


@numba.njit(cache=True)
def improvements(wins: Floats, resamples: int, key_a: np.uint64, key_b: np.uint64) -> Floats:
    """Each resample's probability of improvement, both sides resampled independently.

    Args:
        wins: 1, 1/2 or 0 where run i of a beats, ties or loses to run j of b on task t, ``[tasks, runs_a, runs_b]``.
        resamples: how many.
        key_a: of the random streams of a.
        key_b: of the random streams of b.
    """
    tasks, runs_a, runs_b = wins.shape
    drawn_a, drawn_b = np.empty(tasks * runs_a, np.int64), np.empty(tasks * runs_b, np.int64)
    counts = np.empty(runs_b)
    out = np.empty(resamples)
    for r in range(resamples):
        _draw(key_a, r, runs_a, drawn_a)
        _draw(key_b, r, runs_b, drawn_b)
        total = 0.0
        for t in range(tasks):
            counts[:] = 0.0
            for j in range(t * runs_b, (t + 1) * runs_b):
                counts[drawn_b[j]] += 1.0
            for i in range(t * runs_a, (t + 1) * runs_a):
                row = wins[t, drawn_a[i]]
                for j in range(runs_b):
                    total += counts[j] * row[j]
        out[r] = total / (tasks * runs_a * runs_b)
    return out


@numba.njit(cache=True)
def profiles(passed: Ints, runs: int, thresholds: int, resamples: int, key: np.uint64) -> Floats:
    """Each resample's performance profile ``[resamples, thresholds]``.

    Args:
        passed: how many of the sorted thresholds task t's run i exceeds, at ``[t * runs + i]``.
        runs: rows of the matrix.
        thresholds: how many.
        resamples: how many.
        key: of the random streams.
    """
    cells = len(passed)
    drawn = np.empty(cells, np.int64)
    counts = np.zeros(thresholds + 1, np.int64)
    out = np.empty((resamples, thresholds))
    for r in range(resamples):
        _draw(key, r, runs, drawn)
        for start in range(0, cells, runs):
            for i in range(start, start + runs):
                counts[passed[start + drawn[i]]] += 1
        above = 0
        for k in range(thresholds, 0, -1):
            above += counts[k]
            out[r, k - 1] = above / cells
        counts[:] = 0
    return out
