"""Icons as shapes on a 24 x 24 grid, drawn once per size into a mask of coverage."""

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Shape = tuple[str, tuple[float, ...]]
"""Kind and numbers: ``line`` (width, x, y, x, y, ...), ``fill`` (x, y, ...), ``disc`` (x, y, r), ``ring`` (x, y, r, w),
``box`` (x0, y0, x1, y1, radius), ``frame`` (the same and a width), ``arc`` (x, y, r, from, to, width; degrees),
``hole`` (x, y, r) and ``slot`` (x0, y0, x1, y1, radius) which cut out."""

OVERSAMPLE = 4


def _star(outer: float, inner: float) -> tuple[float, ...]:
    points: list[float] = []
    for i in range(10):
        radius, angle = (outer, inner)[i % 2], math.pi * (i / 5 - 0.5)
        points += [12 + radius * math.cos(angle), 12.6 + radius * math.sin(angle)]
    return tuple(points)


def _spokes(width: float, start: float, end: float) -> tuple[Shape, ...]:
    turns = [(math.cos(math.pi * i / 4), math.sin(math.pi * i / 4)) for i in range(8)]
    return tuple(("line", (width, 12 + start * c, 12 + start * s, 12 + end * c, 12 + end * s)) for c, s in turns)


HEART = (
    12,
    20.5,
    4,
    12.5,
    3,
    8.5,
    4.6,
    5.4,
    7.8,
    4.4,
    10.4,
    5.4,
    12,
    7.6,
    13.6,
    5.4,
    16.2,
    4.4,
    19.4,
    5.4,
    21,
    8.5,
    20,
    12.5,
)
RUNE = (1.8, 7, 8, 17, 16, 12, 20.5, 12, 3.5, 17, 8, 7, 16)

