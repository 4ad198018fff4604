"""Operators of expressions on values."""

from . import memory as w
from . import opcodes as op
from .jit import compiled
from .memory import at, character, compare, equal, item, new_list, put_text, size, take_text, truth
from .pool import FIELD_NAMES, TYPES
from .stack import pop, push, push_bool


@compiled
def attribute(m, pool, record, name):  # type: ignore[no-untyped-def]
    """A record's field of this name; of nothing, nothing."""
    if record & 7 != w.RECORD:
        return w.NONE
    return at(m, pool, record >> 3, 1 + field_number(m, pool, record, name))


@compiled
def field_number(m, pool, record, name):  # type: ignore[no-untyped-def]
    """Which field of a record has this name."""
    k = pool[pool[pool[TYPES] + 2 * at(m, pool, record >> 3, 0) + 1] + name]
    if k < 0:
        m[w.FAULT] = 5
        return 0
    return k


@compiled
def number_of(m, pool, record, name):  # type: ignore[no-untyped-def]
    """The number of a record's field whose name is a text."""
    names = pool[FIELD_NAMES]
    for k in range(size(m, pool, names)):
        if equal(m, pool, item(m, pool, names, k), name):
            return field_number(m, pool, record, k)
    m[w.FAULT] = 12
    return 0


@compiled
def operate(m, pool, kind, a):  # type: ignore[no-untyped-def]
    """One operator."""
    if kind == op.CONCAT:
        m[w.SP] -= a
        for i in range(a):
            put_text(m, pool, m[w.STACK + m[w.SP] + i])
        push(m, take_text(m))
        return
    y = pop(m)
    if kind == op.NOT:
        push_bool(m, not truth(m, pool, y))
    elif kind == op.NEGATIVE:
        push(m, (-(y >> 3)) << 3 | w.INT)
    elif kind == op.TO_TEXT:
        if y & 7 != w.TEXT:
            put_text(m, pool, y)
            y = take_text(m)
        push(m, y)
    else:
        _binary(m, pool, kind, pop(m), y)


@compiled
def _binary(m, pool, kind, x, y):  # type: ignore[no-untyped-def]
    if kind == op.EQ or kind == op.NE:
        push_bool(m, equal(m, pool, x, y) == (kind == op.EQ))
    elif kind == op.ADD:
        push(m, _added(m, pool, x, y))
    elif kind == op.SUB:
        push(m, ((x >> 3) - (y >> 3)) << 3 | w.INT)
    elif kind == op.MUL:
        push(m, ((x >> 3) * (y >> 3)) << 3 | w.INT)
    elif kind == op.LT:
        push_bool(m, compare(m, pool, x, y) < 0)
    elif kind == op.LE:
        push_bool(m, compare(m, pool, x, y) <= 0)
    elif kind == op.GT:
        push_bool(m, compare(m, pool, x, y) > 0)
    elif kind == op.GE:
        push_bool(m, compare(m, pool, x, y) >= 0)
    elif kind == op.IN or kind == op.NOT_IN:
        push_bool(m, contains(m, pool, y, x) == (kind == op.IN))
    else:
        push(m, _entry(m, pool, x, y))


@compiled
def _added(m, pool, x, y):  # type: ignore[no-untyped-def]
    if x & 7 == w.TEXT:
        put_text(m, pool, x)
        put_text(m, pool, y)
        return take_text(m)
    if x & 7 == w.LIST:
        n, k = size(m, pool, x), size(m, pool, y)
        made = new_list(m, n + k)
        for i in range(n):
            m[(made >> 3) + 1 + i] = item(m, pool, x, i)
        for i in range(k):
            m[(made >> 3) + 1 + n + i] = item(m, pool, y, i)
        return made
    return ((x >> 3) + (y >> 3)) << 3 | w.INT


@compiled
def contains(m, pool, whole, one):  # type: ignore[no-untyped-def]
    """Whether a text has another in it, or a list a value."""
    n = size(m, pool, whole)
    if whole & 7 == w.LIST:
        for i in range(n):
            if equal(m, pool, item(m, pool, whole, i), one):
                return True
        return False
    p, q, k = whole >> 3, one >> 3, size(m, pool, one)
    for i in range(n - k + 1):
        j = 0
        while j < k and character(m, pool, p, i + j) == character(m, pool, q, j):
            j += 1
        if j == k:
            return True
    return False


@compiled
def _entry(m, pool, whole, key):  # type: ignore[no-untyped-def]
    """An item by its place, a mapping's value by its key (a mapping is a list of keys, then of values), a character."""
    if whole & 7 == w.RECORD:
        keys, values = at(m, pool, whole >> 3, 1), at(m, pool, whole >> 3, 2)
        for i in range(size(m, pool, keys)):
            if equal(m, pool, item(m, pool, keys, i), key):
                return item(m, pool, values, i)
        m[w.FAULT] = 6
        return w.NONE
    n, i = size(m, pool, whole), key >> 3
    if i < 0:
        i += n
    if i < 0 or i >= n:
        m[w.FAULT] = 7
        return w.NONE
    return w.part(m, pool, whole, i, i + 1) if whole & 7 == w.TEXT else item(m, pool, whole, i)
