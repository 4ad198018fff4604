"""Two numbers that say what a dataset is good for: trajectory quality (TQ) and state-action coverage (SACo).

``TQ(D) = (g(D) - g_min) / (g_max - g_min)``, g the mean undiscounted return of D's episodes, g_min a random policy's
and g_max an expert's; ``SACo(D) = u(D) / u(D_ref)``, u the number of different state-action pairs and D_ref the replay
of an online training, of equal size.

Numbers that are not discrete are counted in cells, equally wide in each column between the reference's least and
greatest value (what lies beyond falls into the outer cells). The authors' code makes 100 of them, in environments of
few state variables; in more dimensions so fine a cell holds one pair, and SACo is 1 whatever the data: of 8000 pairs
each of our Hopper's random policy and of its expert, 8000 and 7735 differ in 100 cells a column, 5883 and 456 in 5
(HalfCheetah: 8000 and 8000, 8000 and 1370). Hence our default.

Paper: A Dataset Perspective on Offline Reinforcement Learning (2022), sec. 3. HyperLogLog: Flajolet et al. (2007).
"""

import numpy as np
import numpy.typing as npt

from ...envs.seeding import mix

Floats = npt.NDArray[np.floating]
Cells = npt.NDArray[np.uint8]

BINS = 5
_INDEX_BITS = 15
"""2^15 registers: a standard error of 1.04 / sqrt(2^15) = 0.6%."""


def trajectory_quality(returns: npt.ArrayLike, *, random: float, expert: float) -> float:
    """TQ of a dataset with these episode returns ``[E]``.

    >>> trajectory_quality([0.0, 50.0, 100.0], random=10.0, expert=90.0)
    0.5
    """
    return float((np.mean(np.asarray(returns, np.float64)) - random) / (expert - random))


def state_action_coverage(pairs: Floats, reference: Floats, *, bins: int = BINS, approximate: bool = False) -> float:
    """SACo of a dataset relative to a reference.

    Args:
        pairs: ``[N, d]``, observations beside actions.
        reference: ``[M, d]``; the paper has M = N, and unequal sizes are compared as they are.
        bins: cells a column, at most 256.
        approximate: whether to count with HyperLogLog (within 2%), in constant memory.
    """
    low, high = reference.min(axis=0), reference.max(axis=0)
    count = approximate_unique if approximate else unique
    return count(cells(pairs, low, high, bins)) / count(cells(reference, low, high, bins))


def cells(pairs: Floats, low: Floats, high: Floats, bins: int = BINS) -> Cells:
    """The cell ``[N, d]`` of each pair in a grid of ``bins`` equal cells a column between ``low`` and ``high`` ``[d]``.

    Raises:
        ValueError: fewer than 1 or more than 256 cells.
    """
    if not 1 <= bins <= 256:
        raise ValueError(f"a column has 1 to 256 cells, got {bins}")
    width = np.where(high > low, high - low, 1.0)
    found: Cells = np.clip((pairs - low) / width * bins, 0, bins - 1).astype(np.uint8)
    return found


def unique(rows: Cells) -> int:
    """How many different rows there are, exactly."""
    rows = np.ascontiguousarray(rows)
    return len(np.unique(rows.view(np.dtype((np.void, rows.shape[1])))))


def approximate_unique(rows: Cells) -> int:
    """How many different rows there are, by HyperLogLog: the more of them, the rarer the rarest hash.

    ``u = a m^2 / sum_j 2^-M_j``, M_j the greatest number of leading zeros, plus 1, among the hashes whose first bits
    are j; below 2.5 m, ``m ln(m / empty registers)``.
    """
    m, tail = 1 << _INDEX_BITS, 64 - _INDEX_BITS
    hashed = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        hashed = mix(hashed * np.uint64(0x9E3779B97F4A7C15) + column + np.uint64(1))
    rest = (hashed & np.uint64((1 << tail) - 1)).astype(np.float64)  # 49 bits: exact
    zeros = tail - np.frexp(rest)[1]
    registers = np.zeros(m, np.int64)
    np.maximum.at(registers, (hashed >> np.uint64(tail)).astype(np.int64), zeros + 1)
    estimate = 0.7213 / (1 + 1.079 / m) * m * m / np.sum(2.0**-registers)
    empty = int((registers == 0).sum())
    return int(round(m * np.log(m / empty)) if estimate <= 2.5 * m and empty else round(estimate))
