"""Operations of declarations: what they change in the phone's state, its screens and its dialog."""

from . import memory as w
from . import opcodes as op
from .drawing import below
from .jit import compiled, inlined
from .memory import at, changed, column, item, new_list, size, sort, swapped
from .operators import field_number, number_of
from .pool import EMPTY, TABLES
from .stack import pop, push

APP, VIEW, ARG, ERROR, FOCUS, FAILED, DRAFTS = range(7)
"""Words of a screen; the rest are its drafts."""
TITLE, BODY, BUTTONS, UNITS, ASKED_BY, ENV = 0, 1, 2, 6, 10, 16
"""Words of a dialog: two texts, up to four buttons (texts, and the numbers of their units), the screen, the locals."""


@inlined
def top(m):  # type: ignore[no-untyped-def]
    """Where the topmost screen stands in memory."""
    return w.SCREENS + w.SCREEN_SIZE * (m[w.STACKED] - 1)


@compiled
def _set(m, pool, app, k, value):  # type: ignore[no-untyped-def]
    m[w.ROOTS + app] = changed(m, pool, m[w.ROOTS + app], k, value)


@compiled
def _field(m, pool, app, k):  # type: ignore[no-untyped-def]
    return at(m, pool, m[w.ROOTS + app] >> 3, 1 + k)


@compiled
def _set_table(m, pool, table, rows):  # type: ignore[no-untyped-def]
    """Gives a table (a number of ``pool``'s list: app, field, field that orders it or -1) its rows, in order."""
    start = pool[TABLES] + 3 * table
    if pool[start + 2] >= 0:
        rows = sort(m, pool, rows, column(m, pool, rows, pool[start + 2]))
    _set(m, pool, pool[start], pool[start + 1], rows)


@compiled
def _rows(m, pool, table):  # type: ignore[no-untyped-def]
    start = pool[TABLES] + 3 * table
    return _field(m, pool, pool[start], pool[start + 1])


@compiled
def push_screen(m, f, pool, app, view, arg):  # type: ignore[no-untyped-def]
    """Opens a screen, which may take a while; the oldest of too many is dropped."""
    if m[w.STACKED]:
        m[top(m) + FOCUS] = w.INT
    if m[w.STACKED] == w.MOST_SCREENS:
        for k in range(w.SCREEN_SIZE * (w.MOST_SCREENS - 1)):
            m[w.SCREENS + k] = m[w.SCREENS + w.SCREEN_SIZE + k]
        for s in range(w.MOST_SCREENS - 1):
            f[s] = f[s + 1]
        m[w.STACKED] -= 1
    m[w.STACKED] += 1
    place = top(m)
    for k in range(w.SCREEN_SIZE):
        m[place + k] = w.UNSET
    m[place + APP], m[place + VIEW], m[place + ARG] = app, view, arg
    m[place + ERROR], m[place + FOCUS], m[place + FAILED] = pool[EMPTY], w.INT, w.FALSE
    if m[w.FAILING] == view + 1:
        m[place + FAILED], m[w.FAILING] = w.TRUE, 0
    f[m[w.STACKED] - 1] = 0.0
    m[w.LOADING] = delay(m, view)


@compiled
def delay(m, view):  # type: ignore[no-untyped-def]
    """Steps that a screen takes to load on this phone."""
    for k in range(16):
        if m[w.SLOW + 2 * k] == view + 1:
            return m[w.SLOW + 2 * k + 1]
    return 0


