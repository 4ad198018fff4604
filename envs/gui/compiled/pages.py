"""What is on the screen: the page is built, laid out and scrolled, and the nodes that can be seen are listed."""

from ..ui import BAR, HEIGHT, KEYBOARD, LEAST_VISIBLE, MARGIN, STATUS, WIDTH
from . import memory as w
from . import nodes as nd
from . import roles as r
from .acting import APP, BODY, BUTTONS, FAILED, FOCUS, TITLE, VIEW, top
from .calling import run
from .jit import compiled, inlined
from .memory import size
from .nodes import node
from .phones import draw_apps
from .pool import (
    ADVERTS,
    APP_SIZE,
    APPS,
    EMPTY,
    FAILED_TEXT,
    ICON_INFO,
    ICON_SPINNER,
    KEY_SIZE,
    KEYS,
    LOADING_TEXT,
    NEEDS,
    NOTICES,
    RETRY_TEXT,
    SHOWN_COUNT,
    SPONSORED_TEXT,
    VIEWS,
)
from .pool import STATUS as STATUS_CODE
from .widgets import add, bar, empty, line


@compiled
def refresh(m, f, code, pool):  # type: ignore[no-untyped-def]
    """Builds what is on the screen now."""
    m[w.NODE_COUNT] = m[w.PAGE_SHOWN] = m[w.DIALOG_SHOWN] = m[w.FIELD_COUNT] = m[w.ENTER_UNIT] = 0
    m[w.SWIPE_LEFT] = m[w.SWIPE_RIGHT] = 0
    m[w.TITLE] = pool[EMPTY]
    m[w.SP] = 0
    run(m, f, code, pool, pool[STATUS_CODE])
    if m[w.LOADING]:
        place = node(m, f, r.SPINNER, pool[LOADING_TEXT], 42.0, 84.0, 66.0, 108.0)
        m[place + nd.ICON] = pool[ICON_SPINNER]
        m[w.SHOWN], m[w.PAGE_SHOWN] = place, 1
        return
    f[w.Y], f[w.PAGE_TOP], f[w.PAGE_BOTTOM] = 3.0, STATUS, HEIGHT
    if m[w.STACKED]:
        _app_page(m, f, code, pool)
    else:
        _home(m, f, pool)
    lay_out(m, f)
    if m[w.STACKED] and m[top(m) + FOCUS] >> 3:
        keyboard(m, f, pool)
    if m[w.HAS_DIALOG]:
        _dialog(m, f, pool)
    elif m[w.NOTICED]:
        _notification(m, f, pool)


@compiled
def _app_page(m, f, code, pool):  # type: ignore[no-untyped-def]
    screen = top(m)
    app, view = m[screen + APP], m[screen + VIEW]
    entry = pool[APPS] + APP_SIZE * app
    m[w.PAGE_COLOUR] = pool[entry + 1]
    if m[screen + FAILED] == w.TRUE:
        m[w.PAGE_COLOUR] = 0
        bar(m, f, pool, pool[entry], 1, 0)
        empty(m, f, pool, pool[FAILED_TEXT], pool[ICON_INFO])
        f[w.Y] += 2.0 * f[w.DENSITY]
        place = add(m, f, r.BUTTON, pool[RETRY_TEXT], 16.0, MARGIN, WIDTH - MARGIN)
        f[w.Y] += 2.0 * f[w.DENSITY]
        m[place + nd.LOOK], m[place + nd.TAP] = r.PRIMARY, nd.RETRY
    else:
        draw_apps(m, f, code, pool, pool[pool[NEEDS] + view])
        if m[w.ADVERT_APP] == app + 1:
            advert = pool[ADVERTS] + 3 * m[w.ADVERT]
            place = add(m, f, r.ROW, pool[advert + 1], 21.0, 0.0, WIDTH)
            m[place + nd.DETAIL], m[place + nd.ICON] = pool[SPONSORED_TEXT], pool[advert + 2]
            m[place + nd.TAP], m[place + nd.CAPTURED] = nd.TEMPT, pool[advert]
        m[w.SP], m[w.SELF] = 0, screen
        run(m, f, code, pool, pool[pool[VIEWS] + view])
    focus, found = (m[screen + FOCUS] >> 3) - 1, False
    for k in range(m[w.FIELD_COUNT]):
        found = found or m[w.FIELDS + k] == focus
    if not found:
        m[screen + FOCUS] = w.INT


