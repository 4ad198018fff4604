"""How each kind of element looks, as in :mod:`tiltyard.envs.gui.paint`: nodes of the table in, a display list out.

``c`` is the row of :data:`COLOURS` that a phone's theme and its dark switch choose.
"""

import numpy as np

from .. import paint
from ..paint import AMBER, BIG, BODY, RED, SMALL, TITLE, WHITE
from ..render import ICON_INDEX
from ..themes import PALETTES, Theme
from ..ui import HEIGHT, KEYBOARD, WIDTH
from . import memory as w
from . import nodes as nd
from . import roles as r
from .jit import compiled, inlined
from .memory import size
from .nodes import box_of
from .shapes import icon, label, rect, written

(
    GROUND, CARD, INK, FAINT, LINE, KEY, ACCENT, CHEVRON, OFF, OFF_DISABLED, ON_DISABLED, PLAIN, DANGER, ROUND,
    ROUND_DISABLED, CHIP, PALE, BOARD,
) = range(18)  # fmt: skip

mixed = compiled(paint.mixed)


def _colours(theme: Theme) -> tuple[int, ...]:
    """A theme's colours, and those that are mixed from them alone."""
    off = paint.mixed(theme.card, theme.faint, 0.55)
    return (
        *(theme.ground, theme.card, theme.ink, theme.faint, theme.line, theme.key, theme.accent),
        paint.mixed(theme.card, theme.faint, 0.7), off, paint.mixed(off, theme.card, 0.6),
        paint.mixed(theme.accent, theme.card, 0.6), paint.mixed(theme.card, theme.faint, 0.22),
        paint.mixed(theme.ground, RED, 0.14), paint.mixed(theme.ground, theme.faint, 0.5),
        *(paint.mixed(theme.ground, theme.faint, share) for share in (0.25, 0.2, 0.6, 0.3)),
    )  # fmt: skip


COLOURS = np.array([_colours(theme) for pair in PALETTES for theme in pair], np.int64)
"""Two rows a palette, light and dark."""
TINTS = np.array([theme.tint for pair in PALETTES for theme in pair])
_STAR, _CHEVRON = ICON_INDEX["star"] + 1, ICON_INDEX["chevron"] + 1
_SILVER, _ON_SILVER, _CALM_TAB, _CARET = 0xE4E6EA, 0x3A3D42, 0xC9D3D6, 124


@inlined
def _middle(f, box):  # type: ignore[no-untyped-def]
    return (f[box + 1] + f[box + 3]) / 2


@inlined
def _full(m, pool, value):  # type: ignore[no-untyped-def]
    """Whether there is a text that is not empty."""
    return value & 7 == w.TEXT and size(m, pool, value) > 0


