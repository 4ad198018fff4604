"""The random functions of declarations, drawing the same numbers as :class:`tiltyard.envs.gui.stream.Stream`."""

import numpy as np

from . import memory as w
from . import opcodes as op
from .jit import compiled
from .memory import equal, item, new_list, put, put_int, put_text, size
from .pool import FIRST_NAMES, LAST_NAMES, STREET_KINDS, STREET_NAMES
from .stack import pop, push, push_bool

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
CENTS = (0, 49, 50, 95, 99)


@compiled
def mixed(x):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@compiled
def child(key, number):  # type: ignore[no-untyped-def]
    """The key of another stream: ``Stream.child``."""
    return np.int64(mixed(np.uint64(key) ^ mixed(np.uint64(number + 1) * _GAMMA)))


@compiled
def word(m):  # type: ignore[no-untyped-def]
    """The next 64 bits."""
    x = np.uint64(m[w.KEY]) + _GAMMA
    m[w.KEY] = np.int64(x)
    return mixed(x)


@compiled
def below(m, n):  # type: ignore[no-untyped-def]
    """An integer from 0 to ``n - 1``."""
    return np.int64((word(m) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@compiled
def share(m):  # type: ignore[no-untyped-def]
    """A number from 0 to 1."""
    return np.float64(word(m) >> np.uint64(11)) * 2.0**-53


@compiled
def permutation(m, n):  # type: ignore[no-untyped-def]
    """The numbers below ``n`` in random order, in the scratch pad's upper half."""
    start = w.SCRATCH + w.SCRATCH_SIZE - n
    for i in range(n):
        m[start + i] = i
    for i in range(n - 1, 0, -1):
        j = below(m, i + 1)
        m[start + i], m[start + j] = m[start + j], m[start + i]
    return start


@compiled
def chosen(m, pool, items, n):  # type: ignore[no-untyped-def]
    """``n`` different values of a list in random order."""
    start = permutation(m, size(m, pool, items))
    made = new_list(m, min(n, size(m, pool, items)))
    for i in range(size(m, pool, made)):
        m[(made >> 3) + 1 + i] = item(m, pool, items, m[start + i])
    return made


@compiled
def people(m, pool, n):  # type: ignore[no-untyped-def]
    """Full names, no first and no last name twice."""
    first, last = chosen(m, pool, pool[FIRST_NAMES], n), chosen(m, pool, pool[LAST_NAMES], n)
    made = new_list(m, n)
    for i in range(n):
        put_text(m, pool, item(m, pool, first, i))
        put(m, 32)
        put_text(m, pool, item(m, pool, last, i))
        m[(made >> 3) + 1 + i] = w.take_text(m)
    return made


@compiled
def integers(m, low, high, n):  # type: ignore[no-untyped-def]
    """``n`` whole numbers from ``low`` to ``high - 1``."""
    made = new_list(m, n)
    for i in range(n):
        m[(made >> 3) + 1 + i] = (low + below(m, high - low)) << 3 | w.INT
    return made


@compiled
def _numbers(m, n):  # type: ignore[no-untyped-def]
    made = integers(m, 20_000_000, 99_999_999, n)
    start = permutation(m, 100)
    for i in range(n):
        place = (made >> 3) + 1 + i
        put_int(m, m[place] >> 3, 1)
        put_int(m, m[start + i], 2)
        m[place] = w.take_text(m)
    return made


@compiled
def _streets(m, pool, n):  # type: ignore[no-untyped-def]
    houses = integers(m, 1, 100, n)
    kinds = integers(m, 0, size(m, pool, pool[STREET_KINDS]), n)
    names = chosen(m, pool, pool[STREET_NAMES], n)
    for i in range(n):
        place = (houses >> 3) + 1 + i
        put_text(m, pool, m[place])
        put(m, 32)
        put_text(m, pool, item(m, pool, names, i))
        put(m, 32)
        put_text(m, pool, item(m, pool, pool[STREET_KINDS], item(m, pool, kinds, i) >> 3))
        m[place] = w.take_text(m)
    return houses


@compiled
def _password(m, pool):  # type: ignore[no-untyped-def]
    street = item(m, pool, pool[STREET_NAMES], below(m, size(m, pool, pool[STREET_NAMES])))
    for i in range(size(m, pool, street)):
        c = w.character(m, pool, street >> 3, i)
        put(m, c + 32 if 65 <= c <= 90 else c)
    put_int(m, 100 + below(m, 900), 1)
    return w.take_text(m)


@compiled
def _prices(m, n):  # type: ignore[no-untyped-def]
    start = permutation(m, 87)
    made = new_list(m, n)
    for i in range(n):
        m[(made >> 3) + 1 + i] = (3 + m[start + i]) * 100
    for i in range(n):
        place = (made >> 3) + 1 + i
        m[place] = (m[place] + CENTS[below(m, 5)]) << 3 | w.INT
    return made


@compiled
def draw(m, pool, kind):  # type: ignore[no-untyped-def]
    """One random function."""
    if kind == op.PICK:
        items = pop(m)
        n = size(m, pool, items)
        if n == 0:
            m[w.FAULT] = 10
            push(m, w.NONE)
        else:
            push(m, item(m, pool, items, below(m, n)))
    elif kind == op.CHOOSE:
        n = pop(m) >> 3
        push(m, chosen(m, pool, pop(m), n))
    elif kind == op.SHUFFLED:
        items = pop(m)
        push(m, chosen(m, pool, items, size(m, pool, items)))
    elif kind == op.COIN:
        push_bool(m, below(m, 2) == 1)
    elif kind == op.INTEGER:
        high, low = pop(m) >> 3, pop(m) >> 3
        push(m, (low + below(m, high - low)) << 3 | w.INT)
    elif kind == op.PASSWORD:
        push(m, _password(m, pool))
    else:
        _several(m, pool, kind)


@compiled
def _several(m, pool, kind):  # type: ignore[no-untyped-def]
    x = pop(m)
    n = x >> 3
    if kind == op.COINS:
        made = integers(m, 0, 2, n)
        for i in range(n):
            m[(made >> 3) + 1 + i] = m[(made >> 3) + 1 + i] >> 3 << 3 | w.BOOL
        push(m, made)
    elif kind == op.INTEGERS:
        high, low = pop(m) >> 3, pop(m) >> 3
        push(m, integers(m, low, high, n))
    elif kind == op.PEOPLE:
        push(m, people(m, pool, n))
    elif kind == op.NUMBERS:
        push(m, _numbers(m, n))
    elif kind == op.STREETS:
        push(m, _streets(m, pool, n))
    elif kind == op.PRICES:
        push(m, _prices(m, n))
    else:  # NEW_PERSON: the first of as many people and one more who is not among the given names
        made = people(m, pool, size(m, pool, x) + 1)
        i = 0
        while i < size(m, pool, x) and _within(m, pool, x, item(m, pool, made, i)):
            i += 1
        push(m, item(m, pool, made, i))


@compiled
def _within(m, pool, items, one):  # type: ignore[no-untyped-def]
    for i in range(size(m, pool, items)):
        if equal(m, pool, item(m, pool, items, i), one):
            return True
    return False
