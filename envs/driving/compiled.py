"""The one way this package compiles: numba, cached on disk, without the GIL, IEEE arithmetic in the order written.

No ``fastmath`` and no reductions across environments: a result must not depend on how many are stepped together.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numba import njit, types
from numba.core.sigutils import normalize_signature

from ..numba_cache import guarded, stamp_of

P = ParamSpec("P")
T = TypeVar("T")

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_MAKERS = {"empty", "zeros", "ones", "full", "arange", "array", "copy", "astype"}
_PACKAGE = Path(__file__).resolve().parent


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compiles ``function`` at its first call; its ``.py_func`` is the plain function.

    A function that :func:`borrows` its arrays does not count references to them: the counters are atomic, and small
    functions that pass arrays on spent three fifths of a tick of traffic on them. Its disk cache is stamped with the
    sources of its module and of all that it imports from this package, and filled by one process at a time.
    """
    return _compile(function)


def merged(function: Callable[P, T]) -> Callable[P, T]:
    """As :func:`compiled`, for a large function of few callers: it is compiled as a part of these, not by itself.

    LLVM goes through a function once more in every function that calls it, directly or not.
    """
    return _compile(function, inline="always")


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """As :func:`compiled`, for small functions of the innermost loop: their arrays are not copied to the stack."""
    return _compile(function, forceinline=True)


def _compile(function: Callable[P, T], *, inline: str = "never", forceinline: bool = False) -> Callable[P, T]:
    stamp = stamp_of(Path(function.__code__.co_filename).resolve(), _PACKAGE)
    counts = not borrows(function)
    # What is not said here, a function would take over from the one that is compiled when it is first called.
    options: dict[str, Any] = {"no_cfunc_wrapper": True, "_nrt": counts, "inline": inline, "forceinline": forceinline}
    made = guarded(njit(cache=True, nogil=True, error_model="numpy", **options)(function), stamp)
    made.compile = partial(_for_wide_integers, made.compile)
    return cast(Callable[P, T], made)


def _for_wide_integers(compiling: Callable[[Any], Any], signature: Any) -> Any:
    """Compiles for 64-bit integers where narrower ones or constants are given, which numba converts at the call.

    Fields of records have 16 and 32 bits, and numba would compile a function, and all that it calls, for each of them.
    """
    arguments, _ = normalize_signature(signature)
    return compiling(tuple(wide(one) for one in arguments))


def wide(kind: Any) -> Any:
    """The type for which an argument of type ``kind`` is compiled: of a constant, any; of a signed integer, 64 bits."""
    plain = types.unliteral(kind)
    return types.int64 if plain in types.signed_domain else plain


def borrows(function: Callable[..., Any]) -> bool:
    """Whether a function neither makes arrays nor returns any, so that its caller's references outlast its own.

    By its annotations, which all functions here have, and the names of numpy's functions in it. What makes an array in
    another way, such as by ``a + b`` of two arrays, does not compile then.
    """
    returned = get_type_hints(function).get("return")
    parts = get_args(returned) if get_origin(returned) is tuple else (returned,)
    return set(parts) <= {bool, int, float, type(None)} and not _MAKERS & set(function.__code__.co_names)


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
