"""The functions of expressions; what each does stands in :mod:`tiltyard.envs.gui.declare.functions`."""

from . import memory as w
from . import opcodes as op
from .jit import compiled, inlined
from .memory import (
    at,
    character,
    column,
    compare,
    equal,
    item,
    new_list,
    part,
    put,
    put_int,
    put_text,
    size,
    sort,
    truth,
)
from .operators import contains
from .stack import pop, push, push_bool


@inlined
def space(c):  # type: ignore[no-untyped-def]
    """Whether a character is white space."""
    return c == 32 or 9 <= c <= 13


@compiled
def call_text(m, pool, kind):  # type: ignore[no-untyped-def]
    """A function of texts and numbers."""
    x = pop(m)
    if kind == op.LOWER:
        for i in range(size(m, pool, x)):
            c = character(m, pool, x >> 3, i)
            put(m, c + 32 if 65 <= c <= 90 else c)
        push(m, w.take_text(m))
    elif kind == op.TRIM:
        start, stop = 0, size(m, pool, x)
        while start < stop and space(character(m, pool, x >> 3, start)):
            start += 1
        while stop > start and space(character(m, pool, x >> 3, stop - 1)):
            stop -= 1
        push(m, part(m, pool, x, start, stop))
    elif kind == op.CLEAN:
        push(m, cleaned(m, pool, x))
    elif kind == op.DIGITS:
        yes = size(m, pool, x) > 0
        for i in range(size(m, pool, x)):
            yes = yes and 48 <= character(m, pool, x >> 3, i) <= 57
        push_bool(m, yes)
    elif kind == op.SPLIT:
        push(m, _split(m, pool, x))
    elif kind == op.JOIN:
        _join(m, pool, pop(m), x)
    elif kind == op.CUT or kind == op.ENDING:
        text, n = pop(m), x >> 3
        whole = size(m, pool, text)
        n = min(n, whole)
        push(m, part(m, pool, text, 0, n) if kind == op.CUT else part(m, pool, text, whole - n, whole))
    elif kind == op.TWO_DIGITS:
        put_int(m, x >> 3, 2)
        push(m, w.take_text(m))
    elif kind == op.CLOCK:
        put_int(m, (x >> 3) // 60, 1)
        put(m, 58)
        put_int(m, (x >> 3) % 60, 2)
        push(m, w.take_text(m))
    else:  # MONEY
        put(m, 36)
        put_int(m, (x >> 3) // 100, 1)
        put(m, 46)
        put_int(m, (x >> 3) % 100, 2)
        push(m, w.take_text(m))


@compiled
def cleaned(m, pool, x):  # type: ignore[no-untyped-def]
    """A text without spaces at its ends, and with single ones within."""
    gap = False
    for i in range(size(m, pool, x)):
        c = character(m, pool, x >> 3, i)
        if space(c):
            gap = m[w.SCRATCH_LENGTH] > 0
        else:
            if gap:
                put(m, 32)
            gap = False
            put(m, c)
    return w.take_text(m)


@compiled
def _split(m, pool, x):  # type: ignore[no-untyped-def]
    n, start, count = size(m, pool, x), -1, 0
    for i in range(n + 1):
        blank = i == n or space(character(m, pool, x >> 3, i))
        if blank and start >= 0:
            push(m, part(m, pool, x, start, i))
            count += 1
            start = -1
        elif not blank and start < 0:
            start = i
    made = new_list(m, count)
    m[w.SP] -= count
    for i in range(count):
        m[(made >> 3) + 1 + i] = m[w.STACK + m[w.SP] + i]
    return made


@compiled
def _join(m, pool, glue, parts):  # type: ignore[no-untyped-def]
    some = False
    for i in range(size(m, pool, parts)):
        one = item(m, pool, parts, i)
        if truth(m, pool, one):
            if some:
                put_text(m, pool, glue)
            some = True
            put_text(m, pool, one)
    push(m, w.take_text(m))


@compiled
def call_list(m, pool, kind, a):  # type: ignore[no-untyped-def]
    """A function of a list; ``a`` is how many arguments there are, or a field's number."""
    if kind <= op.LAST:
        _pick(m, pool, kind, a)
        return
    y = pop(m)
    if kind == op.LENGTH:
        push(m, size(m, pool, y) << 3 | w.INT)
    elif kind == op.SORTED:
        push(m, sort(m, pool, y, y))
    elif kind == op.SORTED_BY:
        push(m, sort(m, pool, y, column(m, pool, y, a)))
    elif kind == op.SORTED_BY_KEYS:
        push(m, sort(m, pool, pop(m), y))
    elif kind == op.RANGE:
        low = pop(m) >> 3 if a == 2 else 0
        n = max((y >> 3) - low, 0)
        made = new_list(m, n)
        for i in range(n):
            m[(made >> 3) + 1 + i] = (low + i) << 3 | w.INT
        push(m, made)
    elif kind == op.REPEATED:
        push(m, _repeated(m, pool, y))
    elif kind == op.TOGGLED:
        push(m, _toggled(m, pool, pop(m), y))
    elif kind == op.MOVED:
        one = pop(m)
        push(m, _moved(m, pool, pop(m), one, y))
    else:
        _reduce(m, pool, kind, y)


@compiled
def _pick(m, pool, kind, a):  # type: ignore[no-untyped-def]
    """FIND a row by its first field; the FIRST value, or what is given instead; the LAST."""
    key = pop(m) if kind == op.FIND or (kind == op.FIRST and a == 2) else w.NONE
    items = pop(m)
    n = size(m, pool, items)
    if kind == op.FIND:
        for i in range(n):
            if equal(m, pool, at(m, pool, item(m, pool, items, i) >> 3, 1), key):
                push(m, item(m, pool, items, i))
                return
        push(m, w.NONE)
    elif n == 0:
        push(m, key)
        m[w.FAULT] = 8 if kind == op.LAST else m[w.FAULT]
    else:
        push(m, item(m, pool, items, 0 if kind == op.FIRST else n - 1))


@compiled
def _reduce(m, pool, kind, items):  # type: ignore[no-untyped-def]
    n = size(m, pool, items)
    if kind == op.SUM:
        total = 0
        for i in range(n):
            total += item(m, pool, items, i) >> 3
        push(m, total << 3 | w.INT)
    elif kind == op.ANY or kind == op.ALL:
        yes = kind == op.ALL
        for i in range(n):
            if truth(m, pool, item(m, pool, items, i)) != yes:
                yes = not yes
                break
        push_bool(m, yes)
    elif n == 0:
        m[w.FAULT] = 9
        push(m, w.NONE)
    else:
        best = item(m, pool, items, 0)
        for i in range(1, n):
            one = item(m, pool, items, i)
            order = compare(m, pool, one, best)
            if (order < 0 and kind == op.LEAST) or (order > 0 and kind == op.MOST):
                best = one
        push(m, best)


@compiled
def _repeated(m, pool, items):  # type: ignore[no-untyped-def]
    items = sort(m, pool, items, items)
    n = size(m, pool, items)
    made = new_list(m, n)
    count = 0
    for i in range(1, n):
        one = item(m, pool, items, i)
        again = equal(m, pool, one, item(m, pool, items, i - 1))
        if again and (count == 0 or not equal(m, pool, one, m[(made >> 3) + count])):
            count += 1
            m[(made >> 3) + count] = one
    m[made >> 3] = count
    return made


@compiled
def _toggled(m, pool, items, one):  # type: ignore[no-untyped-def]
    if contains(m, pool, items, one):
        return w.swapped(m, pool, items, one, one, True)
    n = size(m, pool, items)
    made = new_list(m, n + 1)
    for i in range(n):
        m[(made >> 3) + 1 + i] = item(m, pool, items, i)
    m[(made >> 3) + 1 + n] = one
    return made


@compiled
def _moved(m, pool, items, one, onto):  # type: ignore[no-untyped-def]
    """A list with a value taken out and put in at the place that another one has now."""
    n, source, goal = size(m, pool, items), -1, -1
    for i in range(n - 1, -1, -1):
        source = i if equal(m, pool, item(m, pool, items, i), one) else source
        goal = i if equal(m, pool, item(m, pool, items, i), onto) else goal
    if source < 0 or goal < 0:
        return items
    made = new_list(m, n)
    k = 0
    for i in range(n):
        if i == goal:
            m[(made >> 3) + 1 + i] = item(m, pool, items, source)
            continue
        k += 1 if k == source else 0
        m[(made >> 3) + 1 + i] = item(m, pool, items, k)
        k += 1
    return made
