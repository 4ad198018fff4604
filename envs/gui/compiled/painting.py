"""What a compiled phone shows: :func:`tiltyard.envs.gui.paint.describe`, and its pixels.

A display list is equal to the one of the same Python phone in every number and every character.
"""

from .. import paint as painter
from .. import render
from ..paint import HUGE, SMALL, WHITE
from ..render import ICON_INDEX
from ..ui import BAR, HEIGHT, STATUS, WIDTH
from . import memory as w
from . import nodes as nd
from . import roles as r
from .acting import APP, top
from .jit import compiled
from .looks import ACCENT, COLOURS, FAINT, GROUND, PALE, TINTS, mixed, show
from .memory import item, truth
from .pool import APP_SIZE, APPS, LOADING_TEXT
from .shapes import clip, gradient, icon, label, line, rect, shade, written

_SIGNS = (ICON_INDEX["plane"] + 1, ICON_INDEX["wifi"] + 1, ICON_INDEX["bluetooth"] + 1)
_SPINNER = ICON_INDEX["spinner"] + 1
_NIGHT, _BATTERY = 0x0B0D12, painter.mixed(WHITE, 0x202020, 0.35)
_paint = render._paint


@compiled
def paint(m, f, pool, frame, ops, text, coverage, glyphs, scale):  # type: ignore[no-untyped-def]
    """Paints what a phone shows now; every pixel of ``frame`` is written.

    Args:
        m: its memory.
        f: its numbers with a point.
        pool: constants.
        frame: uint8 ``[height, width, 3]``.
        ops: float64 ``[MOST_OPS, 9]``, which may hold anything before.
        text: uint8 ``[MOST_CHARACTERS]``, which may hold anything before.
        coverage: of the atlas (see :func:`tiltyard.envs.gui.render.atlas`).
        glyphs: of the atlas.
        scale: of the atlas, pixels per unit.
    """
    describe(m, f, pool, ops, text)
    _paint(frame, ops[: m[w.DRAWN]], text, coverage, glyphs, scale)


@compiled
def describe(m, f, pool, ops, text):  # type: ignore[no-untyped-def]
    """Writes the display list: ``m[DRAWN]`` rows of ``ops`` and ``m[WRITTEN]`` characters of ``text``."""
    m[w.DRAWN] = m[w.WRITTEN] = 0
    c = 2 * m[w.THEME] + int(truth(m, pool, item(m, pool, m[w.STATUS_FLAGS], 3)))
    page = m[w.PAGE_SHOWN]
    if m[w.STACKED]:
        rect(m, ops, 0.0, 0.0, WIDTH, HEIGHT, COLOURS[c, GROUND], 0.0)
        _page(m, f, pool, ops, text, c)
    else:
        gradient(m, ops, m[w.WALLPAPER], mixed(m[w.WALLPAPER], _NIGHT, 0.65))
        line(m, ops, 0.0, 34.0, WIDTH, HUGE, WHITE, 1)
        _clock(m, ops, text)
        for i in range(page):
            show(m, f, pool, ops, text, m[w.SHOWN + i], c)
    _status(m, pool, ops, text)
    if m[w.LOADING]:
        icon(m, ops, text, 54.0, 96.0, _SPINNER, _app_colour(m, pool), 3)
        label(m, pool, ops, text, 0.0, 118.0, WIDTH, pool[LOADING_TEXT], SMALL, COLOURS[c, FAINT], 1)
    elif m[w.DIALOG_SHOWN]:
        shade(m, ops, 0.5)
        for i in range(page, page + m[w.DIALOG_SHOWN]):
            show(m, f, pool, ops, text, m[w.SHOWN + i], c)


@compiled
def _app_colour(m, pool):  # type: ignore[no-untyped-def]
    return pool[pool[APPS] + APP_SIZE * m[top(m) + APP] + 1]


@compiled
def _page(m, f, pool, ops, text, c):  # type: ignore[no-untyped-def]
    """The column, the bar over it, then what lies over both: keyboard or notification."""
    accent = mixed(_app_colour(m, pool), COLOURS[c, ACCENT], TINTS[c])
    if m[w.LOADING]:
        rect(m, ops, 0.0, 0.0, WIDTH, STATUS + BAR, accent, 0.0)
        return
    shown, n = m[w.PAGE_SHOWN], 0
    while n < shown and not _over(m[m[w.SHOWN + n] + nd.ROLE]):
        n += 1
    clip(m, ops, f[w.PAGE_TOP], f[w.PAGE_BOTTOM])
    for i in range(n):
        if m[m[w.SHOWN + i] + nd.FIXED] == 0:
            show(m, f, pool, ops, text, m[w.SHOWN + i], c)
    _scroll_bar(m, f, ops, c)
    clip(m, ops, 0.0, HEIGHT)
    rect(m, ops, 0.0, 0.0, WIDTH, f[w.PAGE_TOP], accent, 0.0)
    for i in range(n):
        if m[m[w.SHOWN + i] + nd.FIXED]:
            show(m, f, pool, ops, text, m[w.SHOWN + i], c)
    # A dialog takes the keyboard's place in the list of nodes, of which those of the page are then left out.
    first, end = (shown + n, shown + m[w.DIALOG_SHOWN]) if m[w.DIALOG_SHOWN] else (n, shown)
    if n < shown:
        for i in range(first, end):
            show(m, f, pool, ops, text, m[w.SHOWN + i], c)


@compiled
def _over(role):  # type: ignore[no-untyped-def]
    return role == r.KEYBOARD or role == r.KEY or role == r.NOTIFICATION


@compiled
def _scroll_bar(m, f, ops, c):  # type: ignore[no-untyped-def]
    room = f[w.PAGE_BOTTOM] - f[w.PAGE_TOP]
    longest = max(0.0, f[w.Y] + 4.0 - room)
    if longest > 0:
        share = room / (room + longest)
        y = f[w.PAGE_TOP] + (room - room * share) * f[m[w.STACKED] - 1] / longest
        rect(m, ops, WIDTH - 2, y + 1, WIDTH - 0.6, y + room * share - 1, COLOURS[c, PALE], 0.7)


@compiled
def _clock(m, ops, text):  # type: ignore[no-untyped-def]
    """Hours and minutes, as characters of the line that was begun."""
    hours, minutes = m[w.CLOCK] // 60, m[w.CLOCK] % 60
    for code in (48 + hours // 10, 48 + hours % 10, 58, 48 + minutes // 10, 48 + minutes % 10):
        written(m, ops, text, code)


@compiled
def _status(m, pool, ops, text):  # type: ignore[no-untyped-def]
    """Signs of the radios, the clock (which the home screen shows larger), the battery."""
    x = WIDTH - 17.0
    for k in range(3):
        if truth(m, pool, item(m, pool, m[w.STATUS_FLAGS], k)):
            icon(m, ops, text, x - 5, 5.0, _SIGNS[k], WHITE, 0)
            x -= 10
    if m[w.STACKED]:
        line(m, ops, 3.0, 5.2, 40.0, SMALL, WHITE, 0)
        _clock(m, ops, text)
    rect(m, ops, WIDTH - 16, 2.6, WIDTH - 4, 7.6, _BATTERY, 1.5)
    rect(m, ops, WIDTH - 16, 2.6, WIDTH - 16 + 12 * m[w.CHARGE] / 100, 7.6, WHITE, 1.5)
