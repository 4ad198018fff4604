"""Random numbers of n environments at once, decided by each environment's seed and by how often it has drawn."""

import secrets
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ...envs.seeding import mix, problem_keys

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Seeds = int | Sequence[int | None] | npt.NDArray[Any] | None

_STEP = np.uint64(0x9E3779B97F4A7C15)
ALL = np.ones(1, np.bool_)
"""The mask of a single environment."""


class EnvStreams:
    """A counter-based generator: environment i draws what it would draw alone, whatever the other environments do.

    Args:
        num_envs: number of environments.
        name: of who draws; others with the same seeds draw other numbers.
    """

    def __init__(self, num_envs: int, name: str) -> None:
        self._salt = np.uint64(crc32(name.encode()))
        self._seeds: Ints = np.array([secrets.randbits(31) for _ in range(num_envs)])
        self._drawn: Ints = np.zeros(num_envs, np.int64)

    def seed(self, seed: Seeds, mask: Bools) -> None:
        """Takes a reset's seeds where ``mask``; as in Gymnasium's vectors, an int seeds environment i with itself + i.

        Environments whose seed is None draw on.
        """
        if seed is None:
            return
        seeds = seed if isinstance(seed, Sequence | np.ndarray) else [seed + i for i in range(len(mask))]
        for index in np.flatnonzero(mask).tolist():
            if (own := seeds[index]) is not None:
                self._seeds[index], self._drawn[index] = own, 0

    def uniform(self, indices: Ints, size: int) -> Floats:
        """The next ``size`` numbers in [0, 1) of each environment, ``[k, size]``."""
        keys = problem_keys("train", mix(self._seeds[indices].astype(np.uint64)) ^ self._salt, self._drawn[indices])
        self._drawn[indices] += 1
        with np.errstate(over="ignore"):
            words = mix(keys[:, None] + _STEP * np.arange(1, size + 1, dtype=np.uint64))
        drawn: Floats = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return drawn

    def normal(self, indices: Ints, size: int) -> Floats:
        """The next ``size`` standard normal numbers of each environment, ``[k, size]`` (Box and Muller, 1958)."""
        first, second = np.split(self.uniform(indices, 2 * size), 2, axis=1)
        drawn: Floats = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
        return drawn


def reset_mask(options: dict[str, Any] | None, num_envs: int) -> Bools:
    """Which environments a vector's ``reset(options=...)`` resets: those of its ``reset_mask``, else all.

    To be asked before the vector is reset: Gymnasium's own take the mask out of the options.
    """
    mask = (options or {}).get("reset_mask")
    return np.ones(num_envs, np.bool_) if mask is None else np.array(mask, np.bool_)
