"""Where the areas of lanes overlap: conflicts of lanes with lanes, and the lanes that a crossing covers."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiled import compiled
from .polyline import F64, I64, Points

SHY = 0.25  # m: an area is the lane less this at each side, as lanes that merely touch do not conflict
BRIDGE = 3.0  # m between heights: one is above the other
TOUCH = 0.05  # m: an overlap is at least this long along both lanes
GAP = 0.5  # m: two overlaps nearer than this along a lane are one


class Boxes(NamedTuple):
    """The oriented boxes that are the areas of segments, ``[n]`` each."""

    x: F64  # middle
    y: F64
    cos: F64  # of the heading
    sin: F64
    half: F64  # of the length
    wide: F64  # half of the width
    height: F64
    s: F64  # of the lane at the middle
    lane: I64


def areas(points: Points, shy: float) -> Boxes:
    """The areas of all segments, ``shy`` m narrower at each side."""
    at = points.segments()
    middle = [0.5 * (column[at] + column[at + 1]) for column in (points.x, points.y, points.width, points.height)]
    wide = np.maximum(0.5 * middle[2] - shy, 0.1)
    half = 0.5 * (points.s[at + 1] - points.s[at])
    heading = points.heading[at]
    s = 0.5 * (points.s[at] + points.s[at + 1])
    return Boxes(middle[0], middle[1], np.cos(heading), np.sin(heading), half, wide, middle[3], s, points.lane[at])


@compiled
def clip(boxes: Boxes, a: int, b: int, row: F64, at_a: int, at_b: int) -> None:
    """Widens the extents along both lanes in ``row`` by the parts of box b's edges that lie in box a.

    Args:
        boxes: all.
        a: one box.
        b: the other.
        row: ``row[at_a], row[at_a + 1]`` is the extent along a from its middle, in m, and likewise for b.
        at_a: see ``row``.
        at_b: see ``row``.
    """
    dx, dy = boxes.x[b] - boxes.x[a], boxes.y[b] - boxes.y[a]
    cos, sin = boxes.cos[a], boxes.sin[a]
    u, v = dx * cos + dy * sin, dy * cos - dx * sin
    c, s = boxes.cos[b] * cos + boxes.sin[b] * sin, boxes.sin[b] * cos - boxes.cos[b] * sin
    for edge in range(4):  # from corner to corner of b, counter-clockwise
        p = boxes.half[b] if edge == 0 or edge == 3 else -boxes.half[b]
        q = boxes.wide[b] if edge <= 1 else -boxes.wide[b]
        move = -2.0 * p if edge == 0 or edge == 2 else 0.0
        turn = -2.0 * q if edge == 1 or edge == 3 else 0.0
        px, py = u + p * c - q * s, v + p * s + q * c
        mx, my = move * c - turn * s, move * s + turn * c
        low, high = 0.0, 1.0
        for start, step, reach in ((px, mx, boxes.half[a]), (py, my, boxes.wide[a])):
            if abs(step) < 1e-9:
                if abs(start) >= reach:
                    high = -1.0
            else:
                one, two = (-reach - start) / step, (reach - start) / step
                low, high = max(low, min(one, two)), min(high, max(one, two))
        if low < high:
            for share in (low, high):
                row[at_a] = min(row[at_a], px + share * mx)
                row[at_a + 1] = max(row[at_a + 1], px + share * mx)
                row[at_b] = min(row[at_b], p + share * move)
                row[at_b + 1] = max(row[at_b + 1], p + share * move)


@compiled
def overlap(boxes: Boxes, a: int, b: int, row: F64) -> bool:
    """Whether two boxes share area; ``row`` gets from where to where, in ``s`` of a's lane and of b's.

    The shared area is bounded by the edges of each that lie in the other, whose extents are therefore its own.
    """
    dx, dy = boxes.x[b] - boxes.x[a], boxes.y[b] - boxes.y[a]
    reach = boxes.half[a] + boxes.wide[a] + boxes.half[b] + boxes.wide[b]
    if dx * dx + dy * dy > reach * reach or abs(boxes.height[a] - boxes.height[b]) >= BRIDGE:
        return False
    row[0] = row[2] = 1e9
    row[1] = row[3] = -1e9
    clip(boxes, a, b, row, 0, 2)
    clip(boxes, b, a, row, 2, 0)
    if row[1] - row[0] < TOUCH or row[3] - row[2] < TOUCH:
        return False
    for i in range(2):
        row[i] += boxes.s[a]
        row[2 + i] += boxes.s[b]
    return True


@compiled
def overlaps(boxes: Boxes, cell_first: I64, cell_box: I64, skip: I64) -> tuple[I64, F64]:
    """All overlaps of segments of two lanes that lie in one cell of the grid, some more than once.

    Args:
        boxes: all areas.
        cell_first: where each cell's boxes begin in ``cell_box``.
        cell_box: boxes that touch each cell.
        skip: sorted ``one * L + other`` (one < other): pairs of lanes not to look at.

    Returns:
        Lanes ``[n, 2]``, the lower first, and ``begin, end, begin, end`` on each, ``[n, 4]``.
    """
    count = boxes.lane.max() + 1
    pairs = np.empty((1024, 2), np.int64)
    rows = np.empty((1024, 4))
    n = 0
    for cell in range(len(cell_first) - 1):
        for i in range(cell_first[cell], cell_first[cell + 1]):
            for j in range(i + 1, cell_first[cell + 1]):
                a, b = cell_box[i], cell_box[j]
                if boxes.lane[a] > boxes.lane[b]:
                    a, b = b, a
                if boxes.lane[a] == boxes.lane[b] or not overlap(boxes, a, b, rows[n]):
                    continue
                key = boxes.lane[a] * count + boxes.lane[b]
                at = np.searchsorted(skip, key)
                if at < len(skip) and skip[at] == key:
                    continue
                pairs[n, 0], pairs[n, 1] = boxes.lane[a], boxes.lane[b]
                n += 1
                if n == len(pairs):
                    pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    rows = np.concatenate((rows, np.empty_like(rows)))
    return pairs[:n], rows[:n]


class Conflicts(NamedTuple):
    """Pairs of lanes that share area, the lower lane first, ``[C]``; sorted."""

    one: I64
    other: I64
    begin: F64
    end: F64
    other_begin: F64
    other_end: F64


def conflicts(points: Points, grid_first: I64, grid_point: I64, related: I64, splits: I64) -> Conflicts:
    """Pairs of lanes that conflict, and where.

    Two lanes conflict where their areas overlap, but for those that are related (successors, lanes of one road). Lanes
    that follow a common predecessor overlap naturally until they have parted: only where they meet again they conflict.
    Lanes with a common successor conflict where they merge. More than one overlap is noted from the first to the last.

    Args:
        points: of all lanes.
        grid_first: where each cell's segments begin in ``grid_point``.
        grid_point: the points at which the segments in each cell begin.
        related: pairs of lanes that never conflict, ``[n, 2]``.
        splits: pairs of lanes with a common predecessor, ``[n, 2]``.
    """
    count = len(points.first) - 1
    at = points.segments()
    rank = np.full(len(points.x), -1)
    rank[at] = np.arange(len(at))
    low, high = related.min(1), related.max(1)
    pairs, rows = overlaps(areas(points, SHY), grid_first, rank[grid_point], np.unique(low * count + high))
    key = pairs[:, 0] * count + pairs[:, 1]
    order = np.lexsort((rows[:, 0], key))
    key, rows = key[order], rows[order]
    keep = ~np.isin(key, splits.min(1) * count + splits.max(1)) | ~_opening(key, rows)
    key, rows = key[keep], rows[keep]
    key, first = np.unique(key, return_index=True)
    if not len(key):
        return Conflicts(key, key, *(np.zeros(0) for _ in range(4)))
    begin, end = np.minimum.reduceat(rows, first), np.maximum.reduceat(rows, first)
    return Conflicts(key // count, key % count, begin[:, 0], end[:, 1], begin[:, 2], end[:, 3])


def _opening(key: I64, rows: F64) -> npt.NDArray[np.bool_]:
    """Of each pair's overlaps, sorted by where they begin: those of the unbroken run from the lane's beginning."""
    pair = np.cumsum(np.concatenate([[0], np.diff(key) != 0]))[: len(key)]
    shift = pair * 1e6  # s never grows that large: the maximum starts anew at each pair
    reached = np.maximum.accumulate(rows[:, 1] + shift) - shift
    before = np.concatenate([[0.0], reached[:-1]])
    starts = np.concatenate([[True], np.diff(pair) > 0])[: len(key)]
    before[starts] = 0.0
    broken = np.cumsum(rows[:, 0] > before + GAP)
    return broken == (broken - (rows[:, 0] > before + GAP))[starts][pair]
