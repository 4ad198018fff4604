"""From found relations to the columns of :class:`~.graph.Columns`: lists of lists, one after the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .conflicts import Conflicts, areas, overlap
from .graph import CYCLING, DRIVING, F32, I32
from .grid import boxes
from .polyline import F64, I64, Points


def f32(values: npt.ArrayLike) -> F32:
    """As contiguous 32-bit floats."""
    return np.ascontiguousarray(values, np.float32)


def i32(values: npt.ArrayLike) -> I32:
    """As contiguous 32-bit integers."""
    return np.ascontiguousarray(values, np.int32)


def firsts(owner: npt.ArrayLike, count: int) -> I32:
    """Where the list of each of ``count`` owners begins, ``[count + 1]``, if items are sorted by owner."""
    return i32(np.concatenate([[0], np.cumsum(np.bincount(np.asarray(owner, np.int64), minlength=count))]))


def point_columns(points: Points) -> dict[str, Any]:
    """Columns of the points."""
    floats = {name: f32(getattr(points, name)) for name in ("x", "y", "s", "heading", "curvature", "width")}
    return {"first": i32(points.first), "lane": i32(points.lane), **floats}


def links(name: str, pairs: I64, count: int) -> dict[str, Any]:
    """Columns ``<name>_first, <name>_lane`` of pairs (lane, lane that is listed), in the order given."""
    order = np.argsort(pairs[:, 0], kind="stable")
    return {f"{name}_first": firsts(pairs[:, 0], count), f"{name}_lane": i32(pairs[order, 1])}


def conflict_columns(found: Conflicts, rank: I64) -> dict[str, Any]:
    """Columns ``conflict_*``: each pair is listed by both its lanes, the one of higher rank goes first."""
    one, other = np.concatenate([found.one, found.other]), np.concatenate([found.other, found.one])
    spans = [(found.begin, found.other_begin), (found.end, found.other_end)]
    begin, end = (np.concatenate(pair) for pair in spans)
    other_begin, other_end = (np.concatenate(pair[::-1]) for pair in spans)
    order = np.lexsort((other, begin, one))
    return {
        "conflict_first": firsts(one, len(rank)),
        "conflict_lane": i32(other[order]),
        "conflict_begin": f32(begin[order]),
        "conflict_end": f32(end[order]),
        "conflict_other_begin": f32(other_begin[order]),
        "conflict_other_end": f32(other_end[order]),
        "conflict_priority": np.sign(rank[one] - rank[other])[order].astype(np.int8),
    }


def stop_columns(lane: I64, s: F64, kind: I64, signal: I64, count: int) -> dict[str, Any]:
    """Columns ``stop_*``, sorted by lane, then s."""
    order = np.lexsort((s, lane))
    return {
        "stop_first": firsts(lane, count),
        "stop_s": f32(s[order]),
        "stop_kind": kind[order].astype(np.int8),
        "stop_signal": i32(signal[order]),
    }


def signal_columns(
    seconds: Sequence[Sequence[float]], colours: Sequence[Sequence[int]], offsets: Sequence[float]
) -> dict[str, Any]:
    """Columns of the signals."""
    return {
        "phase_first": i32(np.concatenate([[0], np.cumsum([len(one) for one in seconds])])),
        "phase_seconds": f32([second for one in seconds for second in one]),
        "colour": np.array([colour for one in colours for colour in one], np.int8),
        "signal_offset": f32(offsets),
    }


def crossing_columns(strips: F64, signal: I64, points: Points, kind: I64) -> dict[str, Any]:
    """Columns of the crossings ``[X, 5]`` (ax, ay, bx, by, width): vehicles' lanes under each, from where to where."""
    at = points.segments()
    low, high = boxes(points, at)
    ground = areas(points, 0.0)
    vehicles = np.isin(kind[points.lane[at]], (DRIVING, CYCLING))
    rows: list[tuple[int, int, float, float]] = []
    for number, strip in enumerate(strips):
        ends = strip[:4].reshape(2, 2)
        reach = 0.5 * strip[4]
        near = vehicles & ((low <= ends.max(0) + reach) & (high >= ends.min(0) - reach)).all(1)
        spans: dict[int, tuple[float, float]] = {}
        for segment in np.flatnonzero(near):
            span = _under(ground, int(segment), strip)
            if span is not None:
                one = spans.get(int(ground.lane[segment]), span)
                spans[int(ground.lane[segment])] = min(one[0], span[0]), max(one[1], span[1])
        rows += [(number, lane, *spans[lane]) for lane in sorted(spans)]
    table = np.array(rows, np.float64).reshape(-1, 4)
    return {
        "crossing": f32(strips),
        "crossing_signal": i32(signal),
        "crossing_first": firsts(table[:, 0], len(strips)),
        "crossing_lane": i32(table[:, 1]),
        "crossing_begin": f32(table[:, 2]),
        "crossing_end": f32(table[:, 3]),
    }


def _under(ground: Any, segment: int, strip: F64) -> tuple[float, float] | None:
    """From where to where (s of its lane) a segment lies under a strip, or ``None``."""
    (ax, ay, bx, by), wide = strip[:4], strip[4]
    length = float(np.hypot(bx - ax, by - ay))
    box = (0.5 * (ax + bx), 0.5 * (ay + by), (bx - ax) / length, (by - ay) / length, 0.5 * length, 0.5 * wide)
    one = tuple(float(column[segment]) for column in ground[:6])
    pair = type(ground)(
        *(np.array(values) for values in zip(one, box, strict=True)),
        np.zeros(2),
        np.array([ground.s[segment], 0.0]),
        np.array([0, 1]),
    )
    row = np.zeros(4)
    return (row[0], row[1]) if overlap(pair, 0, 1, row) else None
