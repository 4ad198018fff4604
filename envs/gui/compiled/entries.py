"""Where the machine and the builder of screens can be called: compiled for C, and cached."""

from functools import cache

from numba import carray, cfunc, config, types

from . import memory as w
from .jit import stamped
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


@cache
def addresses() -> tuple[int, int]:
    """Of what runs bytecode, and of what builds a screen; zeros where nothing is compiled."""
    if config.DISABLE_JIT:
        return 0, 0
    made = [stamped(cfunc(_SIGNATURE, nopython=True, cache=True)(one)) for one in (_run, _refresh)]
    return made[0].address, made[1].address
