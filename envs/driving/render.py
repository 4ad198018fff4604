"""A frame of one world from above: the road ahead of the ego, everybody on it, speed, limit, route and time."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from .roads import bearing, centreline
from .state import INFRACTIONS, LANE_WIDTH

SIZE = (800, 240)
FINE = 2  # drawn at twice the size, then reduced: smooth edges
SCALE = 7.0  # pixels per metre
EGO_X = 190  # where the ego drives, in pixels from the left

GRASS, MEADOW, TARMAC, SHOULDER = (104, 142, 92), (97, 134, 86), (74, 78, 86), (92, 96, 103)
PAINT, INK, GLASS, SHADOW = (236, 237, 232), (24, 27, 33), (40, 52, 68), (58, 62, 69)
EGO = (255, 136, 34)
CARS = ((205, 210, 216), (120, 150, 184), (166, 84, 84), (92, 118, 110), (222, 205, 160), (98, 104, 128))
LORRIES = ((232, 232, 226), (70, 110, 150), (146, 120, 86))
BRAKE, BLINK, LAMP = (255, 48, 48), (255, 190, 40), (255, 246, 214)

Points = npt.NDArray[np.float64]


class _View:
    """Road coordinates to pixels: the camera looks along the road about 30 m ahead of the ego, which stays in place."""

    def __init__(self, world: Any, ego: Any) -> None:
        back, ahead = EGO_X / SCALE + 20.0, (SIZE[0] - EGO_X) / SCALE + 20.0
        self.s, x, y, self.bearing = centreline(world, ego["s"] - back, ego["s"] + ahead)
        self.middle = 0.5 * (world["lanes"] - 1) * LANE_WIDTH
        self.tilt = float(bearing(world, np.array([ego["s"] + 30.0]))[0])
        self.line = np.stack([x, y], axis=1)
        self.eye = np.zeros(2)
        at = self.points([ego["s"]], [self.middle])[0]
        self.eye = np.array([EGO_X * FINE, (SIZE[1] / 2 + 14) * FINE]) - at

    def points(self, s: Any, d: Any) -> Points:
        """Pixels ``[m, 2]`` of road points."""
        s, d = np.broadcast_arrays(np.asarray(s, float), np.asarray(d, float))
        angle = np.interp(s, self.s, self.bearing)
        x = np.interp(s, self.s, self.line[:, 0]) - d * np.sin(angle)
        y = np.interp(s, self.s, self.line[:, 1]) + d * np.cos(angle)
        cos, sin = math.cos(self.tilt), math.sin(self.tilt)
        zoom = SCALE * FINE
        return np.stack([(x * cos + y * sin) * zoom, (x * sin - y * cos) * zoom], axis=1) + self.eye

    def ribbon(self, low: float, high: float, start: float | None = None, stop: float | None = None) -> list[Any]:
        """The outline between two offsets, over a stretch of the road (default: all of it)."""
        inside = self.s if start is None or stop is None else np.linspace(start, stop, 8)
        outline = np.concatenate([self.points(inside, low), self.points(inside[::-1], high)])
        return [tuple(point) for point in outline]

    def body(self, car: Any, heading: float, shape: Any) -> list[Any]:
        """Pixels of a shape given in the car's own metres (forward, left)."""
        angle = float(np.interp(car["s"], self.s, self.bearing)) + heading - self.tilt
        cos, sin = math.cos(angle), -math.sin(angle)
        shape = np.asarray(shape, float) * SCALE * FINE
        at = self.points([car["s"]], [car["d"]])[0]
        turned = np.stack([shape[:, 0] * cos + shape[:, 1] * sin, shape[:, 0] * sin - shape[:, 1] * cos], axis=1)
        return [tuple(point) for point in turned + at]


def draw(world: Any, cars: Any) -> npt.NDArray[np.uint8]:
    """Draws one world.

    Args:
        world: a WORLD record.
        cars: its VEHICLE records, the ego first.

    Returns:
        ``[240, 800, 3]`` RGB.
    """
    image = Image.new("RGB", (SIZE[0] * FINE, SIZE[1] * FINE), GRASS)
    brush = ImageDraw.Draw(image, "RGBA")
    view = _View(world, cars[0])
    _draw_road(brush, view, world)
    for k in range(int(world["vehicles"]) - 1, -1, -1):
        if view.s[0] < cars[k]["s"] < view.s[-1]:
            _draw_car(brush, view, cars[k], k, float(world["heading"]))
    _draw_panel(brush, world, cars[0])
    return np.asarray(image.resize(SIZE, Image.Resampling.LANCZOS))


