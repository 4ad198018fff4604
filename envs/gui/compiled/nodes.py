"""The table of what is on a page: one row of words and one box an element."""

from . import memory as w
from .jit import compiled, inlined
from .pool import UNIT_SIZE, UNITS

ROLE, TEXT, DETAIL, CHECKED, FOCUSED, DISABLED, ICON, LOOK, COLOUR, TAP, HOLD, DROP, TARGET, FIXED = range(14)
"""Words of a node; those after them are locals that its operations need."""
CAPTURED = 14
NOTHING, BACK, FOCUS_ON, CLEAR_FIELD, LAUNCH, KEY, ANSWER, FOLLOW, TEMPT, RETRY = range(-1, -11, -1)
"""What a tap does where it does not run a unit; on what stands in the first captured word."""


@compiled
def node(m, f, role, text, x0, y0, x1, y1):  # type: ignore[no-untyped-def]
    """A new element; where its words stand."""
    n = m[w.NODE_COUNT]
    if n >= w.MOST_NODES:
        m[w.FAULT] = 13
        n = 0
    m[w.NODE_COUNT] = n + 1
    place = w.NODES + w.NODE_SIZE * n
    for k in range(w.NODE_SIZE):
        m[place + k] = 0
    m[place + ROLE], m[place + TEXT], m[place + DETAIL] = role, text, w.NONE
    m[place + TAP] = m[place + HOLD] = m[place + DROP] = NOTHING
    box = w.BOXES + 6 * n
    f[box], f[box + 1], f[box + 2], f[box + 3], f[box + 4], f[box + 5] = x0, y0, x1, y1, y0, y1
    return place


@inlined
def box_of(place):  # type: ignore[no-untyped-def]
    """Where the box of a node stands: x0, y0, x1, y1, and the upper and lower end of what can be seen."""
    return w.BOXES + 6 * ((place - w.NODES) // w.NODE_SIZE)


@compiled
def captures(m, pool, place, unit):  # type: ignore[no-untyped-def]
    """Keeps the locals that a unit needs beside the node."""
    start = pool[UNITS] + UNIT_SIZE * unit
    for k in range(pool[start + 1]):
        m[place + CAPTURED + k] = m[w.LOCALS + pool[start + 3 + k]]


@compiled
def restore(m, pool, place, unit):  # type: ignore[no-untyped-def]
    """Gives a unit the locals that were kept."""
    start = pool[UNITS] + UNIT_SIZE * unit
    for k in range(pool[start + 1]):
        m[w.LOCALS + pool[start + 3 + k]] = m[place + CAPTURED + k]
