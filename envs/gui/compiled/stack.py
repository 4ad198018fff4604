"""The machine's stack of values."""

from . import memory as w
from .jit import inlined


@inlined
def push(m, value):  # type: ignore[no-untyped-def]
    """A value more."""
    n = m[w.SP]
    if n >= w.STACK_SIZE:
        m[w.FAULT] = 4
        n = 0
    m[w.STACK + n] = value
    m[w.SP] = n + 1


@inlined
def pop(m):  # type: ignore[no-untyped-def]
    """The last value."""
    m[w.SP] -= 1
    return m[w.STACK + m[w.SP]]


@inlined
def push_bool(m, yes):  # type: ignore[no-untyped-def]
    """True or false."""
    push(m, w.TRUE if yes else w.FALSE)
