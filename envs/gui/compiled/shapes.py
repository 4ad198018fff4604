"""Display lists in arrays: what :class:`tiltyard.envs.gui.render.DisplayList` appends to lists, compiled.

``ops`` is float64 ``[n, 9]`` and ``text`` uint8; ``m`` knows how much of both is written. What finds no room is left
out, and is a fault.
"""

from ..render import CLIP, FIRST, FONTS, GRADIENT, ICON_SIZES, RECT, SHADE, TEXT
from . import memory as w
from .jit import compiled, inlined
from .memory import at

MOST_OPS, MOST_CHARACTERS = 1024, 8192
"""Room for any screen: 256 nodes make at most six operations each where they are rows, and no screen holds 100 rows."""
TOO_MUCH = 15
_ICON_FONTS = len(FONTS)


@inlined
def _op(m, ops, kind, x0, y0, x1, y1, colour, first, second, length):  # type: ignore[no-untyped-def]
    n = m[w.DRAWN]
    if n >= ops.shape[0]:
        m[w.FAULT] = TOO_MUCH
        return
    m[w.DRAWN] = n + 1
    ops[n, 0], ops[n, 1], ops[n, 2], ops[n, 3], ops[n, 4] = kind, x0, y0, x1, y1
    ops[n, 5], ops[n, 6], ops[n, 7], ops[n, 8] = colour, first, second, length


@inlined
def written(m, ops, text, c):  # type: ignore[no-untyped-def]
    """A character more of the last operation's text."""
    n = m[w.WRITTEN]
    if n >= text.shape[0] or m[w.DRAWN] == 0:
        m[w.FAULT] = TOO_MUCH
        return
    text[n] = c
    m[w.WRITTEN] = n + 1
    ops[m[w.DRAWN] - 1, 8] += 1.0


@compiled
def clip(m, ops, y0, y1):  # type: ignore[no-untyped-def]
    """Limits what follows to rows from ``y0`` to ``y1``."""
    _op(m, ops, CLIP, 0.0, y0, 0.0, y1, 0, 0.0, 0, 0)


@compiled
def rect(m, ops, x0, y0, x1, y1, colour, radius):  # type: ignore[no-untyped-def]
    """A filled rectangle with round corners."""
    _op(m, ops, RECT, x0, y0, x1, y1, colour, radius, 0, 0)


@compiled
def line(m, ops, x0, y, x1, font, colour, align):  # type: ignore[no-untyped-def]
    """A line of text that has no characters yet."""
    _op(m, ops, TEXT, x0, y, x1, 0.0, colour, font, align, 0)


@compiled
def label(m, pool, ops, text, x0, y, x1, value, font, colour, align):  # type: ignore[no-untyped-def]
    """A line of text: a value of the phone's memory, of which only texts have characters."""
    _op(m, ops, TEXT, x0, y, x1, 0.0, colour, font, align, 0)
    if value & 7 != w.TEXT:
        return
    p, n = value >> 3, m[w.WRITTEN]
    length = at(m, pool, p, 0)
    if n + length > text.shape[0] or m[w.DRAWN] == 0:
        m[w.FAULT] = TOO_MUCH
        return
    for k in range((length + 7) >> 3):
        word = at(m, pool, p, w.TEXT_HEADER + k)
        for i in range(n + 8 * k, n + min(8 * k + 8, length)):
            text[i] = word & 255
            word >>= 8
    m[w.WRITTEN] = n + length
    ops[m[w.DRAWN] - 1, 8] = length


@compiled
def icon(m, ops, text, x, y, number, colour, size):  # type: ignore[no-untyped-def]
    """An icon (its number, 1 added) centred on a point; ``size`` is an index."""
    half = ICON_SIZES[size] / 2
    _op(m, ops, TEXT, x - half, y + half, x + 2 * half, 1.0, colour, _ICON_FONTS + size, 0, 0)
    written(m, ops, text, FIRST + number - 1)


@compiled
def shade(m, ops, alpha):  # type: ignore[no-untyped-def]
    """Darkens everything so far."""
    _op(m, ops, SHADE, 0.0, 0.0, 0.0, 0.0, 0, alpha, 0, 0)


@compiled
def gradient(m, ops, top, bottom):  # type: ignore[no-untyped-def]
    """Fills the screen from one colour to another."""
    _op(m, ops, GRADIENT, 0.0, 0.0, 0.0, 0.0, top, float(bottom), 0, 0)