@compiled
def _home(m, f, pool):  # type: ignore[no-untyped-def]
    """App icons, three a line; closer together where there are more than nine."""
    close = pool[SHOWN_COUNT] > 9
    above, step, height = (46.0, 36.0, 34.0) if close else (62.0, 40.0, 36.0)
    for n in range(pool[SHOWN_COUNT]):
        app = m[w.HOME_ORDER + n]
        entry = pool[APPS] + APP_SIZE * app
        x, y = 6.0 + 34.0 * (n % 3), above + step * (n // 3)
        place = node(m, f, r.APP, pool[entry], x, y, x + 28.0, y + height)
        m[place + nd.COLOUR], m[place + nd.ICON] = pool[entry + 1], pool[entry + 2]
        m[place + nd.TAP], m[place + nd.CAPTURED], m[place + nd.FIXED] = nd.LAUNCH, app, 1


@inlined
def longest_scroll(f):  # type: ignore[no-untyped-def]
    """How far the column can be scrolled."""
    return max(0.0, f[w.Y] + 4.0 - (f[w.PAGE_BOTTOM] - f[w.PAGE_TOP]))


@compiled
def lay_out(m, f):  # type: ignore[no-untyped-def]
    """Scrolls the column, keeping a focused field in view, and lists the visible nodes, clipped."""
    s = max(m[w.STACKED] - 1, 0)
    scroll = f[s] if m[w.STACKED] else 0.0
    if m[w.STACKED] and m[top(m) + FOCUS] >> 3:
        f[w.PAGE_BOTTOM] = HEIGHT - KEYBOARD
        for i in range(m[w.NODE_COUNT]):
            if m[w.NODES + w.NODE_SIZE * i + nd.FOCUSED]:
                box = w.BOXES + 6 * i
                lowest = f[box + 3] + 4.0 - (f[w.PAGE_BOTTOM] - f[w.PAGE_TOP])
                scroll = min(max(scroll, lowest), f[box + 1])
    scroll = min(max(scroll, 0.0), longest_scroll(f))
    f[s] = scroll
    shift = f[w.PAGE_TOP] - scroll
    n = 0
    for i in range(m[w.NODE_COUNT]):
        if m[w.NODES + w.NODE_SIZE * i + nd.FIXED] == 1:
            m[w.SHOWN + n] = w.NODES + w.NODE_SIZE * i
            n += 1
    for i in range(m[w.NODE_COUNT]):
        place, box = w.NODES + w.NODE_SIZE * i, w.BOXES + 6 * i
        if m[place + nd.FIXED] == 0:
            f[box + 1] += shift
            f[box + 3] += shift
            f[box + 4], f[box + 5] = max(f[box + 1], f[w.PAGE_TOP]), min(f[box + 3], f[w.PAGE_BOTTOM])
            if f[box + 5] - f[box + 4] >= min(LEAST_VISIBLE, f[box + 3] - f[box + 1]):
                m[w.SHOWN + n] = place
                n += 1
    m[w.PAGE_SHOWN] = n


@compiled
def _shown(m, place):  # type: ignore[no-untyped-def]
    """One more node that can be seen: of the page, or of the dialog over it."""
    m[w.SHOWN + m[w.PAGE_SHOWN] + m[w.DIALOG_SHOWN]] = place
    if m[w.DIALOG_SHOWN] or m[place + nd.ROLE] == r.DIALOG:
        m[w.DIALOG_SHOWN] += 1
    else:
        m[w.PAGE_SHOWN] += 1


@compiled
def _dialog(m, f, pool):  # type: ignore[no-untyped-def]
    body = m[w.DIALOG + BODY]
    i, n, lines = 0, size(m, pool, body), 0
    first = m[w.NODE_COUNT]
    box_node = node(m, f, r.DIALOG, m[w.DIALOG + TITLE], 5.0, 0.0, WIDTH - 5.0, 0.0)
    _shown(m, box_node)
    while i < n:
        i = line(m, pool, body, i, 23)
        if m[w.SCRATCH_LENGTH]:
            _shown(m, node(m, f, r.TEXT, w.take_text(m), 10.0, 0.0, WIDTH - 10.0, 0.0))
            lines += 1
    height = 40.0 + 9.5 * lines
    y = (HEIGHT - height) / 2
    _vertical(f, first, y, y + height)
    for k in range(lines):
        _vertical(f, first + 1 + k, y + 16.0 + 9.5 * k, y + 25.5 + 9.5 * k)
    buttons = 0
    while buttons < 4 and m[w.DIALOG + BUTTONS + buttons] != w.NONE:
        buttons += 1
    width = (WIDTH - 16.0) / buttons
    for k in range(buttons):
        x = 8.0 + k * width
        text = m[w.DIALOG + BUTTONS + k]
        place = node(m, f, r.BUTTON, text, x + 1.0, y + height - 19.0, x + width - 1.0, y + height - 4.0)
        m[place + nd.LOOK] = r.PLAIN if k == 0 and buttons > 1 else r.PRIMARY
        m[place + nd.TAP], m[place + nd.CAPTURED] = nd.ANSWER, k
        _shown(m, place)


@compiled
def _vertical(f, i, y0, y1):  # type: ignore[no-untyped-def]
    box = w.BOXES + 6 * i
    f[box + 1], f[box + 3], f[box + 4], f[box + 5] = y0, y1, y0, y1


@compiled
def keyboard(m, f, pool):  # type: ignore[no-untyped-def]
    """The keys under a page whose field is focused."""
    _shown(m, node(m, f, r.KEYBOARD, pool[EMPTY], 0.0, HEIGHT - KEYBOARD, WIDTH, HEIGHT))
    first, n = pool[pool[KEYS] + 2 * m[w.KEYS_PAGE]], pool[pool[KEYS] + 2 * m[w.KEYS_PAGE] + 1]
    for k in range(first, first + n):
        start, box = pool[KEYS] + 6 + KEY_SIZE * k, w.KEY_BOXES + 4 * k
        place = node(m, f, r.KEY, pool[start], f[box], f[box + 1], f[box + 2], f[box + 3])
        m[place + nd.ICON] = pool[start + 3]
        m[place + nd.TAP], m[place + nd.CAPTURED], m[place + nd.CAPTURED + 1] = nd.KEY, pool[start + 1], pool[start + 2]
        _shown(m, place)


@compiled
def _notification(m, f, pool):  # type: ignore[no-untyped-def]
    """A notification over the bar."""
    app = m[w.NOTICE_SHOWN_APP]
    entry = pool[APPS] + APP_SIZE * app
    place = node(m, f, r.NOTIFICATION, pool[entry], 0.0, STATUS, WIDTH, STATUS + BAR)
    m[place + nd.DETAIL], m[place + nd.ICON] = pool[pool[NOTICES] + m[w.NOTICE_SHOWN]], pool[entry + 2]
    m[place + nd.TAP], m[place + nd.CAPTURED] = nd.FOLLOW, app
    _shown(m, place)
