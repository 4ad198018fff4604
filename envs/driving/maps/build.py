"""From a description of lanes to a :class:`~.graph.LaneGraph`: what generators and readers both call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import assemble, conflicts, grid, neighbours, polyline
from .assemble import f32, i32
from .graph import (
    AMBER,
    CYCLING,
    DRIVING,
    GIVE_WAY,
    GREEN,
    NONE,
    RED,
    SHOULDER,
    SIGNAL,
    STOP_SIGN,
    WALKING,
    Columns,
    LaneGraph,
)
from .polyline import F64, I64, Points

FARTHEST = 1e5  # m: 32-bit coordinates are then good to 8 mm


@dataclass
class Lane:
    """A lane as a generator or a reader knows it.

    Attributes:
        id: unique in the map.
        middle: ``[n, 2]`` m, at least two points, in the direction of travel.
        width: m, one number or one a point.
        limit: m/s.
        successors: ids of the lanes that follow.
        left, right: id of the neighbour that may be changed into; ``""`` none; ``None``: found from the geometry.
        kind: of :mod:`.graph`.
        road: parallel lanes have the same; ``None``: found from the neighbours.
        junction: name of the junction it lies in, or ``""``.
        rank: of its road at a junction: where two lanes conflict, the higher goes first; equal: who comes first.
        height: m, one number or one a point: lanes 3 m apart in height (bridges) share no area.
    """

    id: str
    middle: npt.ArrayLike
    width: float | npt.ArrayLike
    limit: float
    successors: Sequence[str] = ()
    left: str | None = None
    right: str | None = None
    kind: int = DRIVING
    road: str | None = None
    junction: str = ""
    rank: int = 0
    height: float | npt.ArrayLike = 0.0


@dataclass
class Signal:
    """A traffic light: seconds and colours of its phases, in turn; ``offset`` s before time 0 the first one began."""

    id: str
    seconds: Sequence[float]
    colours: Sequence[int]
    offset: float = 0.0


@dataclass
class StopLine:
    """Where vehicles of a lane stop: ``s`` (negative: from the lane's end), what asks for it, and the signal's id."""

    lane: str
    s: float
    kind: int
    signal: str = ""


@dataclass
class Crossing:
    """A strip for pedestrians from ``a`` to ``b`` (m), and the id of the vehicles' signal that stops traffic there."""

    a: tuple[float, float]
    b: tuple[float, float]
    width: float = 3.0
    signal: str = ""


def build(
    name: str,
    lanes: Sequence[Lane],
    *,
    signals: Sequence[Signal] = (),
    stops: Sequence[StopLine] = (),
    crossings: Sequence[Crossing] = (),
    spacing: float = 2.0,
    source: str = "procedural",
) -> LaneGraph:
    """The graph of a description; what is not said is found from the geometry.

    Neighbours: :func:`~.neighbours.beside`. Conflicts: :func:`~.conflicts.conflicts`, among lanes for vehicles that do
    not follow one another and are of different roads.

    Args:
        name: of the map.
        lanes: all of them.
        signals: all of them.
        stops: stop lines.
        crossings: for pedestrians.
        spacing: greatest distance of two points of a lane, m (points are added, none is moved).
        source: of :attr:`LaneGraph.source`.

    Raises:
        ValueError: an id twice, a lane or signal that is named and does not exist, a lane shorter than 0.1 m, numbers
            that are not finite; the sentence names the lane.
    """
    index = _index(name, "lane", [lane.id for lane in lanes])
    if not index:
        raise ValueError(f"map {name} has no lanes")
    lights = _index(name, "signal", [signal.id for signal in signals])
    points = polyline.points([_row(lane) for lane in lanes], spacing)
    _check(lanes, points.length)
    next_lane = _successors(lanes, index)
    kind, rank = (np.array([getattr(lane, field) for lane in lanes], np.int64) for field in ("kind", "rank"))
    junctions = {junction: i for i, junction in enumerate(dict.fromkeys(lane.junction for lane in lanes))}
    junction = np.array([junctions[lane.junction] for lane in lanes])
    left, right, road = _beside(lanes, index, points, junction)
    squares = grid.grid(points)
    vehicles = kind != WALKING
    found = _conflicts(points, squares.first, squares.point, next_lane, (left, right, road), vehicles)
    names = tuple(one for one in junctions if one)
    columns = Columns(
        kind=kind.astype(np.int8),
        length=f32(points.length),
        limit=f32([lane.limit for lane in lanes]),
        left=i32(left),
        right=i32(right),
        road=i32(road),
        junction=i32([names.index(lane.junction) if lane.junction else NONE for lane in lanes]),
        **assemble.point_columns(points),
        **assemble.links("next", next_lane, len(lanes)),
        **assemble.links("previous", next_lane[:, ::-1], len(lanes)),
        **assemble.conflict_columns(found, rank),
        **_stops(lanes, stops, index, lights, points.length),
        **_signals(signals),
        **_crossings(crossings, lights, points, kind),
        grid_origin=f32(squares.origin),
        grid_cell=f32(squares.cell),
        grid_shape=i32(squares.shape),
        grid_first=i32(squares.first),
        grid_point=i32(squares.point),
    )
    return LaneGraph(name, columns, tuple(index), source, {"junctions": names})


def _index(name: str, what: str, ids: Sequence[str]) -> dict[str, int]:
    """Number of each id."""
    index = {one: i for i, one in enumerate(ids)}
    if len(index) < len(ids):
        twice = next(one for i, one in enumerate(ids) if index[one] != i)
        raise ValueError(f"map {name} has two {what}s with the id {twice!r}")
    return index


def _row(lane: Lane) -> F64:
    """The points of a lane as x, y, width, height, ``[n, 4]``."""
    middle = np.asarray(lane.middle, np.float64)
    if middle.ndim != 2 or middle.shape[1] != 2 or len(middle) < 2:
        raise ValueError(f"lane {lane.id}: its middle has shape {middle.shape}, not [n, 2] with two points or more")
    row = np.empty((len(middle), 4))
    row[:, :2] = middle
    for column, field in ((2, "width"), (3, "height")):
        values = np.asarray(getattr(lane, field), np.float64)
        if values.shape not in ((), (len(middle),)):
            raise ValueError(f"lane {lane.id}: {values.size} numbers of its {field} for {len(middle)} points")
        row[:, column] = values
    if not np.isfinite(row).all():
        raise ValueError(f"lane {lane.id}: its middle, width or height has numbers that are not finite")
    if np.abs(row[:, :2]).max() > FARTHEST:
        raise ValueError(f"lane {lane.id} lies over {FARTHEST:.0f} m from the origin: shift the map towards it")
    if not (row[:, 2] > 0.0).all():
        raise ValueError(f"lane {lane.id}: its width is {row[:, 2].min():g} m somewhere, which is not over 0")
    return row


def _check(lanes: Sequence[Lane], length: F64) -> None:
    """Raises for a lane that is too short, or has a limit or a kind that there is not."""
    for lane, metres in zip(lanes, length, strict=True):
        if metres < polyline.SHORTEST:
            raise ValueError(f"lane {lane.id} is {metres:.3f} m long, less than {polyline.SHORTEST} m")
        if not (np.isfinite(lane.limit) and lane.limit > 0.0):
            raise ValueError(f"lane {lane.id}: its limit of {lane.limit} m/s is not a finite number over 0")
        if lane.kind not in (DRIVING, SHOULDER, CYCLING, WALKING):
            raise ValueError(f"lane {lane.id}: {lane.kind} is no kind of lane")


def _number(index: dict[str, int], one: str, what: str) -> int:
    """Number of an id that ``what`` names."""
    if one not in index:
        raise ValueError(f"{what} {one!r}, which does not exist")
    return index[one]


def _successors(lanes: Sequence[Lane], index: dict[str, int]) -> I64:
    """Pairs of a lane and one that follows, ``[n, 2]``."""
    pairs = [
        (i, _number(index, one, f"lane {lane.id} is followed by lane"))
        for i, lane in enumerate(lanes)
        for one in dict.fromkeys(lane.successors)
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _beside(lanes: Sequence[Lane], index: dict[str, int], points: Points, junction: I64) -> tuple[I64, I64, I64]:
    """Left and right neighbours and roads of all lanes."""
    kind = np.array([lane.kind for lane in lanes])
    sides: dict[str, I64] = dict(zip(("left", "right"), neighbours.beside(points, kind, junction), strict=True))
    near = np.concatenate([np.stack([np.arange(len(lanes)), one], 1) for one in sides.values()])
    for side, found in sides.items():
        for i, lane in enumerate(lanes):
            said = getattr(lane, side)
            if said is not None:
                found[i] = _number(index, said, f"lane {lane.id} has to its {side} lane") if said else NONE
    said = np.concatenate([np.stack([np.arange(len(lanes)), one], 1) for one in sides.values()])
    unknown = np.array([lane.road is None for lane in lanes])
    named = [(first, i) for i, first in _first_of_road(lanes)]
    link = np.concatenate([near[(near[:, 1] >= 0) & unknown[near].all(1)], said[said[:, 1] >= 0]])
    link = np.concatenate([link[unknown[link].all(1)], np.array(named, np.int64).reshape(-1, 2)])
    return sides["left"], sides["right"], neighbours.groups(len(lanes), link[:, 0], link[:, 1])


def _first_of_road(lanes: Sequence[Lane]) -> list[tuple[int, int]]:
    """Each lane whose road has a name, and the first lane of that name."""
    first: dict[str, int] = {}
    return [(i, first.setdefault(lane.road, i)) for i, lane in enumerate(lanes) if lane.road is not None]


def _conflicts(
    points: Points,
    cell_first: I64,
    cell_point: I64,
    next_lane: I64,
    beside: tuple[I64, I64, I64],
    vehicles: npt.NDArray[np.bool_],
) -> conflicts.Conflicts:
    """Conflicts of the vehicles' lanes, but those that follow one another, are neighbours or of one road."""
    left, right, road = beside
    lane = np.arange(len(road))
    sides = [np.stack([lane[one >= 0], one[one >= 0]], 1) for one in (left, right)]
    same = _siblings(np.stack([road, lane], 1))
    related = np.concatenate([next_lane, *sides, same])
    found = conflicts.conflicts(points, cell_first, cell_point, related, _siblings(next_lane))
    keep = vehicles[found.one] & vehicles[found.other]
    return conflicts.Conflicts._make(column[keep] for column in found)


def _siblings(pairs: I64) -> I64:
    """All pairs of different second items that share a first one, ``[n, 2]``."""
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    counts = np.bincount(pairs[:, 0])[pairs[:, 0]] if len(pairs) else np.zeros(0, np.int64)
    begin = np.searchsorted(pairs[:, 0], pairs[:, 0])
    a = np.repeat(pairs[:, 1], counts)
    b = pairs[np.repeat(begin, counts) + grid.ranges(counts), 1]
    found: I64 = np.stack([a, b], 1)[a != b]
    return found


def _stops(
    lanes: Sequence[Lane], stops: Sequence[StopLine], index: dict[str, int], lights: dict[str, int], length: F64
) -> dict[str, Any]:
    """Columns of the stop lines."""
    rows = []
    for stop in stops:
        lane = _number(index, stop.lane, "a stop line lies on lane")
        s = stop.s + (length[lane] if stop.s < 0.0 else 0.0)
        if not 0.0 <= s <= length[lane] + 1e-6:
            raise ValueError(f"lane {stop.lane} is {length[lane]:.2f} m long and has a stop line at {stop.s} m")
        if stop.kind not in (SIGNAL, STOP_SIGN, GIVE_WAY):
            raise ValueError(f"lane {stop.lane}: {stop.kind} is no kind of stop line")
        if stop.kind == SIGNAL and not stop.signal:
            raise ValueError(f"lane {stop.lane} has a stop line of a signal that is not named")
        light = _number(lights, stop.signal, f"lane {stop.lane} stops at signal") if stop.signal else NONE
        rows.append((lane, s, stop.kind, light))
    table = np.array(rows, np.float64).reshape(-1, 4)
    whole = table.astype(np.int64)
    return assemble.stop_columns(whole[:, 0], table[:, 1], whole[:, 2], whole[:, 3], len(lanes))


def _signals(signals: Sequence[Signal]) -> dict[str, Any]:
    """Columns of the signals."""
    for signal in signals:
        if not len(signal.seconds) or len(signal.seconds) != len(signal.colours):
            raise ValueError(f"signal {signal.id} has {len(signal.seconds)} times for {len(signal.colours)} colours")
        if not all(np.isfinite(one) and one > 0.0 for one in signal.seconds) or not np.isfinite(signal.offset):
            raise ValueError(f"signal {signal.id}: its times {list(signal.seconds)} s are not all finite and over 0")
        if not set(signal.colours) <= {RED, AMBER, GREEN}:
            raise ValueError(f"signal {signal.id}: one of {list(signal.colours)} is no colour")
    return assemble.signal_columns(
        [one.seconds for one in signals], [one.colours for one in signals], [one.offset for one in signals]
    )


def _crossings(crossings: Sequence[Crossing], lights: dict[str, int], points: Points, kind: I64) -> dict[str, Any]:
    """Columns of the crossings."""
    strips = np.array([[*one.a, *one.b, one.width] for one in crossings], np.float64).reshape(-1, 5)
    for one, strip in zip(crossings, strips, strict=True):
        if not np.isfinite(strip).all() or strip[4] <= 0.0 or np.hypot(*(strip[2:4] - strip[:2])) < polyline.SHORTEST:
            raise ValueError(f"the crossing from {one.a} to {one.b}, {one.width} m wide, is no strip")
    light = [_number(lights, one.signal, "a crossing has signal") if one.signal else NONE for one in crossings]
    return assemble.crossing_columns(strips, np.array(light, np.int64), points, kind)
