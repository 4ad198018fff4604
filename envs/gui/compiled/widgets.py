"""Elements of a page, for the instructions that declared widgets become; boxes are :mod:`tiltyard.envs.gui.ui`'s."""

from ..ui import BAR, LINE_CHARS, MARGIN, STATUS, WIDTH
from . import memory as w
from . import nodes as nd
from . import opcodes as op
from . import roles as r
from .acting import DRAFTS, ERROR, FOCUS, top
from .jit import compiled
from .memory import at, character, equal, item, put, put_text, size, take_text, truth
from .nodes import captures, node
from .pool import (
    BACK_TEXT,
    CLEAR_TEXT,
    EMPTY,
    ICON_BACK,
    ICON_CLOSE,
    ICON_MINUS,
    ICON_NAMES,
    ICON_PLUS,
    LESS_TEXT,
    MORE_TEXT,
    ROWS,
)
from .stack import pop


@compiled
def icon_of(m, pool, text):  # type: ignore[no-untyped-def]
    """The number of the icon that a text names, 1 added; constant texts know it."""
    if text & 7 != w.TEXT or text >> 3 < 0:
        return at(m, pool, text >> 3, 2) if text & 7 == w.TEXT else 0
    names = pool[ICON_NAMES]
    for i in range(size(m, pool, names)):
        if equal(m, pool, item(m, pool, names, i), text):
            return i + 1
    return 0


@compiled
def add(m, f, role, text, height, x0, x1):  # type: ignore[no-untyped-def]
    """The next element of the column."""
    height *= f[w.DENSITY]
    y = f[w.Y]
    f[w.Y] = y + height
    return node(m, f, role, text, x0, y, x1, y + height)


@compiled
def _switched(m, pool, place, checked, disabled):  # type: ignore[no-untyped-def]
    m[place + nd.CHECKED] = 2 if truth(m, pool, checked) else 1
    m[place + nd.DISABLED] = truth(m, pool, disabled)


@compiled
def _taps(m, pool, place, unit):  # type: ignore[no-untyped-def]
    m[place + nd.TAP] = unit
    captures(m, pool, place, unit)


@compiled
def show(m, f, pool, kind, a, b):  # type: ignore[no-untyped-def]
    """One element, or several that belong together; what it shows is on the stack, last first."""
    if kind == op.ROW:
        _row(m, f, pool, a)
    elif kind == op.PARAGRAPH:
        paragraph(m, f, pool, pop(m), a)
    elif kind == op.SWITCH:
        disabled, on, detail, title = pop(m), pop(m), pop(m), pop(m)
        place = add(m, f, r.SWITCH, title, 21.0 if truth(m, pool, detail) else 17.0, 0.0, WIDTH)
        m[place + nd.DETAIL] = detail
        _switched(m, pool, place, on, disabled)
        _taps(m, pool, place, a)
    elif kind == op.RADIO:
        chosen, title = pop(m), pop(m)
        place = add(m, f, r.RADIO, title, 15.0, 0.0, WIDTH)
        _switched(m, pool, place, chosen, w.FALSE)
        _taps(m, pool, place, a)
    elif kind == op.BUTTON:
        disabled, text = pop(m), pop(m)
        f[w.Y] += 2.0 * f[w.DENSITY]
        place = add(m, f, r.BUTTON, text, 16.0, MARGIN, WIDTH - MARGIN)
        f[w.Y] += 2.0 * f[w.DENSITY]
        m[place + nd.LOOK], m[place + nd.COLOUR] = b, m[w.PAGE_COLOUR]
        m[place + nd.DISABLED] = truth(m, pool, disabled)
        _taps(m, pool, place, a)
    elif kind == op.FIELD:
        _field(m, f, pool, a, pop(m))
    elif kind == op.SECTION:
        add(m, f, r.SECTION, pop(m), 10.0, MARGIN, WIDTH - MARGIN)
    elif kind == op.CHIP:
        _chip(m, f, pool, a)
    elif kind == op.STEPPER:
        _stepper(m, f, pool, a, b)
    else:
        _rarer(m, f, pool, kind, a, b)


