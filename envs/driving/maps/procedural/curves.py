"""Reference lines: straight, arcs, smooth links of two poses, and lines beside them."""

import math
from typing import NamedTuple

import numpy as np

from ..polyline import F64

STEP = 1.9  # m between points, so that beside a bend they are still less than 2 m apart
ARC = 0.08  # rad between points


class Pose(NamedTuple):
    """A place and a direction."""

    x: float
    y: float
    heading: float  # rad

    def ahead(self, forward: float, left: float = 0.0) -> "Pose":
        """The pose so many metres forward and to the left."""
        cos, sin = math.cos(self.heading), math.sin(self.heading)
        return Pose(self.x + forward * cos - left * sin, self.y + forward * sin + left * cos, self.heading)

    def turned(self, angle: float) -> "Pose":
        """The same place, another direction."""
        return Pose(self.x, self.y, self.heading + angle)


class Line(NamedTuple):
    """Points of a curve and its direction at each."""

    x: F64
    y: F64
    heading: F64  # rad, continuous

    @property
    def begin(self) -> Pose:
        """Where it begins."""
        return Pose(float(self.x[0]), float(self.y[0]), float(self.heading[0]))

    @property
    def end(self) -> Pose:
        """Where it ends."""
        return Pose(float(self.x[-1]), float(self.y[-1]), float(self.heading[-1]))

    @property
    def length(self) -> float:
        """In m, of the polyline."""
        return float(np.hypot(np.diff(self.x), np.diff(self.y)).sum())

    def middle(self) -> F64:
        """The points, ``[n, 2]``."""
        return np.stack([self.x, self.y], 1)

    def beside(self, left: float | F64) -> "Line":
        """The line so far to its left (one number, or one a point), whose directions are taken as the same."""
        return Line(self.x - left * np.sin(self.heading), self.y + left * np.cos(self.heading), self.heading)

    def reversed(self) -> "Line":
        """The line driven the other way."""
        return Line(self.x[::-1], self.y[::-1], self.heading[::-1] + math.pi)

    def part(self, begin: float, end: float) -> "Line":
        """From ``begin`` to ``end`` m along it, with points there."""
        s = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(self.x), np.diff(self.y)))])
        inner = s[(s > begin + 0.05) & (s < end - 0.05)]
        at = np.concatenate([[begin], inner, [end]])
        return Line(*(np.interp(at, s, column) for column in self))


def chain(*lines: Line) -> Line:
    """Lines that follow one another, as one."""
    parts = [lines[0], *(Line(*(column[1:] for column in line)) for line in lines[1:])]
    x, y, heading = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Line(x, y, np.unwrap(heading))


def straight(pose: Pose, length: float) -> Line:
    """Straight on from a pose."""
    s = np.linspace(0.0, length, max(1, math.ceil(length / STEP)) + 1)
    cos, sin = math.cos(pose.heading), math.sin(pose.heading)
    return Line(pose.x + s * cos, pose.y + s * sin, np.full(len(s), pose.heading))


def arc(pose: Pose, radius: float, angle: float) -> Line:
    """An arc from a pose: ``radius`` in m over 0, ``angle`` in rad, to the left if positive."""
    turn = math.copysign(1.0, angle)
    pieces = max(2, math.ceil(abs(angle) / ARC), math.ceil(abs(angle) * radius / STEP))
    heading = pose.heading + np.linspace(0.0, angle, pieces + 1)
    x = pose.x + turn * radius * (np.sin(heading) - math.sin(pose.heading))
    y = pose.y - turn * radius * (np.cos(heading) - math.cos(pose.heading))
    return Line(x, y, heading)


def link(begin: Pose, end: Pose, stretch: float = 0.4) -> Line:
    """A smooth line between two poses: a cubic Bezier curve with handles of ``stretch`` times their distance."""
    far = math.hypot(end.x - begin.x, end.y - begin.y)
    one, two = begin.ahead(stretch * far), end.ahead(-stretch * far)
    turn = abs((end.heading - begin.heading + math.pi) % (2.0 * math.pi) - math.pi)
    pieces = max(2, math.ceil(1.1 * far / STEP), math.ceil(2.0 * turn / ARC))
    t = np.linspace(0.0, 1.0, pieces + 1)
    u = 1.0 - t
    x, y = (
        u**3 * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t**3 * d
        for a, b, c, d in zip(begin[:2], one[:2], two[:2], end[:2], strict=True)
    )
    dx, dy = (
        u * u * (b - a) + 2.0 * u * t * (c - b) + t * t * (d - c)
        for a, b, c, d in zip(begin[:2], one[:2], two[:2], end[:2], strict=True)
    )
    return Line(x, y, np.unwrap(np.arctan2(dy, dx)))


def turn(begin: Pose, end: Pose) -> tuple[Line, float]:
    """A line between two poses as cars turn at a junction: straight, one arc, straight; and the arc's radius.

    Poses that no such line joins (parallel ones, or an arc under 3 m) are joined by :func:`link`, of radius infinity.
    """
    angle = (end.heading - begin.heading + math.pi) % (2.0 * math.pi) - math.pi
    dx, dy = end.x - begin.x, end.y - begin.y
    cross = math.sin(angle)
    if abs(angle) < 0.15 or abs(cross) < 0.1:
        return link(begin, end), math.inf
    one = (dx * math.sin(end.heading) - dy * math.cos(end.heading)) / cross  # to where the two directions cross
    two = (dy * math.cos(begin.heading) - dx * math.sin(begin.heading)) / cross
    cut = min(one, two)
    radius = cut / math.tan(0.5 * abs(angle))
    if cut <= 0.0 or radius < 3.0:
        return link(begin, end), math.inf
    lines = [arc(begin.ahead(one - cut), radius, angle)]
    if one - cut > 0.005:
        lines.insert(0, straight(begin, one - cut))
    if two - cut > 0.005:
        lines.append(straight(end.ahead(cut - two), two - cut))
    return chain(*lines), radius