ICONS: dict[str, tuple[Shape, ...]] = {
    "back": (("line", (2.4, 19, 12, 5, 12)), ("line", (2.4, 11, 6, 5, 12, 11, 18))),
    "bag": (("box", (4, 8, 20, 21, 2)), ("arc", (12, 8, 4.2, 180, 360, 2))),
    "battery": (("frame", (2, 7, 19, 17, 2, 1.8)), ("box", (20, 10, 22.5, 14, 1)), ("box", (5, 10, 13, 14, 0.5))),
    "bell": (
        ("disc", (12, 10, 5.8)), ("fill", (6.2, 10, 17.8, 10, 20, 17.6, 4, 17.6)), ("disc", (12, 19.4, 2.2)),
        ("disc", (12, 4, 1.4)),
    ),
    "bluetooth": (("line", RUNE),),
    "book": (("box", (5, 3, 19, 21, 2)), ("slot", (8, 7, 16, 9, 0.5)), ("slot", (8, 11, 16, 13, 0.5))),
    "box": (("box", (3, 4, 21, 9, 1)), ("box", (4.5, 10.4, 19.5, 21, 1)), ("slot", (9.5, 12.4, 14.5, 14.4, 0.8))),
    "check": (("line", (2.8, 4.5, 12.5, 10, 18, 20, 6.5)),),
    "chevron": (("line", (2.2, 9, 6, 15, 12, 9, 18)),),
    "close": (("line", (2.2, 6.5, 6.5, 17.5, 17.5)), ("line", (2.2, 17.5, 6.5, 6.5, 17.5))),
    "enter": (("line", (2.2, 19, 6, 19, 13, 6, 13)), ("line", (2.2, 10, 9, 6, 13, 10, 17))),
    "gear": (*_spokes(4.4, 0, 9.2), ("disc", (12, 12, 7.2)), ("hole", (12, 12, 3.2))),
    "globe": (("ring", (12, 12, 9, 1.8)), ("line", (1.6, 3.5, 12, 20.5, 12)), ("line", (1.6, 12, 3.5, 8.5, 12, 12,
        20.5, 15.5, 12, 12, 3.5))),
    "handset": (("line", (4.6, 6.5, 5.5, 7.2, 10, 10.2, 14, 14.2, 17, 18.6, 17.6)), ("disc", (7.2, 6.6, 3)),
        ("disc", (17.4, 17, 3))),
    "heart": (("fill", HEART),),
    "heart_outline": (("line", (1.8, *HEART, *HEART[:2])),),
    "home": (("fill", (12, 3, 22, 12, 2, 12)), ("box", (5, 11, 19, 21, 1)), ("slot", (10, 14, 14, 21.5, 0.5))),
    "incoming": (("line", (2.2, 18, 6, 7, 17)), ("line", (2.2, 7, 9, 7, 17, 15, 17))),
    "info": (("disc", (12, 12, 9)), ("hole", (12, 7.6, 1.4)), ("slot", (10.8, 10.4, 13.2, 17, 0.6))),
    "keypad": tuple(("disc", (6 + 6 * (i % 3), 6 + 6 * (i // 3), 1.9)) for i in range(9)),
    "lamp": (("fill", (8, 3, 16, 3, 20, 13, 4, 13)), ("box", (11, 13, 13, 19, 0)), ("box", (7, 19, 17, 21, 1))),
    "mail": (("frame", (2.5, 5, 21.5, 19, 2, 1.8)), ("line", (1.8, 3.5, 7, 12, 13, 20.5, 7))),
    "minus": (("line", (2.6, 5.5, 12, 18.5, 12)),),
    "missed": (("line", (2, 6, 6, 18, 18)), ("line", (2, 18, 6, 6, 18))),
    "mug": (("box", (4, 6, 16, 20, 2)), ("ring", (16, 12, 4, 2))),
    "outgoing": (("line", (2.2, 6, 18, 17, 7)), ("line", (2.2, 9, 7, 17, 7, 17, 15))),
    "pencil": (("fill", (4, 20, 5, 15.5, 15.5, 5, 19, 8.5, 8.5, 19)), ("fill", (16.6, 4, 18.4, 2.6, 21.4, 5.6, 20,
        7.4))),
    "person": (("disc", (12, 8, 4.6)), ("disc", (12, 20.4, 7.6)), ("slot", (0, 21.5, 24, 29, 0))),
    "plane": (("fill", (12, 1.5, 13.6, 4, 13.6, 9, 22, 14.5, 22, 16.6, 13.6, 14, 13.6, 19, 16.4, 21.2, 16.4, 22.6,
        12, 21.4, 7.6, 22.6, 7.6, 21.2, 10.4, 19, 10.4, 14, 2, 16.6, 2, 14.5, 10.4, 9, 10.4, 4)),),
    "plant": (("fill", (6, 14, 18, 14, 16, 22, 8, 22)), ("line", (1.8, 12, 14, 12, 6)), ("disc", (8.6, 8, 3.6)),
        ("disc", (15.4, 6, 3.6))),
    "plus": (("line", (2.6, 5, 12, 19, 12)), ("line", (2.6, 12, 5, 12, 19))),
    "search": (("ring", (10.5, 10.5, 6, 2.2)), ("line", (2.6, 15, 15, 20, 20))),
    "shirt": (("fill", (8, 3, 16, 3, 22, 7, 19.5, 12, 17, 10.6, 17, 21, 7, 21, 7, 10.6, 4.5, 12, 2, 7)), ("hole",
        (12, 2.6, 2.6))),
    "spinner": (("arc", (12, 12, 8.5, -60, 210, 2.6)),),
    "star": (("fill", _star(10, 4.4)),),
    "star_outline": (("line", (1.6, *_star(9, 4), *_star(9, 4)[:2])),),
    "sun": (("disc", (12, 12, 4.4)), *_spokes(2, 6.8, 9.4)),
    "trash": (("box", (6, 8, 18, 21.5, 2)), ("box", (4, 4.6, 20, 6.8, 0.8)), ("box", (9.4, 2.6, 14.6, 5, 0.8)),
        ("slot", (9, 11, 10.6, 18.6, 0.5)), ("slot", (13.4, 11, 15, 18.6, 0.5))),
    "wifi": (("arc", (12, 18, 13.5, 225, 315, 2.4)), ("arc", (12, 18, 9, 225, 315, 2.4)), ("arc", (12, 18, 4.6,
        225, 315, 2.4)), ("disc", (12, 18, 1.7))),
    "shift": (("fill", (12, 3, 21, 13, 16, 13, 16, 20, 8, 20, 8, 13, 3, 13)),),
    "folder": (("box", (2.5, 5, 11, 10, 1.5)), ("box", (2.5, 7.5, 21.5, 19.5, 1.5))),
    "pin": (("disc", (12, 9, 7)), ("fill", (5.6, 11.8, 18.4, 11.8, 12, 22.5)), ("hole", (12, 9, 2.6))),
    "music": (("disc", (7, 18, 3.6)), ("disc", (17.4, 16, 3.6)), ("line", (2, 9.6, 18, 9.6, 5, 20, 3, 20, 16))),
    "play": (("fill", (7, 3.5, 20.5, 12, 7, 20.5)),),
    "pause": (("box", (5.5, 4, 10, 20, 1)), ("box", (14, 4, 18.5, 20, 1))),
    "route": (("ring", (6, 18, 2.6, 1.8)), ("line", (2.2, 9, 18, 16, 18, 16, 7)), ("fill", (11, 9, 16, 2.5, 21, 9))),
    "page": (("box", (4.5, 2.5, 19.5, 21.5, 1.5)), ("slot", (8, 7, 16, 8.6, 0.4)), ("slot", (8, 11, 16, 12.6, 0.4)),
        ("slot", (8, 15, 13, 16.6, 0.4))),
    "copy": (("frame", (8, 8, 20.5, 20.5, 1.5, 2)), ("box", (3.5, 3.5, 15, 5.5, 0.8)), ("box", (3.5, 3.5, 5.5, 15,
        0.8))),
    "list": (("line", (2.4, 9, 6, 20, 6)), ("line", (2.4, 9, 12, 20, 12)), ("line", (2.4, 9, 18, 20, 18)),
        ("disc", (4.4, 6, 1.6)), ("disc", (4.4, 12, 1.6)), ("disc", (4.4, 18, 1.6))),
    "car": (("fill", (7, 6, 17, 6, 20, 12, 4, 12)), ("box", (2.5, 11, 21.5, 17.5, 1.5)), ("disc", (7, 18, 2.6)),
        ("disc", (17, 18, 2.6))),
    "fish": (("disc", (10, 12, 5.4)), ("fill", (4, 12, 9, 7, 15, 9, 21.5, 5.5, 21.5, 18.5, 15, 15, 9, 17)), ("hole",
        (7.6, 10.8, 1))),
    "boat": (("fill", (2.5, 15, 21.5, 15, 18, 20.5, 6, 20.5)), ("fill", (11, 2.5, 11, 13.5, 4, 13.5)), ("fill", (12.8,
        5, 19, 13.5, 12.8, 13.5))),
    "tree": (("disc", (12, 8.5, 6.5)), ("box", (10.6, 12, 13.4, 21.5, 0.8))),
    "chat": (("box", (2.5, 4, 21.5, 17, 4)), ("fill", (6, 15, 13, 16, 5.5, 22)), ("slot", (6.5, 8, 17.5, 9.6, 0.6)),
        ("slot", (6.5, 11.6, 14, 13.2, 0.6))),
    "calendar": (("frame", (3, 5, 21, 21, 2, 1.8)), ("box", (3, 5, 21, 10, 2)), ("box", (7, 2.6, 9, 7, 0.8)),
        ("box", (15, 2.6, 17, 7, 0.8)), ("box", (6.6, 12.6, 10, 16, 0.6)), ("box", (13.8, 12.6, 17.2, 16, 0.6))),
    "clock": (("ring", (12, 12, 9.5, 2)), ("line", (2, 12, 6.5, 12, 12, 16, 14.5))),
    "hourglass": (("fill", (6, 4, 18, 4, 12, 12.6)), ("fill", (12, 11.4, 18, 20, 6, 20)), ("box", (4.5, 2.6, 19.5, 4.6,
        0.8)), ("box", (4.5, 19.4, 19.5, 21.4, 0.8))),
    "block": (("ring", (12, 12, 9.5, 2.2)), ("line", (2.2, 6, 6, 18, 18))),
}  # fmt: skip


def mask(name: str, pixels: int) -> npt.NDArray[np.uint8]:
    """Coverage ``[pixels, pixels]`` (0 to 255) of an icon."""
    side = pixels * OVERSAMPLE
    image = Image.new("L", (side, side), 0)
    draw, unit = ImageDraw.Draw(image), side / 24
    for kind, numbers in ICONS[name]:
        _draw(draw, kind, [number * unit for number in numbers], numbers)
    return np.asarray(image.resize((pixels, pixels), Image.Resampling.BOX))


def _draw(draw: ImageDraw.ImageDraw, kind: str, n: list[float], raw: tuple[float, ...]) -> None:
    if kind == "line":
        points = list(zip(n[1::2], n[2::2], strict=True))
        draw.line(points, 255, round(n[0]), joint="curve")
        for x, y in points:
            _disc(draw, x, y, n[0] / 2, 255)
    elif kind == "fill":
        draw.polygon(n, 255)
    elif kind in ("disc", "hole"):
        _disc(draw, n[0], n[1], n[2], 255 if kind == "disc" else 0)
    elif kind in ("box", "slot"):
        draw.rounded_rectangle(n[:4], n[4], 255 if kind == "box" else 0)
    elif kind == "frame":
        draw.rounded_rectangle(n[:4], n[4], None, 255, round(n[5]))
    elif kind == "ring":
        draw.ellipse((n[0] - n[2], n[1] - n[2], n[0] + n[2], n[1] + n[2]), None, 255, round(n[3]))
    else:
        draw.arc((n[0] - n[2], n[1] - n[2], n[0] + n[2], n[1] + n[2]), raw[3], raw[4], 255, round(n[5]))


def _disc(draw: ImageDraw.ImageDraw, x: float, y: float, r: float, fill: int) -> None:
    draw.ellipse((x - r, y - r, x + r, y + r), fill)