@compiled
def _rarer(m, f, pool, kind, a, b):  # type: ignore[no-untyped-def]
    if kind == op.BAR:
        bar(m, f, pool, pop(m), a, b)
    elif kind == op.ACTION:
        name, icon = pop(m), pop(m)
        x = WIDTH - 17.0 * (b >> 2) + 17.0 * (b & 3)
        place = _fixed(m, f, r.BUTTON, name, x, STATUS, x + 17.0, STATUS + BAR)
        m[place + nd.ICON] = icon_of(m, pool, icon)
        _taps(m, pool, place, a)
    elif kind == op.TAB:
        _tab(m, f, pool, a, b)
    elif kind == op.TABS_END:
        f[w.PAGE_TOP] += 14.0
    elif kind == op.CHIPS:
        f[w.CHIP_X] = MARGIN
    elif kind == op.CHIPS_END:
        f[w.Y] += 16.0 * f[w.DENSITY]
    elif kind == op.IMAGE:
        colour, icon = pop(m), pop(m)
        place = add(m, f, r.IMAGE, pool[EMPTY], a / 100.0, MARGIN, WIDTH - MARGIN)
        m[place + nd.ICON], m[place + nd.COLOUR] = icon_of(m, pool, icon), colour >> 3
    elif kind == op.EMPTY:
        icon, text = pop(m), pop(m)
        empty(m, f, pool, text, icon_of(m, pool, icon))
    elif kind == op.SHOW_ERROR:
        if truth(m, pool, m[top(m) + ERROR]):
            paragraph(m, f, pool, m[top(m) + ERROR], r.ERROR)
    elif kind == op.CAPTURE_ENTER:
        # The page's enter key does a unit; what it needs is kept by a node that is nowhere.
        m[w.ENTER_UNIT] = a + 1
        place = m[w.ENTER_NODE] = node(m, f, r.KEY, pool[EMPTY], 0.0, -1.0, 0.0, -1.0)
        m[place + nd.FIXED] = 2
        captures(m, pool, place, a)
    else:
        m[w.FAULT] = 14


@compiled
def empty(m, f, pool, text, icon):  # type: ignore[no-untyped-def]
    """What a list shows that holds nothing."""
    f[w.Y] += 16.0 * f[w.DENSITY]
    place = add(m, f, r.IMAGE, pool[EMPTY], 26.0, MARGIN, WIDTH - MARGIN)
    m[place + nd.ICON] = icon
    paragraph(m, f, pool, text, r.CENTRE)


@compiled
def _fixed(m, f, role, text, x0, y0, x1, y1):  # type: ignore[no-untyped-def]
    place = node(m, f, role, text, x0, y0, x1, y1)
    m[place + nd.FIXED], m[place + nd.LOOK] = 1, r.BAR
    return place


@compiled
def bar(m, f, pool, title, back, actions):  # type: ignore[no-untyped-def]
    """The bar on top: a way back, a title; ``actions`` buttons follow."""
    m[w.TITLE], f[w.PAGE_TOP] = title, STATUS + BAR
    x = 2.0
    if back:
        place = _fixed(m, f, r.BUTTON, pool[BACK_TEXT], 0.0, STATUS, 16.0, STATUS + BAR)
        m[place + nd.ICON], m[place + nd.TAP] = pool[ICON_BACK], nd.BACK
        x = 16.0
    _fixed(m, f, r.TITLE, title, x + 2.0, STATUS, WIDTH - 17.0 * actions, STATUS + BAR)


@compiled
def _tab(m, f, pool, unit, b):  # type: ignore[no-untyped-def]
    """``b`` is 16 times how many tabs there are, and the tab's place among them."""
    chosen, text = pop(m), pop(m)
    n, i, y = b >> 4, b & 15, f[w.PAGE_TOP]
    before = w.NODES + w.NODE_SIZE * (m[w.NODE_COUNT] - 1)
    place = _fixed(m, f, r.TAB, text, i * (WIDTH / n), y, (i + 1) * (WIDTH / n), y + 14.0)
    m[place + nd.LOOK] = 0
    _switched(m, pool, place, chosen, w.FALSE)
    _taps(m, pool, place, unit)
    if i and m[before + nd.CHECKED] == 2:
        m[w.SWIPE_LEFT] = place
    if i and truth(m, pool, chosen):
        m[w.SWIPE_RIGHT] = before


@compiled
def _row(m, f, pool, entry):  # type: ignore[no-untyped-def]
    """A row, or an item where there is no unit to run; units of tap, hold and drop are numbers in ``pool``'s list."""
    target, disabled, icon, detail, title = pop(m), pop(m), pop(m), pop(m), pop(m)
    units = pool[ROWS] + 3 * entry
    tap = pool[units]
    place = add(m, f, r.ROW if tap >= 0 else r.ITEM, title, 21.0 if truth(m, pool, detail) else 17.0, 0.0, WIDTH)
    m[place + nd.DETAIL], m[place + nd.ICON] = detail, icon_of(m, pool, icon)
    m[place + nd.DISABLED], m[place + nd.TARGET] = truth(m, pool, disabled), target
    m[place + nd.TAP], m[place + nd.HOLD], m[place + nd.DROP] = tap, pool[units + 1], pool[units + 2]
    for k in range(3):
        if pool[units + k] >= 0:
            captures(m, pool, place, pool[units + k])


