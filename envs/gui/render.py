"""Pixels: display lists of rectangles, text and icons, painted by one compiled kernel from an atlas of glyphs.

The atlas is rasterised once per size with Pillow's own font (Aileron, inside the Pillow package); after that a frame is
one call of :func:`_paint`. Nothing depends on the machine's fonts.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from .compiled.jit import compiled
from .icons import ICONS, mask
from .ui import WIDTH

FONTS = (7, 8, 9, 14, 26)  # logical heights
ICON_SIZES = (9, 12, 20, 26)
ICON_INDEX = {name: i for i, name in enumerate(ICONS)}
SIZES = np.array([*FONTS, *ICON_SIZES], np.float64)
FIRST, LAST = 32, 126  # printable ASCII
CAP_HEIGHT = 0.7  # of the font's height
SEED = 24  # pixels of a row that are written one by one, before the rest is copied: more than fit in two registers

CLIP, RECT, TEXT, SHADE, GRADIENT = range(5)
COLUMNS = 9  # op, x0, y0, x1, y1, colour, two parameters, and for TEXT the number of characters

Picture = tuple[bytes, bytes]
"""A display list as (numbers, characters): two screens look the same exactly if their pictures are equal."""


class DisplayList:
    """What to paint, in logical coordinates, back to front."""

    def __init__(self) -> None:
        self._ops: list[float] = []
        self._text: list[str] = []

    def clip(self, y0: float, y1: float) -> None:
        """Limits what follows to rows from ``y0`` to ``y1``."""
        self._ops += (CLIP, 0, y0, 0, y1, 0, 0, 0, 0)

    def rect(self, x0: float, y0: float, x1: float, y1: float, colour: int, radius: float = 0.0) -> None:
        """A filled rectangle with round corners; coordinates snap to pixels, corners are smooth."""
        self._ops += (RECT, x0, y0, x1, y1, colour, radius, 0, 0)

    def text(self, x0: float, y: float, x1: float, text: str, font: int, colour: int, align: int = 0) -> None:
        """One line centred on height ``y``, cut off with dots at ``x1``; ``align`` 0 left, 1 centre, 2 right."""
        self._ops += (TEXT, x0, y, x1, 0, colour, font, align, len(text))
        self._text.append(text)

    def icon(self, x: float, y: float, name: str, colour: int, size: int = 0) -> None:
        """An icon centred on a point; ``size`` indexes ``ICON_SIZES``."""
        half = ICON_SIZES[size] / 2
        self._ops += (TEXT, x - half, y + half, x + 2 * half, 1, colour, len(FONTS) + size, 0, 1)
        self._text.append(chr(FIRST + ICON_INDEX[name]))

    def shade(self, alpha: float) -> None:
        """Darkens everything so far."""
        self._ops += (SHADE, 0, 0, 0, 0, 0, alpha, 0, 0)

    def gradient(self, top: int, bottom: int) -> None:
        """Fills the screen from one colour to another."""
        self._ops += (GRADIENT, 0, 0, 0, 0, top, bottom, 0, 0)

    def picture(self) -> Picture:
        """The finished list."""
        return np.array(self._ops, np.float64).tobytes(), "".join(self._text).encode("ascii", "replace")


class Renderer:
    """Paints phones at one pixel size.

    Args:
        height: pixels.
        width: pixels; 108 logical units.
    """

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width
        self._scale = width / WIDTH
        self._coverage, self._glyphs = atlas(self._scale)

    @property
    def atlas(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64], float]:
        """Coverage, glyphs and scale (:func:`atlas`)."""
        return self._coverage, self._glyphs, self._scale

    def paint(self, picture: Picture, frame: npt.NDArray[np.uint8]) -> None:
        """Paints into ``frame``, uint8 ``[height, width, 3]`` in C order."""
        ops = np.frombuffer(picture[0]).reshape(-1, COLUMNS)
        text = np.frombuffer(picture[1], np.uint8)
        _paint(frame, ops, text, self._coverage, self._glyphs, self._scale)


@lru_cache(maxsize=8)
def atlas(scale: float) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """Coverage of all glyphs end to end, and a table ``[fonts, characters, 6]``: offset, w, h, dx, dy, advance.

    ``dx`` and ``dy`` lead from the pen on the baseline to the glyph's top left pixel. Icons are "fonts" too.
    """
    table = np.zeros((len(FONTS) + len(ICON_SIZES), LAST - FIRST + 1, 6))
    parts: list[npt.NDArray[Any]] = []
    offset = 0
    for f, size in enumerate(FONTS):
        font = ImageFont.load_default(max(size * scale, 5))
        for c in range(FIRST, LAST + 1):
            glyph, dx, dy, advance = _glyph(font, chr(c), size * scale)
            table[f, c - FIRST] = offset, glyph.shape[1], glyph.shape[0], dx, dy, advance
            parts.append(glyph.ravel())
            offset += glyph.size
    for s, size in enumerate(ICON_SIZES):
        pixels = max(round(size * scale), 1)
        for name, i in ICON_INDEX.items():
            table[len(FONTS) + s, i] = offset, pixels, pixels, 0, -pixels, pixels
            parts.append(mask(name, pixels).ravel())
            offset += pixels * pixels
    return np.concatenate(parts), table


def _glyph(font: Any, character: str, size: float) -> tuple[npt.NDArray[np.uint8], int, int, float]:
    pad, side = int(size) + 2, 3 * int(size) + 6
    image = Image.new("L", (side, side), 0)
    ImageDraw.Draw(image).text((pad, 2 * pad), character, 255, font, anchor="ls")
    box = image.getbbox() or (pad, 2 * pad, pad, 2 * pad)
    return np.asarray(image.crop(box)), box[0] - pad, box[1] - 2 * pad, font.getlength(character)


@compiled
def _blend(row, x, r, g, b, a):  # type: ignore[no-untyped-def]
    """Mixes a colour into a pixel, with a share of ``a`` / 255; rounded to the nearest, as (v + 127) // 255 would."""
    k, i = 255 - a, 3 * x
    u, v, w = row[i] * k + r * a + 128, row[i + 1] * k + g * a + 128, row[i + 2] * k + b * a + 128
    row[i], row[i + 1], row[i + 2] = (u + (u >> 8)) >> 8, (v + (v >> 8)) >> 8, (w + (w >> 8)) >> 8