def _draw_road(brush: ImageDraw.ImageDraw, view: _View, world: Any) -> None:
    right, left = -0.5 * LANE_WIDTH, (float(world["lanes"]) - 0.5) * LANE_WIDTH
    for start in np.arange(math.floor(view.s[0] / 40.0) * 40.0, view.s[-1], 40.0):
        brush.polygon(view.ribbon(right - 60.0, left + 60.0, start, start + 20.0), fill=MEADOW)
    brush.polygon(view.ribbon(right - 1.6, left + 1.6), fill=SHOULDER)
    brush.polygon(view.ribbon(right, left), fill=TARMAC)
    for edge in (right, left):
        brush.polygon(view.ribbon(edge - 0.12, edge + 0.12), fill=PAINT)
    for start in np.arange(math.floor(view.s[0] / 18.0) * 18.0, view.s[-1], 18.0):
        for lane in range(1, int(world["lanes"])):
            edge = (lane - 0.5) * LANE_WIDTH
            brush.polygon(view.ribbon(edge - 0.09, edge + 0.09, start, start + 6.0), fill=PAINT)
    for start in np.arange(math.floor(view.s[0] / 50.0) * 50.0, view.s[-1], 50.0):
        for edge in (right - 2.6, left + 2.6):
            brush.polygon(view.ribbon(edge - 0.3, edge + 0.3, start, start + 0.6), fill=PAINT)
    for row in range(2):
        for column, low in enumerate(np.arange(right, left - 0.1, 0.9)):
            ink = PAINT if (row + column) % 2 else INK
            start = float(world["length"]) + 0.9 * row
            if view.s[0] < start < view.s[-1] - 1.0:
                brush.polygon(view.ribbon(low, low + 0.9, start, start + 0.9), fill=ink)


def _box(back: float, front: float, half: float, corner: float = 0.0) -> list[tuple[float, float]]:
    c = corner
    return [
        *((back, half - c), (back + c, half), (front - c, half), (front, half - c)),
        *((front, c - half), (front - c, -half), (back + c, -half), (back, c - half)),
    ]


def _draw_car(brush: ImageDraw.ImageDraw, view: _View, car: Any, index: int, heading: float) -> None:
    long, half = 0.5 * float(car["length"]), 0.5 * float(car["width"])
    if index:
        heading = math.atan2(float(car["slip"]), max(float(car["v"]), 3.0))

    def paint(shape: list[tuple[float, float]], fill: tuple[int, ...]) -> None:
        brush.polygon(view.body(car, heading, shape), fill=fill)

    shadow = [(x + 0.25, y - 0.3) for x, y in _box(-long, long, half, 0.4)]
    paint(shadow, (*SHADOW, 170))
    if long > 4.0:
        paint(_box(-long, long - 2.6, half, 0.15), LORRIES[index % len(LORRIES)])
        paint(_box(long - 2.3, long, half - 0.1, 0.3), CARS[index % len(CARS)])
        paint(_box(long - 0.9, long - 0.35, half - 0.25), GLASS)
    else:
        paint(_box(-long, long, half, 0.45), EGO if index == 0 else CARS[index % len(CARS)])
        paint(_box(0.2 * long, 0.48 * long, half - 0.2, 0.1), GLASS)
        paint(_box(-0.78 * long, -0.55 * long, half - 0.25, 0.1), GLASS)
        paint(_box(-0.5 * long, 0.16 * long, half - 0.28, 0.1), (255, 255, 255, 46))
    for side in (-1.0, 1.0):
        rear = [(x, y + side * (half - 0.3)) for x, y in _box(-long, -long + 0.3, 0.28)]
        front = [(x, y + side * (half - 0.35)) for x, y in _box(long - 0.3, long, 0.22)]
        blinks = index and car["target"] != car["lane"] and side == np.sign(car["target"] - car["lane"])
        paint(front, BLINK if blinks else LAMP)
        paint(rear, BLINK if blinks else BRAKE if car["a"] < -0.6 else (120, 24, 24))


def _text(brush: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, fill: Any, anchor: str) -> None:
    font = ImageFont.load_default(size * FINE)
    brush.text((at[0] * FINE, at[1] * FINE), text, fill=fill, font=font, anchor=anchor)


def _bar(brush: ImageDraw.ImageDraw, top: float, share: float, name: str, fill: tuple[int, int, int]) -> None:
    low, high = 250.0, 690.0
    _text(brush, (low - 10, top + 4), name, 11, PAINT, "rm")
    for stop, ink in ((1.0, (255, 255, 255, 50)), (min(max(share, 0.02), 1.0), fill)):
        box = [low * FINE, top * FINE, (low + (high - low) * stop) * FINE, (top + 8) * FINE]
        brush.rounded_rectangle(box, radius=4 * FINE, fill=ink)


def _draw_panel(brush: ImageDraw.ImageDraw, world: Any, ego: Any) -> None:
    brush.rectangle([0, 0, SIZE[0] * FINE, 44 * FINE], fill=(*INK, 215))
    speed, limit = 3.6 * float(ego["v"]), 3.6 * float(world["limit"])
    fast = speed > limit + 1.0
    _text(brush, (78, 34), f"{speed:.0f}", 28, (255, 110, 90) if fast else PAINT, "rs")
    _text(brush, (84, 34), "km/h", 13, PAINT, "ls")
    brush.ellipse([146 * FINE, 4 * FINE, 182 * FINE, 40 * FINE], fill=(200, 40, 44))
    brush.ellipse([150.5 * FINE, 8.5 * FINE, 177.5 * FINE, 35.5 * FINE], fill=(250, 250, 248))
    _text(brush, (164, 22.5), f"{limit:.0f}", 14, INK, "mm")
    _bar(brush, 10, float(world["best"] / world["length"]), "route", EGO)
    _bar(brush, 26, float(world["clock"] / world["budget"]), "time", (120, 150, 184))
    verdict = INFRACTIONS[int(world["infraction"])].replace("_", " ")
    if verdict or world["success"]:
        _text(brush, (745, 22), verdict or "arrived", 16, (255, 110, 90) if verdict else (130, 220, 130), "mm")
    else:
        left = float(world["length"] - world["best"])
        _text(brush, (745, 22), f"{left:.0f} m", 16, PAINT, "mm")
