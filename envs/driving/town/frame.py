"""A frame of one world from above, for people: roads, markings, signals, everybody, the route, speed and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from ..maps.graph import AMBER, GREEN, NONE, RED
from .episode import INFRACTIONS
from .paint import Paint, box, ribbon
from .state import ABSENT, BICYCLE, LORRY, PARKED, PERSON

SIZE = (800, 520)
FINE = 2  # drawn at twice the size, then reduced: smooth edges
SCALE = 6.5  # pixels per metre
PANEL = 44

GRASS, TARMAC, WALK = (112, 148, 98), (74, 78, 86), (150, 150, 144)
MARK, INK, GLASS, SHADOW = (236, 237, 232), (24, 27, 33), (40, 52, 68), (40, 43, 50)
EGO, ROUTE, OTHER_POLICY = (255, 136, 34), (255, 170, 60, 90), (80, 170, 255)
CARS = ((205, 210, 216), (120, 150, 184), (166, 84, 84), (92, 118, 110), (222, 205, 160), (98, 104, 128))
LORRIES = ((232, 232, 226), (70, 110, 150), (146, 120, 86))
STANDING = (122, 124, 130)
PERSON_COAT, BICYCLE_FRAME, SKIN = ((196, 60, 120), (60, 90, 190), (40, 140, 110)), (20, 90, 110), (240, 205, 170)
LIGHTS = {RED: (232, 48, 44), AMBER: (250, 176, 30), GREEN: (60, 200, 90)}
BRAKE, LAMP, BLINK = (255, 48, 48), (255, 246, 214), (255, 190, 40)

F64 = npt.NDArray[np.float64]


@dataclass
class Dashboard:
    """What the panel says: m/s, m/s, share of the route done, share of the time gone, and the verdict."""

    speed: float
    limit: float
    route: float
    time: float
    left: float
    infraction: int
    success: bool

    @classmethod
    def of(cls, episode: Any, agent: Any, lanes: Any) -> "Dashboard":
        """What it says of the records of an episode and its agent; off all lanes the route's highest limit counts."""
        lane = int(agent["lane"])
        return cls(
            speed=float(agent["v"]),
            limit=float(lanes[lane]["limit"] if lane != NONE else episode["limit"]),
            route=1.0 - float(episode["left"] / max(episode["length"], 1e-9)),
            time=float(episode["clock"] / max(episode["budget"], 1e-9)),
            left=float(episode["left"]),
            infraction=int(episode["infraction"]),
            success=bool(episode["success"]),
        )


class _View:
    """The plane to pixels: north is up, the camera above the ego."""

    def __init__(self, x: float, y: float, scale: float) -> None:
        self.eye = np.array([x, y])
        self.zoom = scale * FINE
        self.middle = 0.5 * FINE * np.array([SIZE[0], SIZE[1] + PANEL])
        self.half = self.middle / self.zoom + 2.0

    def sees(self, outline: F64) -> bool:
        """Whether anything of an outline may be in the picture."""
        low, high = outline.min(axis=0) - self.eye, outline.max(axis=0) - self.eye
        return bool((low < self.half).all() and (high > -self.half).all())

    def pixels(self, outline: F64) -> list[tuple[float, float]]:
        """An outline in pixels."""
        at = (outline - self.eye) * self.zoom * np.array([1.0, -1.0]) + self.middle
        return [tuple(one) for one in at.tolist()]


def draw(
    ground: Paint,
    agents: Any,
    ego: int,
    *,
    route: F64,
    colours: Sequence[int],
    dashboard: Dashboard,
    policies: Sequence[int] = (),
    scale: float = SCALE,
) -> npt.NDArray[np.uint8]:
    """Draws one world.

    Args:
        ground: what is painted on its map.
        agents: its records.
        ego: whom the camera follows.
        route: points of its way, ``[n, 2]`` m.
        colours: of the map's signals now.
        dashboard: of the ego.
        policies: other agents that are driven by a policy.
        scale: pixels per metre.

    Returns:
        ``[520, 800, 3]`` RGB.
    """
    image = Image.new("RGB", (SIZE[0] * FINE, SIZE[1] * FINE), GRASS)
    brush = ImageDraw.Draw(image, "RGBA")
    view = _View(float(agents[ego]["x"]), float(agents[ego]["y"]), scale)
    _draw_ground(brush, view, ground, colours)
    if len(route) > 1:
        brush.polygon(view.pixels(ribbon(route, 1.2)), fill=ROUTE)
    for k in sorted(range(len(agents)), key=lambda k: agents[k]["kind"] == PERSON):
        if agents[k]["controller"] != ABSENT and k != ego:
            _draw_agent(brush, view, agents[k], OTHER_POLICY if k in policies else _colour(agents[k], k))
    _draw_agent(brush, view, agents[ego], EGO)
    _draw_panel(brush, dashboard)
    return np.asarray(image.resize(SIZE, Image.Resampling.LANCZOS))