@compiled
def _block(rows, x0, y0, x1, y1, r, g, b):  # type: ignore[no-untyped-def]
    """Pixels of one colour: the first few one by one, the rest of the row from those, further rows from the first."""
    if x0 >= x1 or y0 >= y1:
        return
    first, n = rows[y0, 3 * x0 : 3 * x1], 3 * (x1 - x0)
    for x in range(min(x1 - x0, SEED)):
        first[3 * x], first[3 * x + 1], first[3 * x + 2] = r, g, b
    for i in range(n - 3 * SEED):
        first[i + 3 * SEED] = first[i]
    for y in range(y0 + 1, y1):
        row = rows[y, 3 * x0 : 3 * x1]
        for i in range(n):
            row[i] = first[i]


@compiled
def _rect(rows, x0, y0, x1, y1, top, bottom, radius, r, g, b):  # type: ignore[no-untyped-def]
    """Rows outside [top, bottom) are clipped; a corner pixel is covered by how far it lies inside the circle."""
    left, right, upper, lower = max(x0, 0), min(x1, rows.shape[1] // 3), max(y0, top), min(y1, bottom)
    if left >= right or upper >= lower:
        return
    # Columns from p to q and rows from u to v have no corners.
    p, q, u, v = left, right, upper, lower
    while p < right and p + 0.5 < x0 + radius:
        p += 1
    while q > p and q - 0.5 > x1 - radius:
        q -= 1
    while u < lower and u + 0.5 < y0 + radius:
        u += 1
    while v > u and v - 0.5 > y1 - radius:
        v -= 1
    _block(rows, left, u, right, v, r, g, b)
    _block(rows, p, upper, q, u, r, g, b)
    _block(rows, p, v, q, lower, r, g, b)
    for k in range((u - upper) + (lower - v)):
        y = upper + k if upper + k < u else v + k - (u - upper)
        dy = max(y0 + radius - (y + 0.5), (y + 0.5) - (y1 - radius))
        row = rows[y]
        for j in range((p - left) + (right - q)):
            x = left + j if left + j < p else q + j - (p - left)
            dx = max(x0 + radius - (x + 0.5), (x + 0.5) - (x1 - radius))
            cover = min(max(radius + 0.5 - np.sqrt(dx * dx + dy * dy), 0.0), 1.0)
            if cover > 0.0:
                _blend(row, x, r, g, b, int(cover * 255))


@compiled
def _text(rows, pen, base, limit, total, top, bottom, codes, coverage, glyphs, r, g, b):  # type: ignore[no-untyped-def]
    """Characters of one font from the pen on, ``total`` wide; what would pass ``limit`` gives way to two dots."""
    dots = glyphs[46 - FIRST, 5]
    cut = pen + total > limit
    n = len(codes)
    for i in range(n + 2):
        if i >= n and not cut:
            break
        glyph = glyphs[(codes[i] if i < n else 46) - FIRST]
        advance = glyph[5]
        if cut and i < n and pen + advance + 2 * dots > limit:
            continue
        offset, w, h = int(glyph[0]), int(glyph[1]), int(glyph[2])
        left, up = int(np.floor(pen + 0.5)) + int(glyph[3]), base + int(glyph[4])
        x0, x1 = max(left, 0), min(left + w, rows.shape[1] // 3)
        for y in range(max(up, top), min(up + h, bottom)):
            row, start = rows[y], offset + (y - up) * w - left
            for x in range(x0, x1):
                a = coverage[start + x]
                if a > 0:
                    _blend(row, x, r, g, b, a)
        pen += advance


@compiled
def _fill(rows, op, top, bottom):  # type: ignore[no-untyped-def]
    """SHADE and GRADIENT: every pixel of the clip."""
    height, n = rows.shape[0], rows.shape[1]
    a, b = int(op[5]), int(op[6])
    for y in range(top, bottom):
        row = rows[y]
        if op[0] == GRADIENT:
            share = y / (height - 1)
            red = int(((a >> 16) & 255) * (1 - share) + ((b >> 16) & 255) * share)
            green = int(((a >> 8) & 255) * (1 - share) + ((b >> 8) & 255) * share)
            blue = int((a & 255) * (1 - share) + (b & 255) * share)
            _block(rows, 0, y, n // 3, y + 1, red, green, blue)
        elif op[6] == 0.5:
            for i in range(n):
                row[i] = row[i] >> 1
        else:
            for i in range(n):
                row[i] = int(row[i] * (1 - op[6]))


@compiled
def _paint(frame, ops, text, coverage, glyphs, scale):  # type: ignore[no-untyped-def]
    top, bottom, start = 0, frame.shape[0], 0
    rows = frame.reshape(frame.shape[0], 3 * frame.shape[1])
    for k in range(ops.shape[0]):
        op = ops[k]
        kind, colour = int(op[0]), int(op[5])
        r, g, b = (colour >> 16) & 255, (colour >> 8) & 255, colour & 255
        x0, y0, x1, y1 = op[1] * scale, op[2] * scale, op[3] * scale, op[4] * scale
        if kind == CLIP:
            top, bottom = max(round(y0), 0), min(round(y1), frame.shape[0])
        elif kind == RECT:
            radius = op[6] * scale
            _rect(rows, round(x0), round(y0), round(x1), round(y1), top, bottom, radius, r, g, b)
        elif kind == TEXT:
            n, font = int(op[8]), int(op[6])
            codes, table = text[start : start + n], glyphs[font]
            start += n
            pen, width = x0, 0.0
            for code in codes:
                width += table[code - FIRST, 5]
            if op[7] > 0:
                pen = max(x0, x1 - width) if op[7] == 2 else max(x0, (x0 + x1 - width) / 2)
            base = y0
            if op[4] == 0:
                base += CAP_HEIGHT / 2 * SIZES[font] * scale
            line = int(np.floor(base + 0.5))
            _text(rows, pen, line, x1 + 0.5, width, top, bottom, codes, coverage, table, r, g, b)
        else:
            _fill(rows, op, top, bottom)