@compiled
def _field(m, f, pool, draft, label):  # type: ignore[no-untyped-def]
    screen = top(m)
    content = m[screen + DRAFTS + draft]
    if content == w.UNSET:
        content = m[screen + DRAFTS + draft] = pool[EMPTY]
    full = truth(m, pool, content)
    right, y = WIDTH - MARGIN - (14.0 if full else 0.0), f[w.Y]
    place = add(m, f, r.FIELD, label, 21.0, MARGIN, right)
    m[place + nd.DETAIL], m[place + nd.TAP], m[place + nd.HOLD] = content, nd.FOCUS_ON, nd.NOTHING
    m[place + nd.CAPTURED] = draft
    m[place + nd.FOCUSED] = m[screen + FOCUS] >> 3 == draft + 1
    if m[w.FIELD_COUNT] < w.MOST_FIELDS:
        m[w.FIELDS + m[w.FIELD_COUNT]] = draft
        m[w.FIELD_COUNT] += 1
    if full:
        put_text(m, pool, pool[CLEAR_TEXT])
        put(m, 32)
        put_text(m, pool, label)
        clear = node(m, f, r.BUTTON, take_text(m), right, y, WIDTH - MARGIN, y + 21.0 * f[w.DENSITY])
        m[clear + nd.ICON], m[clear + nd.LOOK] = pool[ICON_CLOSE], r.INSET
        m[clear + nd.TAP], m[clear + nd.CAPTURED] = nd.CLEAR_FIELD, draft


@compiled
def _stepper(m, f, pool, less, more):  # type: ignore[no-untyped-def]
    high, low, value, label = pop(m), pop(m), pop(m), pop(m)
    y = f[w.Y]
    place = add(m, f, r.TEXT, label, 17.0, MARGIN, WIDTH - 36.0)
    m[place + nd.LOOK], m[place + nd.DETAIL] = r.VALUE, value
    for k in range(2):
        put_text(m, pool, pool[MORE_TEXT if k else LESS_TEXT])
        put(m, 32)
        put_text(m, pool, label)
        x = 88.0 if k else 72.0
        place = node(m, f, r.BUTTON, take_text(m), x, y, x + 16.0, y + 17.0 * f[w.DENSITY])
        m[place + nd.ICON], m[place + nd.LOOK] = pool[ICON_PLUS if k else ICON_MINUS], r.ROUND
        m[place + nd.DISABLED] = truth(m, pool, high if k else low)
        _taps(m, pool, place, more if k else less)


@compiled
def _chip(m, f, pool, unit):  # type: ignore[no-untyped-def]
    chosen, text = pop(m), pop(m)
    x, width = f[w.CHIP_X], 9.0 + 4.4 * size(m, pool, text)
    if x + width > WIDTH - MARGIN and x > MARGIN:
        x = MARGIN
        f[w.Y] += 15.0 * f[w.DENSITY]
    y = f[w.Y]
    place = node(m, f, r.CHIP, text, x, y, min(x + width, WIDTH - 2.0), y + 13.0 * f[w.DENSITY])
    m[place + nd.COLOUR] = m[w.PAGE_COLOUR]
    _switched(m, pool, place, chosen, w.FALSE)
    _taps(m, pool, place, unit)
    f[w.CHIP_X] = x + width + 3.0


@compiled
def paragraph(m, f, pool, text, look):  # type: ignore[no-untyped-def]
    """Text, wrapped at word ends; each line is an element of its own."""
    height = 15.0 if look == r.BIG else 9.5
    i, n = 0, size(m, pool, text)
    while i < n:
        i = line(m, pool, text, i, 15 if look == r.BIG else 30 if look == r.SMALL else LINE_CHARS)
        if m[w.SCRATCH_LENGTH]:
            place = add(m, f, r.TEXT, take_text(m), height, MARGIN, WIDTH - MARGIN)
            m[place + nd.LOOK] = look


@compiled
def line(m, pool, text, i, width):  # type: ignore[no-untyped-def]
    """Puts a text's next line, from its ``i``-th character on, onto the scratch pad; where the one after it starts."""
    p, n, used = text >> 3, size(m, pool, text), 0
    while i < n:
        while i < n and _blank(character(m, pool, p, i)):
            i += 1
        j = i
        while j < n and not _blank(character(m, pool, p, j)):
            j += 1
        if j == i or (used and used + 1 + j - i > width):
            break
        if used:
            put(m, 32)
        used += j - i + (1 if used else 0)
        for k in range(i, j):
            put(m, character(m, pool, p, k))
        i = j
    return i


@compiled
def _blank(c):  # type: ignore[no-untyped-def]
    return c == 32 or 9 <= c <= 13
