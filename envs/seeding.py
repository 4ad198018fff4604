"""How a seed becomes a problem: independent streams for each (split, seed, episode), never ``seed + index``.

Two mechanisms, one rule. Python code asks :func:`problem_rng` for a NumPy generator; compiled code asks
:func:`problem_keys` for 64-bit keys (thousands of generators a batch would cost more than the problems themselves).
Either way the streams of the train and the test split are different by construction, and adjacent seeds share nothing.

Environments whose problems are few enough to be drawn twice (Countdown with three small numbers) must also keep the
*problems* of the two splits apart: :func:`in_test_split` assigns every problem, by a hash of what it says, to one side.
"""

import secrets
from typing import Literal, get_args

import gymnasium
import numpy as np
import numpy.typing as npt

from .. import unknown

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
TEST_SHARE = 5  # one problem in five belongs to the test split

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

UInts = npt.NDArray[np.uint64]


def check_split(split: str) -> Split:
    """Returns ``split`` if it is ``"train"`` or ``"test"``; raises ``ValueError`` otherwise."""
    if split not in SPLITS:
        raise ValueError(unknown("split", split, SPLITS))
    return split


def fresh_seed() -> int:
    """A seed from the operating system's entropy, for a reset without one."""
    return secrets.randbits(31)


def check_seed(seed: object) -> int:
    """Returns ``seed`` if it is a non-negative integer below 2**63; raises ``gymnasium.error.Error`` otherwise."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise gymnasium.error.Error(f"a seed is a non-negative integer below 2**63, got {seed!r}")
    return int(seed)


def problem_rng(split: Split, seed: int, episode: int = 0) -> np.random.Generator:
    """The generator that decides one problem: the ``episode``-th after ``reset(seed=seed)`` in ``split``."""
    return generator(SPLITS.index(split), seed, episode)


def generator(*entries: int) -> np.random.Generator:
    """``np.random.default_rng(entries)``, but for entries of 2^32 and more, which NumPy splits into words.

    Its high word would stand where the next entry belongs: to NumPy ``[5 + 3 * 2**32, 0]`` is ``[5, 3]``. Here
    all low words come first, then all high ones and a 1, as NumPy ignores zeros at the end: lists of one length differ
    unless all their entries are equal.
    """
    if max(entries) < 2**32:
        return np.random.default_rng(entries)
    return np.random.default_rng([*(one % 2**32 for one in entries), *(one >> 32 for one in entries), 1])


def mix(x: UInts) -> UInts:
    """SplitMix64's finaliser, elementwise: a bijection of 64-bit words that makes every output bit hang on every input.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (2014), sec. 5 (mix variant 13).
    """
    with np.errstate(over="ignore"):
        return _mix(x)


def _mix(x: UInts) -> UInts:
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


def problem_keys(split: Split, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> UInts:
    """64-bit keys ``[n]`` of n problems, for compiled generators (start states of a SplitMix64 stream each).

    Args:
        split: "train" or "test".
        seeds: ``[n]`` non-negative integers.
        episodes: ``[n]`` non-negative integers.
    """
    with np.errstate(over="ignore"):
        key = _mix(np.asarray(seeds, dtype=np.uint64) + _GAMMA)
        key = _mix(key ^ (np.asarray(episodes, dtype=np.uint64) * _GAMMA + np.uint64(1)))
        return _mix(key + np.uint64(SPLITS.index(split) + 1) * _GAMMA)


def in_test_split(problem_hash: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether problems with these 64-bit hashes belong to the test split (a fixed fifth of all problems)."""
    in_test: npt.NDArray[np.bool_] = mix(np.asarray(problem_hash, dtype=np.uint64)) % np.uint64(TEST_SHARE) == 0
    return in_test
