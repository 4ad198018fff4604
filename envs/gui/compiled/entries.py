"""Where the machine and the builder of screens can be called: compiled for C, and cached."""

from functools import cache
from typing import Any

from numba import carray, types  # type: ignore[attr-defined]
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature

from . import memory as w
from .jit import interpreted, stamped
from .machine import run
from .pages import refresh

MOST = 1 << 24
"""More instructions and constants than there are: C knows no lengths."""
_WORDS, _FLOATS = types.CPointer(types.int64), types.CPointer(types.float64)
_SIGNATURE = types.int64(_WORDS, _FLOATS, _WORDS, _WORDS, types.int64)


def _run(m, f, code, pool, pc):  # type: ignore[no-untyped-def]
    return run(carray(m, (w.WORDS,)), carray(f, (w.FLOATS,)), carray(code, (MOST, 3)), carray(pool, (MOST,)), pc)


def _refresh(m, f, code, pool, pc):  # type: ignore[no-untyped-def]
    refresh(carray(m, (w.WORDS,)), carray(f, (w.FLOATS,)), carray(code, (MOST, 3)), carray(pool, (MOST,)))
    return 0


_MADE: list[CFunc] = []
"""Kept, since their addresses are."""


@cache
def addresses() -> tuple[int, int]:
    """Of what runs bytecode, and of what builds a screen; zeros where nothing is compiled."""
    if interpreted():
        return 0, 0
    return _address(_run), _address(_refresh)


def _address(function: Any) -> int:
    """As ``numba.cfunc`` makes it, which would look into its cache before it could be told what to look at."""
    made = CFunc(function, normalize_signature(_SIGNATURE), {}, {})
    made.enable_caching()
    stamped(made).compile()
    _MADE.append(made)
    return int(made.address or 0)
