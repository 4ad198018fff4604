"""Compacts a phone's heap: what can still be reached moves to its other half, and takes no more room than it needs.

Cheney's copying collector (1970), but depth first, since headers do not say whether a text, a list or a record follows.
"""

from . import memory as w
from .jit import compiled
from .memory import fields


@compiled
def _moved(m, pool, value):  # type: ignore[no-untyped-def]
    """Where a value stands in the other half, and how many values of its own have still to move."""
    tag, p = value & 7, value >> 3
    if tag < w.TEXT or tag > w.RECORD or p < 0:
        return value, 0
    if m[p] < 0:
        return (~m[p]) << 3 | tag, 0
    if tag == w.TEXT:
        n = w.TEXT_HEADER + ((m[p] + 7) >> 3)
    elif tag == w.LIST:
        n = 1 + m[p]
    else:
        n = 1 + fields(pool, m[p])
    q = m[w.TOP]
    m[w.TOP] = q + n
    for k in range(n):
        m[q + k] = m[p + k]
    m[p] = ~q
    return q << 3 | tag, 0 if tag == w.TEXT else n - 1


@compiled
def _move(m, pool, place):  # type: ignore[no-untyped-def]
    """Moves the value at a place of memory, and all that it holds."""
    m[place], n = _moved(m, pool, m[place])
    depth = 0
    if n:
        m[w.WORK], m[w.WORK + 1] = (m[place] >> 3) + 1, n
        depth = 1
    while depth:
        frame = w.WORK + 2 * (depth - 1)
        if m[frame + 1] == 0:
            depth -= 1
            continue
        inner = m[frame]
        m[frame] += 1
        m[frame + 1] -= 1
        m[inner], n = _moved(m, pool, m[inner])
        if n:
            m[w.WORK + 2 * depth], m[w.WORK + 2 * depth + 1] = (m[inner] >> 3) + 1, n
            depth += 1


@compiled
def collect(m, pool):  # type: ignore[no-untyped-def]
    """Compacts the heap; nodes and locals do not count: a page is built anew after this."""
    m[w.SPACE] = 1 - m[w.SPACE]
    start = w.HEAP + w.HALF * m[w.SPACE]
    m[w.TOP], m[w.LIMIT] = start, start + w.HALF
    for place in range(w.ROOTS, w.ROOTS + 3 * w.MOST_APPS):
        _move(m, pool, place)
    for s in range(m[w.STACKED]):
        for k in range(2, w.SCREEN_SIZE):
            _move(m, pool, w.SCREENS + w.SCREEN_SIZE * s + k)
    if m[w.HAS_DIALOG]:
        for place in range(w.DIALOG, w.DIALOG + w.DIALOG_SIZE):
            _move(m, pool, place)
    for place in (w.GOAL, w.ANSWER, w.WANTED_ANSWER, w.MESSAGE, w.ASKED, w.STATUS_FLAGS, w.STATUS_TEXT):
        _move(m, pool, place)
    for place in range(w.LOCALS, w.LOCALS + w.MOST_LOCALS):
        m[place] = w.NONE
    m[w.LIVE] = m[w.TOP] - start


@compiled
def clear(m):  # type: ignore[no-untyped-def]
    """An empty memory."""
    for place in range(w.HEAP):
        m[place] = 0
    m[w.TOP], m[w.LIMIT] = w.HEAP, w.HEAP + w.HALF


@compiled
def crowded(m):  # type: ignore[no-untyped-def]
    """Whether it is time to compact: much more is used than was alive last time."""
    return m[w.TOP] - (w.HEAP + w.HALF * m[w.SPACE]) > 2 * m[w.LIVE] + 4096
