"""What is painted on a map's ground, as outlines in metres: tarmac, markings, stop lines, crossings.

Frames for people and rasters for networks are drawn from the same outlines.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..maps.graph import DRIVING, NONE, SHOULDER, Columns, LaneGraph

F64 = npt.NDArray[np.float64]
STROKE = 0.16  # m, width of a marking
DASH, PERIOD = 3.0, 9.0  # m, of a broken marking
STRIPE = 0.5  # m, of a crossing
FLUSH = 0.6  # m within which two edges are the same marking


@dataclass
class Paint:
    """Outlines ``[n, 2]`` in m, of one map.

    Attributes:
        ground: the lanes themselves, for vehicles.
        walks: lanes of other kinds.
        marks: markings.
        stripes: of crossings.
        stops: stop lines, in the order of the columns.
        signals: of each stop line, its signal or NONE.
    """

    ground: list[F64]
    walks: list[F64]
    marks: list[F64]
    stripes: list[F64]
    stops: list[F64]
    signals: list[int]


def lane_line(columns: Columns, lane: int) -> F64:
    """Points of a lane: x, y, heading, width, ``[n, 4]``; the heading is that of the line at the point."""
    span = slice(int(columns.first[lane]), int(columns.first[lane + 1]))
    x, y, width = (np.asarray(one[span], np.float64) for one in (columns.x, columns.y, columns.width))
    step = np.arctan2(np.diff(y), np.diff(x))
    unit = np.exp(1j * np.concatenate([step[:1], step])) + np.exp(1j * np.concatenate([step, step[-1:]]))
    return np.stack([x, y, np.angle(unit), width], axis=1)


def edge(line: F64, side: float, inset: float = 0.0) -> F64:
    """The left (1) or right (-1) edge of a lane, ``[n, 2]``."""
    off = side * (0.5 * line[:, 3] - inset)
    return np.stack([line[:, 0] - off * np.sin(line[:, 2]), line[:, 1] + off * np.cos(line[:, 2])], axis=1)


def ribbon(points: F64, width: float) -> F64:
    """The outline of a stroke along points ``[n, 2]``."""
    step = np.arctan2(*np.diff(points, axis=0).T[::-1])
    heading = np.concatenate([step, step[-1:]])
    off = 0.5 * width * np.stack([-np.sin(heading), np.cos(heading)], axis=1)
    return np.concatenate([points + off, (points - off)[::-1]])


def dashes(points: F64) -> Iterator[F64]:
    """Pieces of a broken marking along points ``[n, 2]``."""
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    for begin in np.arange(0.5 * (PERIOD - DASH), s[-1] - 0.5, PERIOD):
        at = np.linspace(begin, min(begin + DASH, s[-1]), 3)
        yield np.stack([np.interp(at, s, points[:, 0]), np.interp(at, s, points[:, 1])], axis=1)


def bar(line: F64, s: float, thick: float) -> F64:
    """The outline of a bar across a lane."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(line[:, 0]), np.diff(line[:, 1])))])
    x, y, width = (float(np.interp(s, along, line[:, column])) for column in (0, 1, 3))
    heading = float(np.interp(s, along, np.unwrap(line[:, 2])))
    return box(x, y, heading, thick, width - 0.3)


def box(x: float, y: float, heading: float, length: float, width: float) -> F64:
    """The corners of a rectangle."""
    cos, sin = np.cos(heading), np.sin(heading)
    along, across = 0.5 * length * np.array([1, 1, -1, -1]), 0.5 * width * np.array([1, -1, -1, 1])
    return np.stack([x + along * cos - across * sin, y + along * sin + across * cos], axis=1)


def paint(graph: LaneGraph) -> Paint:
    """All that is painted on a map."""
    columns = graph.columns
    lines = [lane_line(columns, lane) for lane in range(len(graph))]
    ground: list[F64] = []
    walks: list[F64] = []
    marks: list[F64] = []
    for lane, line in enumerate(lines):
        outline = np.concatenate([edge(line, 1.0), edge(line, -1.0)[::-1]])
        (ground if columns.kind[lane] in (DRIVING, SHOULDER) else walks).append(outline)
        if columns.junction[lane] == NONE:
            marks += list(_marks(columns, lane, line))
    stops = [bar(lines[_lane_of(columns, k)], float(columns.stop_s[k]), 0.5) for k in range(len(columns.stop_s))]
    stripes = [stripe for strip in columns.crossing for stripe in _stripes(np.asarray(strip, np.float64))]
    return Paint(ground, walks, marks, stripes, stops, [int(one) for one in columns.stop_signal])


def _lane_of(columns: Columns, stop: int) -> int:
    return int(np.searchsorted(columns.stop_first, stop, side="right")) - 1


def _marks(columns: Columns, lane: int, line: F64) -> Iterator[F64]:
    """Solid edges of a lane, and a broken line where one may change to the left."""
    for side, other in ((1.0, int(columns.left[lane])), (-1.0, int(columns.right[lane]))):
        points = edge(line, side)
        if other == NONE:
            yield ribbon(edge(line, side, 0.5 * STROKE), STROKE)
        elif side > 0.0:
            yield from (ribbon(piece, STROKE) for piece in dashes(points))


def _stripes(strip: F64) -> Iterator[F64]:
    ax, ay, bx, by, width = strip
    length = float(np.hypot(bx - ax, by - ay))
    heading = float(np.arctan2(by - ay, bx - ax))
    for at in np.arange(STRIPE, length - 0.4 * STRIPE, 2.0 * STRIPE):
        share = at / length
        yield box(ax + share * (bx - ax), ay + share * (by - ay), heading, STRIPE, float(width))
