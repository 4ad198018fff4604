"""A home of receptacles as a picture, in plain Pillow."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

FLOOR, SHELF, EDGE, GOAL = (237, 232, 219), (214, 207, 190), (52, 60, 72), (30, 120, 60)
INK, PALE, ROBOT, ASKED = (20, 20, 20), (150, 145, 130), (30, 70, 160), (160, 30, 30)
PAINT = {
    "red": (200, 40, 40),
    "green": (40, 150, 60),
    "blue": (50, 90, 200),
    "white": (250, 250, 250),
    "black": (30, 30, 30),
}
ACROSS, WIDE, TALL = 5, 126, 130
"""Receptacles a row, and pixels from one to the next."""
HAND = -1
"""The slot of what the robot holds."""


class Thing(NamedTuple):
    """An object as it is shown: ``asked`` ones have a question mark, unseen ones are pale."""

    kind: str
    colour: str
    large: bool
    place: int
    slot: int
    seen: bool
    asked: bool


def draw(
    title: str, places: Sequence[tuple[str, bool]], things: Sequence[Thing], robot: int, notes: Sequence[str]
) -> npt.NDArray[np.uint8]:
    """A frame ``[360, 640, 3]``.

    Args:
        title: above it all.
        places: the name of each receptacle, and whether it is the destination, which has a green edge.
        things: what lies where.
        robot: the receptacle at which it stands, a blue disc.
        notes: three lines at most, below.
    """
    page = Image.new("RGB", (640, 360), FLOOR)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(12)
    pen.text((12, 8), title, fill=INK, font=ImageFont.load_default(16))
    for place, (name, goal) in enumerate(places):
        x, y = _corner(place)
        pen.rectangle((x, y, x + 118, y + 110), fill=SHELF, outline=GOAL if goal else EDGE)
        pen.text((x + 5, y + 3), name, fill=INK, font=font)
    x, y = _corner(robot)
    pen.ellipse((x + 96, y + 88, x + 114, y + 106), fill=ROBOT)
    for thing in things:
        _draw_thing(pen, thing)
    pen.text((12, 304), "\n".join(notes), fill=ROBOT, font=font)
    return np.asarray(page, np.uint8).copy()


def _corner(place: int) -> tuple[int, int]:
    return 8 + WIDE * (place % ACROSS), 40 + TALL * (place // ACROSS)


def _draw_thing(pen: ImageDraw.ImageDraw, thing: Thing) -> None:
    x, y = _corner(thing.place)
    x, y = (x + 78, y + 86) if thing.slot == HAND else (x + 22 + 37 * thing.slot, y + 50)
    radius = 13 if thing.large else 8
    colour = PAINT[thing.colour] if thing.seen else tuple(158 + part // 4 for part in PAINT[thing.colour])
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour, outline=EDGE)
    font = ImageFont.load_default(10)
    pen.text((x - 3 * len(thing.kind), y + 14), thing.kind, fill=INK if thing.seen else PALE, font=font)
    if thing.asked:
        pen.text((x - 3, y - 29), "?", fill=ASKED, font=ImageFont.load_default(12))
