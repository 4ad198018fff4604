"""Polylines of many lanes at once: points added to a spacing, and their arc length, heading and curvature."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

SAME = 1e-3  # m: points of a lane nearer than this are one
SHORTEST = 0.1  # m: of a lane


class Points(NamedTuple):
    """The points of the middles of all lanes ``[P]``, those of lane i from ``first[i]`` to ``first[i + 1]``."""

    first: I64  # [L + 1]
    x: F64
    y: F64
    s: F64
    heading: F64
    curvature: F64
    width: F64
    height: F64
    lane: I64

    @property
    def length(self) -> F64:
        """Of each lane in m, ``[L]``."""
        return self.s[self.first[1:] - 1]

    def segments(self) -> I64:
        """The points at which a segment begins: all but the last of each lane."""
        begins = np.ones(len(self.x), bool)
        begins[self.first[1:] - 1] = False
        return np.flatnonzero(begins)


def along(first: I64) -> I64:
    """The lane of each point, ``[P]``, from where each lane's points begin, ``[L + 1]``."""
    return np.repeat(np.arange(len(first) - 1), np.diff(first))


def points(rows: Sequence[F64], spacing: float) -> Points:
    """The points of lanes ``[n, 4]`` (x, y, width, height): none moved, points added where two are over ``spacing``."""
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    first, given = _without_doubles(first, np.concatenate(rows))
    first, given = _filled(first, given, spacing)
    lane = along(first)
    step = np.diff(given[:, :2], axis=0, append=given[-1:, :2])
    last = first[1:] - 1
    step[last] = 0.0
    run = np.concatenate([[0.0], np.cumsum(np.hypot(step[:, 0], step[:, 1]))[:-1]])
    heading = np.arctan2(step[:, 1], step[:, 0])
    heading[last] = heading[last - 1]
    s = run - run[first[:-1]][lane]
    return Points(
        first, given[:, 0], given[:, 1], s, heading, _curvature(first, s, heading), given[:, 2], given[:, 3], lane
    )


def _without_doubles(first: I64, given: F64) -> tuple[I64, F64]:
    """Without points that repeat the one before in their lane."""
    lane = along(first)
    near = np.hypot(*np.diff(given[:, :2], axis=0).T) < SAME
    keep = np.concatenate([[True], ~(near & (np.diff(lane) == 0))])
    return np.concatenate([[0], np.cumsum(np.bincount(lane[keep], minlength=len(first) - 1))]), given[keep]


def _filled(first: I64, given: F64, spacing: float) -> tuple[I64, F64]:
    """With points between those that are further apart than ``spacing``, evenly."""
    lane = along(first)
    step = np.diff(given, axis=0, append=given[-1:])
    last = first[1:] - 1
    step[last] = 0.0
    pieces = np.maximum(np.ceil(np.hypot(step[:, 0], step[:, 1]) / spacing - 1e-9), 1.0).astype(np.int64)
    source = np.repeat(np.arange(len(given)), pieces)
    share = (np.arange(len(source)) - (np.cumsum(pieces) - pieces)[source]) / pieces[source]
    counts = np.bincount(lane, weights=pieces, minlength=len(first) - 1).astype(np.int64)
    return np.concatenate([[0], np.cumsum(counts)]), given[source] + share[:, None] * step[source]


def _curvature(first: I64, s: F64, heading: F64) -> F64:
    """Change of heading at each inner point over half the length of both its segments; ends take the next point's."""
    curvature = np.zeros(len(s))
    turn = (np.diff(heading) + np.pi) % (2.0 * np.pi) - np.pi
    inner = np.ones(len(s), bool)
    inner[first[:-1]] = inner[first[1:] - 1] = False
    at = np.flatnonzero(inner)
    curvature[at] = turn[at - 1] / (0.5 * (s[at + 1] - s[at - 1]))
    long = np.diff(first) > 2
    curvature[first[:-1][long]] = curvature[first[:-1][long] + 1]
    curvature[first[1:][long] - 1] = curvature[first[1:][long] - 2]
    return curvature
