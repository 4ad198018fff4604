"""The one way this package compiles: numba, cached on disk, without the GIL, IEEE arithmetic in the order written.

No ``fastmath`` and no reductions across environments: a result must not depend on how many are stepped together.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

from ..numba_cache import guarded, stamp_of

P = ParamSpec("P")
T = TypeVar("T")

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_PACKAGE = Path(__file__).resolve().parent


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compiles ``function`` at its first call; its ``.py_func`` is the plain function.

    Its disk cache is stamped with the sources of its module and of all that it imports from this package, and filled by
    one process at a time.
    """
    stamp = stamp_of(Path(function.__code__.co_filename).resolve(), _PACKAGE)
    return cast(Callable[P, T], guarded(njit(cache=True, nogil=True, error_model="numpy")(function), stamp))


@compiled
def uniform(stream: Any, low: float, high: float) -> float:
    """The next number of a SplitMix64 stream, uniform in ``[low, high)``.

    Args:
        stream: ``[1]`` uint64, the state; advanced in place.
        low: lower end.
        high: upper end.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (2014), sec. 5.
    """
    stream[0] += _GAMMA
    x = stream[0]
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    x = x ^ (x >> np.uint64(31))
    share: float = (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return low + (high - low) * share