@compiled
def operate(m, f, pool, kind, a, b):  # type: ignore[no-untyped-def]
    """One operation."""
    if kind == op.SET:
        _set(m, pool, a, b, pop(m))
    elif kind == op.SET_NAMED:
        value, name = pop(m), pop(m)
        _set(m, pool, a, number_of(m, pool, m[w.ROOTS + a], name), value)
    elif kind == op.SET_ROW:
        _set_row(m, pool, a, b)
    elif kind == op.SET_DRAFT:
        m[m[w.SELF] + DRAFTS + a] = pop(m)
    elif kind == op.INSERT:
        _insert(m, pool, a, b)
    elif kind == op.DELETE_ROW:
        row = pop(m)
        start = pool[TABLES] + 3 * a
        _set(m, pool, pool[start], pool[start + 1], swapped(m, pool, _rows(m, pool, a), row, row, True))
    elif kind == op.CLEAR:
        _set(m, pool, a, b, new_list(m, 0))
    elif kind == op.ERROR:
        m[m[w.SELF] + ERROR] = pop(m)
    elif kind == op.PUSH:
        push_screen(m, f, pool, a, b, pop(m))
    elif kind == op.POP_SCREENS:
        m[w.STACKED] = max(m[w.STACKED] - (a if a else m[w.STACKED] - 1), 0)
    elif kind == op.POP_TO:
        m[top(m) + ARG] = pop(m)
    elif kind == op.ASK:
        ask(m, a, b)
    elif kind == op.REWIND:
        m[m[w.SELF] + FOCUS], f[(m[w.SELF] - w.SCREENS) // w.SCREEN_SIZE] = w.INT, 0.0
    elif kind == op.SET_ROOT:
        m[w.ROOTS + a] = m[w.WANTED + a] = m[w.FIRST_STATE + a] = pop(m)
    elif kind == op.BRANCH:
        # What is wanted is made from the prepared state, which then comes back.
        for k in range(w.MOST_APPS):
            if a == 0:
                m[w.FIRST_STATE + k] = m[w.ROOTS + k]
            else:
                m[w.WANTED + k], m[w.ROOTS + k] = m[w.ROOTS + k], m[w.FIRST_STATE + k]
    elif kind == op.WORDING:
        push(m, (a - 1 if m[w.LAST_WORDING] else below(m, a - 1)) << 3 | w.INT)
    elif kind == op.REGISTER:
        m[a] = pop(m)
    else:
        m[w.FAULT] = 11


@compiled
def _set_row(m, pool, a, name):  # type: ignore[no-untyped-def]
    """``a`` is the row's local and its table: local + 64 * table."""
    local, table = a & 63, a >> 6
    old = m[w.LOCALS + local]
    new = changed(m, pool, old, field_number(m, pool, old, name), pop(m))
    _set_table(m, pool, table, swapped(m, pool, _rows(m, pool, table), old, new, False))
    m[w.LOCALS + local] = new


@compiled
def _insert(m, pool, table, first):  # type: ignore[no-untyped-def]
    row, rows = pop(m), _rows(m, pool, table)
    n = size(m, pool, rows)
    made = new_list(m, n + 1)
    for i in range(n):
        m[(made >> 3) + 1 + i + first] = item(m, pool, rows, i)
    m[(made >> 3) + 1 + (0 if first else n)] = row
    _set_table(m, pool, table, made)


@compiled
def ask(m, n, unit):  # type: ignore[no-untyped-def]
    """A dialog of ``n`` buttons, whose units are numbered from ``unit`` on; texts are on the stack."""
    m[w.HAS_DIALOG] = 1
    for i in range(n - 1, -1, -1):
        m[w.DIALOG + BUTTONS + i] = pop(m)
        m[w.DIALOG + UNITS + i] = (unit + i) << 3 | w.INT
    for i in range(n, 4):
        m[w.DIALOG + BUTTONS + i] = w.NONE
    m[w.DIALOG + BODY], m[w.DIALOG + TITLE] = pop(m), pop(m)
    m[w.DIALOG + ASKED_BY] = m[w.SELF] << 3 | w.INT
    for k in range(11, ENV):
        m[w.DIALOG + k] = w.NONE
    for k in range(w.MOST_LOCALS):
        m[w.DIALOG + ENV + k] = m[w.LOCALS + k]
