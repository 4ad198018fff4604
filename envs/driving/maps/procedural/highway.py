"""One carriageway of a highway, with on-ramps and off-ramps between stretches of plain road."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..graph import LaneGraph
from .curves import STEP, Line, Pose, link
from .draft import Draft

Feature = Literal["on", "off"]

WIDTH = 3.6  # m
RAMP_WIDTH = 4.0
BESIDE, TAPER = 200.0, 70.0  # m: of the lane beside the others, and of the piece in which it ends or begins
RAMP = 130.0  # m along the highway
ASIDE, SLANT = 4.0, 0.25  # m and rad of a ramp's far end from the highway
RAMP_LIMIT = 60.0 / 3.6
APART = 2.0 * RAMP + 20.0  # m: shortest plain road, so that ramps stay clear of one another


def winding(rng: np.random.Generator, length: float, bend: float) -> Line:
    """A line whose curvature swings slowly, up to ``bend`` 1/m; it begins at the origin, eastwards."""
    s = np.linspace(0.0, length, math.ceil(length / STEP) + 1)
    step = s[1]
    middle = s[:-1] + 0.5 * step
    wave, phase = rng.uniform(900.0, 1500.0, 2), rng.uniform(0.0, 2.0 * math.pi, 2)
    curvature = 0.5 * bend * np.sin(2.0 * math.pi * middle[:, None] / wave + phase).sum(1)
    turned = np.concatenate([[0.0], np.cumsum(curvature * step)])
    course = 0.5 * (turned[1:] + turned[:-1])
    x, y = (np.concatenate([[0.0], np.cumsum(f(course) * step)]) for f in (np.cos, np.sin))
    return Line(x, y, turned)


class Carriageway:
    """Sections that follow one another along a line, whose left edge it is."""

    def __init__(self, draft: Draft, line: Line, lanes: int, limit: float):
        """Starts at the beginning of ``line`` with no section."""
        self.draft, self.line, self.lanes, self.limit = draft, line, lanes, limit
        self.at = 0.0
        self.sections = 0
        self.last: list[str] = []

    def section(self, length: float, beside: bool = False) -> list[str]:
        """Adds lanes of so many metres; with one more on the right or not. The old lanes lead into the new ones."""
        part = self.line.part(self.at, self.at + length)
        count = self.lanes + beside
        lanes = self.draft.lanes_beside(f"main{self.sections}", part, count, width=WIDTH, limit=self.limit)
        for before, after in zip(self.last, lanes, strict=False):
            self.draft.follow(before, after)
        self.at += length
        self.sections += 1
        self.last = lanes
        return lanes

    def edge(self, at: float) -> Pose:
        """The middle of the lane beside the others, ``at`` m along."""
        return self.line.part(at - 1.0, at).end.ahead(0.0, -(self.lanes + 0.5) * WIDTH)

    def join(self, name: str) -> None:
        """An on-ramp, the lane beside the others that it leads to, and the piece in which this ends."""
        end = self.edge(self.at)
        ramp = link(end.turned(SLANT).ahead(-RAMP, -ASIDE), end)
        begin = self.draft.lane(name, ramp, width=RAMP_WIDTH, limit=RAMP_LIMIT)
        added = self.section(BESIDE, beside=True)[-1]
        self.draft.follow(begin, added)
        taper_from = self.draft.end(added)
        main = self.section(TAPER)
        after = self.section(TAPER)
        self._taper(f"{name}-taper", link(taper_from, self.draft.lines[after[-1]].begin), added, after[-1])
        for lane in main:
            self.draft.lanes[lane].rank = 1

    def leave(self, name: str) -> None:
        """The piece in which a lane beside the others begins, that lane, and the off-ramp it leads to."""
        before = self.last[-1]
        begin, target = self.draft.end(before), self.edge(self.at + TAPER)
        self.section(TAPER)
        added = self.section(BESIDE, beside=True)[-1]
        self._taper(f"{name}-taper", link(begin, target), before, added)
        ramp = link(self.draft.end(added), self.draft.end(added).turned(-SLANT).ahead(RAMP, -ASIDE))
        self.draft.follow(added, self.draft.lane(name, ramp, width=RAMP_WIDTH, limit=RAMP_LIMIT))

    def _taper(self, name: str, line: Line, before: str, after: str) -> None:
        """The lane that links two others aslant."""
        self.draft.follow(before, self.draft.lane(name, line, width=WIDTH, limit=self.limit))
        self.draft.follow(name, after)


def highway(
    rng: np.random.Generator,
    *,
    lanes: int = 0,
    ramps: Sequence[Feature] | int = 4,
    plain: float = 350.0,
    bend: float = 1.0 / 700.0,
) -> LaneGraph:
    """A highway of one direction, open at its ends and its ramps' ends.

    Vehicles that come from a ramp have 200 m to change to the left; those who have not yield at the end of their lane.

    Args:
        rng: draws what is not given, the line, and the lengths of plain road.
        lanes: 0: drawn from 2 to 4.
        ramps: in turn; a number: so many, on- and off-ramps in turn.
        plain: mean length of plain road before, between and after ramps, m; none is shorter than 280 m.
        bend: greatest curvature, 1/m.
    """
    features = list(ramps) if not isinstance(ramps, int) else ["on" if i % 2 == 0 else "off" for i in range(ramps)]
    count = lanes or int(rng.integers(2, 5))
    limit = float(rng.choice([100.0, 110.0, 120.0])) / 3.6
    stretches = np.maximum(plain * rng.uniform(0.7, 1.3, len(features) + 1), APART)
    length = stretches.sum() + len(features) * (BESIDE + 2.0 * TAPER) + 1.0
    draft = Draft("highway")
    way = Carriageway(draft, winding(rng, float(length), bend), count, limit)
    way.section(float(stretches[0]))
    for number, (feature, stretch) in enumerate(zip(features, stretches[1:], strict=True)):
        if feature == "on":
            way.join(f"on{number}")
        elif feature == "off":
            way.leave(f"off{number}")
        else:
            raise ValueError(f"a ramp is 'on' or 'off', not {feature!r}")
        way.section(float(stretch))
    return draft.built()


def merge(rng: np.random.Generator, *, lanes: int = 2, plain: float = 300.0) -> LaneGraph:
    """A highway with one on-ramp: arguments of :func:`highway`."""
    return highway(rng, lanes=lanes, ramps=["on"], plain=plain, bend=1.0 / 2000.0)