def _draw_ground(brush: ImageDraw.ImageDraw, view: _View, ground: Paint, colours: Sequence[int]) -> None:
    for outlines, fill in (
        (ground.walks, WALK),
        (ground.ground, TARMAC),
        (ground.stripes, (*MARK, 215)),
        (ground.marks, MARK),
    ):
        for outline in outlines:
            if view.sees(outline):
                brush.polygon(view.pixels(outline), fill=fill)
    for outline, signal in zip(ground.stops, ground.signals, strict=True):
        if view.sees(outline):
            brush.polygon(view.pixels(outline), fill=MARK if signal == NONE else LIGHTS[int(colours[signal])])


def _colour(agent: Any, index: int) -> tuple[int, int, int]:
    if agent["controller"] == PARKED:
        return STANDING
    if agent["kind"] == PERSON:
        return PERSON_COAT[index % len(PERSON_COAT)]
    if agent["kind"] == BICYCLE:
        return BICYCLE_FRAME
    return LORRIES[index % len(LORRIES)] if agent["kind"] == LORRY else CARS[index % len(CARS)]


def _draw_agent(brush: ImageDraw.ImageDraw, view: _View, agent: Any, fill: tuple[int, int, int]) -> None:
    x, y, heading = float(agent["x"]), float(agent["y"]), float(agent["heading"])
    long, wide = float(agent["length"]), float(agent["width"])
    if not view.sees(np.array([[x - 10.0, y - 10.0], [x + 10.0, y + 10.0]])):
        return
    cos, sin = np.cos(heading), np.sin(heading)

    def part(forward: float, left: float, length: float, width: float, ink: Any) -> None:
        outline = box(x + forward * cos - left * sin, y + forward * sin + left * cos, heading, length, width)
        brush.polygon(view.pixels(outline), fill=ink)

    if agent["kind"] == PERSON:
        middle = view.pixels(np.array([[x, y]]))[0]
        for radius, ink in ((0.6, fill), (0.3, SKIN)):
            r = max(radius * view.zoom, 2.0)
            brush.ellipse([middle[0] - r, middle[1] - r, middle[0] + r, middle[1] + r], fill=ink)
        return
    part(-0.15, -0.15, long, wide, (*SHADOW, 150))
    if agent["kind"] == BICYCLE:
        part(0.0, 0.0, long, 0.25, INK)
        part(-0.1, 0.0, 0.5, wide, fill)
        return
    part(0.0, 0.0, long, wide, fill)
    part(0.22 * long if long < 7.0 else 0.5 * long - 1.2, 0.0, 0.6, wide - 0.35, GLASS)
    if long < 7.0:
        part(-0.34 * long, 0.0, 0.4, wide - 0.45, GLASS)
    for side in (-1.0, 1.0):
        off = side * (0.5 * wide - 0.3)
        blinks = agent["side"] == side
        part(0.5 * long - 0.12, off, 0.24, 0.36, BLINK if blinks else LAMP)
        part(0.12 - 0.5 * long, off, 0.24, 0.4, BLINK if blinks else BRAKE if agent["a"] < -0.6 else (120, 24, 24))


def _text(brush: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, fill: Any, anchor: str) -> None:
    font = ImageFont.load_default(size * FINE)
    brush.text((at[0] * FINE, at[1] * FINE), text, fill=fill, font=font, anchor=anchor)


def _bar(brush: ImageDraw.ImageDraw, top: float, share: float, name: str, fill: tuple[int, int, int]) -> None:
    low, high = 250.0, 680.0
    _text(brush, (low - 10, top + 4), name, 11, MARK, "rm")
    for stop, ink in ((1.0, (255, 255, 255, 50)), (min(max(share, 0.02), 1.0), fill)):
        extent = [low * FINE, top * FINE, (low + (high - low) * stop) * FINE, (top + 8) * FINE]
        brush.rounded_rectangle(extent, radius=4 * FINE, fill=ink)


def _draw_panel(brush: ImageDraw.ImageDraw, shown: Dashboard) -> None:
    brush.rectangle([0, 0, SIZE[0] * FINE, PANEL * FINE], fill=(*INK, 225))
    speed, limit = 3.6 * shown.speed, 3.6 * shown.limit
    _text(brush, (78, 34), f"{speed:.0f}", 28, (255, 110, 90) if speed > limit + 1.0 else MARK, "rs")
    _text(brush, (84, 34), "km/h", 13, MARK, "ls")
    brush.ellipse([146 * FINE, 4 * FINE, 182 * FINE, 40 * FINE], fill=(200, 40, 44))
    brush.ellipse([150.5 * FINE, 8.5 * FINE, 177.5 * FINE, 35.5 * FINE], fill=(250, 250, 248))
    _text(brush, (164, 22.5), f"{limit:.0f}", 14, INK, "mm")
    _bar(brush, 10, shown.route, "route", EGO)
    _bar(brush, 26, shown.time, "time", (120, 150, 184))
    verdict = INFRACTIONS[shown.infraction].replace("_", " ")
    if verdict or shown.success:
        _text(brush, (740, 22), verdict or "arrived", 15, (255, 110, 90) if verdict else (130, 220, 130), "mm")
    else:
        _text(brush, (740, 22), f"{max(shown.left, 0.0):.0f} m", 16, MARK, "mm")