@compiled
def show(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    """Adds what a node looks like."""
    role = m[place + nd.ROLE]
    if role == r.KEY:
        _key(m, f, pool, ops, text, place, c)
    elif role == r.ROW or role == r.ITEM:
        _row(m, f, pool, ops, text, place, c)
    elif role == r.TEXT:
        _text(m, f, pool, ops, text, place, c)
    elif role == r.BUTTON:
        _button(m, f, pool, ops, text, place, c)
    elif role == r.SWITCH:
        _switch(m, f, pool, ops, text, place, c)
    elif role == r.RADIO:
        _radio(m, f, pool, ops, text, place, c)
    elif role == r.FIELD:
        _field(m, f, pool, ops, text, place, c)
    else:
        _show_rarer(m, f, pool, ops, text, place, c)


@compiled
def _show_rarer(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    role = m[place + nd.ROLE]
    if role == r.APP:
        _app(m, f, pool, ops, text, place)
    elif role == r.IMAGE:
        _image(m, f, ops, text, place, c)
    elif role == r.TAB or role == r.CHIP:
        _chosen(m, f, pool, ops, text, place, c)
    elif role == r.NOTIFICATION:
        _strip(m, f, pool, ops, text, place, c)
    elif role == r.KEYBOARD:
        rect(m, ops, 0.0, HEIGHT - KEYBOARD, WIDTH, HEIGHT, COLOURS[c, BOARD], 0.0)
    else:
        _caption(m, f, pool, ops, text, place, c)


@compiled
def _caption(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    """Titles of bars, captions of groups, and boxes of dialogs."""
    box, said = box_of(place), m[place + nd.TEXT]
    x0, x1, y = f[box], f[box + 2], _middle(f, box)
    if m[place + nd.ROLE] == r.TITLE:
        label(m, pool, ops, text, x0, y, x1, said, TITLE, WHITE, 0)
    elif m[place + nd.ROLE] == r.SECTION:
        label(m, pool, ops, text, x0 + 1, y + 1, x1, said, SMALL, COLOURS[c, FAINT], 0)
    elif m[place + nd.ROLE] == r.DIALOG:
        rect(m, ops, x0, f[box + 1], x1, f[box + 3], COLOURS[c, CARD], 7.0)
        label(m, pool, ops, text, x0 + 6, f[box + 1] + 10, x1 - 4, said, TITLE, COLOURS[c, INK], 0)


@compiled
def _strip(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    """A notification over the bar."""
    box = box_of(place)
    x0, y0, x1, y1, y = f[box], f[box + 1], f[box + 2], f[box + 3], _middle(f, box)
    rect(m, ops, x0 + 2, y0 + 1, x1 - 2, y1 - 1, COLOURS[c, CARD], 4.0)
    icon(m, ops, text, x0 + 11, y, m[place + nd.ICON], COLOURS[c, FAINT], 0)
    label(m, pool, ops, text, x0 + 19, y - 3.8, x1 - 4, m[place + nd.TEXT], SMALL, COLOURS[c, INK], 0)
    label(m, pool, ops, text, x0 + 19, y + 4.2, x1 - 4, m[place + nd.DETAIL], SMALL, COLOURS[c, FAINT], 0)


@compiled
def _app(m, f, pool, ops, text, place):  # type: ignore[no-untyped-def]
    box = box_of(place)
    x0, y0, x1 = f[box], f[box + 1], f[box + 2]
    x = (x0 + x1) / 2
    rect(m, ops, x - 12, y0, x + 12, y0 + 24, mixed(m[place + nd.COLOUR], WHITE, 0.12), 6.0)
    icon(m, ops, text, x, y0 + 12, m[place + nd.ICON], WHITE, 1)
    label(m, pool, ops, text, x0 - 3, y0 + 31, x1 + 3, m[place + nd.TEXT], SMALL, WHITE, 1)


@compiled
def _chosen(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    """Tabs and chips."""
    box, said, on = box_of(place), m[place + nd.TEXT], m[place + nd.CHECKED] == 2
    x0, y0, x1, y1, y = f[box], f[box + 1], f[box + 2], f[box + 3], _middle(f, box)
    if m[place + nd.ROLE] == r.TAB:
        label(m, pool, ops, text, x0 + 1, y, x1 - 1, said, SMALL, WHITE if on else _CALM_TAB, 1)
        if on:
            rect(m, ops, x0 + 4, y1 - 2, x1 - 4, y1, WHITE, 1.0)
        return
    rect(m, ops, x0, y0, x1, y1, m[place + nd.COLOUR] if on else COLOURS[c, CHIP], 6.0)
    label(m, pool, ops, text, x0 + 2, y, x1 - 1, said, SMALL, WHITE if on else COLOURS[c, INK], 1)


@compiled
def _row(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    """Rows of lists; switches and radio buttons lie on one."""
    box, sign, detail = box_of(place), m[place + nd.ICON], m[place + nd.DETAIL]
    x0, y0, x1, y1, y = f[box], f[box + 1], f[box + 2], f[box + 3], _middle(f, box)
    faint, role = COLOURS[c, FAINT], m[place + nd.ROLE]
    rect(m, ops, x0, y0, x1, y1, COLOURS[c, CARD], 0.0)
    rect(m, ops, x0 + 5, y1 - 0.6, x1, y1 + 0.4, COLOURS[c, LINE], 0.0)
    ink = faint if m[place + nd.DISABLED] else COLOURS[c, INK]
    x = 17.0 if sign else 5.0
    if sign:
        icon(m, ops, text, 9.0, y, sign, AMBER if sign == _STAR else faint, 0)
    right = WIDTH - (28.0 if role == r.SWITCH else 12.0)
    if _full(m, pool, detail):
        label(m, pool, ops, text, x, y - 4.6, right, m[place + nd.TEXT], BODY, ink, 0)
        label(m, pool, ops, text, x, y + 4.6, right + 6, detail, SMALL, faint, 0)
    else:
        label(m, pool, ops, text, x, y, right, m[place + nd.TEXT], BODY, ink, 0)
    if role == r.ROW and m[place + nd.TAP] != nd.NOTHING:
        icon(m, ops, text, WIDTH - 7, y, _CHEVRON, COLOURS[c, CHEVRON], 0)


@compiled
def _switch(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    _row(m, f, pool, ops, text, place, c)
    y, on = _middle(f, box_of(place)), m[place + nd.CHECKED] == 2
    if m[place + nd.DISABLED]:
        track = COLOURS[c, ON_DISABLED] if on else COLOURS[c, OFF_DISABLED]
    else:
        track = COLOURS[c, ACCENT] if on else COLOURS[c, OFF]
    rect(m, ops, WIDTH - 24, y - 4.5, WIDTH - 6, y + 4.5, track, 4.5)
    x = WIDTH - 10.5 if on else WIDTH - 19.5
    rect(m, ops, x - 3.5, y - 3.5, x + 3.5, y + 3.5, WHITE, 3.5)


@compiled
def _radio(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    _row(m, f, pool, ops, text, place, c)
    x, y, on = WIDTH - 11.0, _middle(f, box_of(place)), m[place + nd.CHECKED] == 2
    rect(m, ops, x - 4, y - 4, x + 4, y + 4, COLOURS[c, ACCENT] if on else COLOURS[c, FAINT], 4.0)
    rect(m, ops, x - 3, y - 3, x + 3, y + 3, COLOURS[c, CARD], 3.0)
    if on:
        rect(m, ops, x - 2, y - 2, x + 2, y + 2, COLOURS[c, ACCENT], 2.0)


@compiled
def _field(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    box, detail, focused = box_of(place), m[place + nd.DETAIL], m[place + nd.FOCUSED] != 0
    x0, y0, x1, y1, y = f[box], f[box + 1], f[box + 2], f[box + 3], _middle(f, box)
    accent, faint = COLOURS[c, ACCENT], COLOURS[c, FAINT]
    rect(m, ops, x0, y0 + 1, x1, y1 - 1, accent if focused else COLOURS[c, LINE], 3.0)
    rect(m, ops, x0 + 1, y0 + 2, x1 - 1, y1 - 2, COLOURS[c, CARD], 2.4)
    if not _full(m, pool, detail) and not focused:
        label(m, pool, ops, text, x0 + 4, y, x1 - 2, m[place + nd.TEXT], BODY, faint, 0)
        return
    label(m, pool, ops, text, x0 + 4, y - 4.8, x1 - 2, m[place + nd.TEXT], SMALL, accent if focused else faint, 0)
    label(m, pool, ops, text, x0 + 4, y + 4, x1 - 2, detail, BODY, COLOURS[c, INK], 0)
    if focused:
        written(m, ops, text, _CARET)


@compiled
def _button(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    box, look, sign = box_of(place), m[place + nd.LOOK], m[place + nd.ICON]
    x0, y0, x1, y1, y = f[box], f[box + 1], f[box + 2], f[box + 3], _middle(f, box)
    x, disabled = (x0 + x1) / 2, m[place + nd.DISABLED] != 0
    if look == r.BAR:
        icon(m, ops, text, x, y, sign, WHITE, 1)
    elif look == r.ROUND:
        colour = COLOURS[c, ROUND_DISABLED] if disabled else COLOURS[c, ROUND]
        rect(m, ops, x - 6, y - 6, x + 6, y + 6, colour, 6.0)
        icon(m, ops, text, x, y, sign, COLOURS[c, GROUND] if disabled else WHITE, 0)
    elif look == r.INSET:
        icon(m, ops, text, x, y, sign, COLOURS[c, FAINT], 0)
    else:
        fill, ink = m[place + nd.COLOUR], WHITE
        if look == r.PLAIN:
            fill, ink = COLOURS[c, PLAIN], COLOURS[c, INK]
        elif look == r.DANGER:
            fill, ink = COLOURS[c, DANGER], RED
        elif fill == 0:
            fill = COLOURS[c, ACCENT]
        rect(m, ops, x0, y0, x1, y1, fill, 5.0)
        label(m, pool, ops, text, x0 + 2, y, x1 - 2, m[place + nd.TEXT], BODY, ink, 1)


@compiled
def _text(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    box, look, said = box_of(place), m[place + nd.LOOK], m[place + nd.TEXT]
    x0, x1, y, ink = f[box], f[box + 2], _middle(f, box), COLOURS[c, INK]
    if look == r.VALUE:
        start = m[w.WRITTEN]
        label(m, pool, ops, text, x0 + 1, y - 3.8, x1, said, SMALL, COLOURS[c, FAINT], 0)
        _capitalize(text, start, m[w.WRITTEN])
        label(m, pool, ops, text, x0 + 1, y + 4.6, x1, m[place + nd.DETAIL], BODY, ink, 0)
    elif look == r.BIG:
        label(m, pool, ops, text, x0, y, x1, said, BIG, ink, 1)
    elif look == r.CENTRE:
        label(m, pool, ops, text, x0, y, x1, said, BODY, COLOURS[c, FAINT], 1)
    else:
        label(m, pool, ops, text, x0, y, x1, said, BODY, RED if look == r.ERROR else ink, 0)


@compiled
def _capitalize(text, start, stop):  # type: ignore[no-untyped-def]
    """The first letter large, the others small."""
    for i in range(start, stop):
        if i == start and 97 <= text[i] <= 122:
            text[i] -= 32
        elif i > start and 65 <= text[i] <= 90:
            text[i] += 32


@compiled
def _image(m, f, ops, text, place, c):  # type: ignore[no-untyped-def]
    """An icon on a coloured tile, or on none."""
    box, colour, sign = box_of(place), m[place + nd.COLOUR], m[place + nd.ICON]
    x, y = (f[box] + f[box + 2]) / 2, _middle(f, box)
    half = (f[box + 3] - f[box + 1]) / 2 - 3
    if colour:
        rect(m, ops, x - half, y - half, x + half, y + half, colour, half * 0.4)
        ink = _ON_SILVER if colour == _SILVER else WHITE
        icon(m, ops, text, x, y, sign, ink, 2 if half < 16 else 3)
    else:
        icon(m, ops, text, x, y, sign, COLOURS[c, PALE], 2)


@compiled
def _key(m, f, pool, ops, text, place, c):  # type: ignore[no-untyped-def]
    box, sign, ink = box_of(place), m[place + nd.ICON], COLOURS[c, INK]
    x0, x1, y = f[box], f[box + 2], _middle(f, box)
    rect(m, ops, x0 + 0.8, f[box + 1] + 1, x1 - 0.8, f[box + 3] - 1, COLOURS[c, KEY], 2.0)
    if sign:
        icon(m, ops, text, (x0 + x1) / 2, y, sign, ink, 0)
    else:
        label(m, pool, ops, text, x0, y, x1, m[place + nd.TEXT], BODY, ink, 1)
