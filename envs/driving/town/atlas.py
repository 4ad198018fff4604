"""Maps as the kernel reads them: all lane graphs of a training set one after the other, as arrays of records.

A record array a kind of thing keeps what is read together in one cache line, and lets one world stand on any of many
maps: lanes, points, signals and crossings are numbered through, so that a world needs its map's number only to draw
places, goals and squares of the grid.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..maps.graph import DRIVING, NONE, Columns, LaneGraph
from ..reference import by_reference
from .holding import holds

SWAY = 2.0  # m/s2: lateral acceleration in bends that drivers accept
SHORT = 6.0  # m: between two conflict zones, a lane on which nobody can wait
APART = 2.6  # m between the middles of two lanes: vehicles on them do not touch
ARC = 60.0  # m: longer lanes between two of one zone are no arcs of a ring
SPAN = 15.0  # m of an arc of twice that or more count as an arc
LONG = 20.0  # m: shorter lanes are no place to begin


def _record(**fields: str) -> np.dtype[Any]:
    return np.dtype(list(fields.items()), align=True)


LANE = _record(
    length="f4",  # m
    limit="f4",  # m/s
    bend="f4",  # m/s: the speed at which its sharpest bend asks for SWAY
    left="i4",  # the lane that a vehicle may change into, or NONE
    right="i4",
    road="i4",
    junction="i4",  # or NONE
    hold="f4",  # s at which the front of a vehicle without a reservation stops at the latest
    zone="i4",  # the connected set of conflicts that it is of, or NONE
    arc="i4",  # the zone whose ring it is an arc of: a short lane between two of that zone; or NONE
    arcs="i4",  # of a lane in a zone: how many arcs its ring has, long ones counted more than once
    point="i4",  # its first point
    final="i4",  # its last point
    next="i4",  # Atlas.next_lane[next:next_end]
    next_end="i4",
    previous="i4",  # Atlas.previous_lane[previous:previous_end]
    previous_end="i4",
    conflict="i4",  # Atlas.conflicts[conflict:conflict_end]
    conflict_end="i4",
    sibling="i4",  # Atlas.siblings[sibling:sibling_end]
    sibling_end="i4",
    stop="i4",  # Atlas.stops[stop:stop_end]
    stop_end="i4",
    strip="i4",  # Atlas.strips[strip:strip_end]
    strip_end="i4",
    kind="i4",
    map="i4",
)
POINT = _record(
    x="f4",
    y="f4",
    s="f4",
    heading="f4",
    cos="f4",
    sin="f4",
    per_metre="f4",  # 1 / the length of the segment to the next point; of a lane's last point it means nothing
    curvature="f4",
    width="f4",
    lane="i4",
)
CONFLICT = _record(lane="i4", begin="f4", end="f4", other_begin="f4", other_end="f4", priority="i4", merge="i4")
"""``merge``: 1 where both lanes lead into the same one."""
SIBLING = _record(lane="i4", clear="f4")
"""A lane that begins where this one begins; a vehicle on it whose rear is beyond ``clear`` m is out of the way."""
STOP = _record(s="f4", kind="i4", signal="i4")
SIGNAL = _record(phase="i4", phase_end="i4", offset="f4", cycle="f4")
PHASE = _record(seconds="f4", colour="i4")
CROSSING = _record(ax="f4", ay="f4", bx="f4", by="f4", width="f4", signal="i4", cover="i4", cover_end="i4")
STRIP = _record(crossing="i4", begin="f4", end="f4", lane="i4")
"""A crossing on a lane."""
MAP = _record(
    lane="i4",
    lane_end="i4",
    signal="i4",
    signal_end="i4",
    crossing="i4",
    crossing_end="i4",
    x="f4",  # of the grid's corner
    y="f4",
    cell="f4",
    nx="i4",
    ny="i4",
    grid="i4",  # where its squares begin in Atlas.grid_first
    entry="i4",  # Atlas.entries[entry:entry_end]: lanes on which vehicles come in
    entry_end="i4",
    start="i4",  # Atlas.starts[start:start_end]: lanes on which they stand at the beginning
    start_end="i4",
)


@by_reference
class Atlas(NamedTuple):
    """All maps of a batch; a tuple of read-only arrays, which compiled functions take as it is."""

    maps: Any  # [M] MAP
    lanes: Any  # [L] LANE
    points: Any  # [P] POINT
    along: npt.NDArray[np.float32]  # [P] their s, side by side: where places are searched
    next_lane: npt.NDArray[np.int32]
    previous_lane: npt.NDArray[np.int32]
    conflicts: Any  # CONFLICT
    siblings: Any  # SIBLING
    stops: Any  # STOP
    signals: Any  # SIGNAL
    phases: Any  # PHASE
    crossings: Any  # CROSSING
    strips: Any  # STRIP, by lane
    covers: Any  # STRIP, by crossing: Atlas.covers[cover:cover_end] of a crossing
    grid_first: npt.NDArray[np.int32]
    grid_point: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    goal_lane: npt.NDArray[np.int32]  # [Q]
    goal_first: npt.NDArray[np.int32]  # [Q]: the row of a goal begins at goal_distance[goal_first + lane of the map]
    goal_distance: npt.NDArray[np.float32]  # m from the beginning of a lane to the end of the goal's; inf: no way


def atlas(graphs: Sequence[LaneGraph], goals: Sequence[Sequence[int]] = ()) -> Atlas:
    """Puts maps one after the other.

    Args:
        graphs: the maps, in the order of ``World.map``.
        goals: of each map, lanes (numbered in that map) that agents may be sent to.

    Raises:
        ValueError: no map, or a map without a lane to drive on.
    """
    if not graphs:
        raise ValueError("a batch of towns needs at least one map")
    counts = {"lane": 0, "point": 0, "signal": 0, "crossing": 0, "zone": 0}
    parts: list[dict[str, Any]] = []
    for number, graph in enumerate(graphs):
        part = _part(graph, number, counts, parts)
        parts.append(part)
        counts["lane"] += len(graph)
        counts["point"] += len(graph.columns.x)
        counts["signal"] += len(graph.columns.signal_offset)
        counts["crossing"] += len(graph.columns.crossing)
        counts["zone"] = int(max(counts["zone"], part["lanes"]["zone"].max() + 1))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    found = Atlas(**joined, along=joined["points"]["s"].copy(), **_goals(joined["maps"], graphs, goals))
    for array in found:
        array.setflags(write=False)
    return found


def _size(parts: list[dict[str, Any]], name: str) -> int:
    return sum(len(part[name]) for part in parts)


def _shift(first: npt.NDArray[np.int32], by: int) -> tuple[Any, Any]:
    return first[:-1] + by, first[1:] + by


def _moved(index: npt.NDArray[np.int32], by: int) -> npt.NDArray[np.int32]:
    """Numbers through all maps; NONE stays NONE."""
    return np.where(index >= 0, index + by, NONE).astype(np.int32)


def _part(graph: LaneGraph, number: int, counts: dict[str, int], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One map's records, numbered to stand behind those of ``parts``."""
    columns = graph.columns
    base = counts["lane"]
    if not (columns.kind == DRIVING).any():
        raise ValueError(f"map {graph.name} has no lane to drive on")
    lanes = np.zeros(len(graph), LANE)
    for name in ("length", "limit", "kind", "junction"):
        lanes[name] = getattr(columns, name)
    for name in ("left", "right"):
        lanes[name] = _moved(getattr(columns, name), base)
    lanes["map"], lanes["road"] = number, columns.road
    lanes["point"], lanes["final"] = columns.first[:-1] + counts["point"], columns.first[1:] - 1 + counts["point"]
    sharpest = np.maximum.reduceat(np.abs(_bends(columns)), columns.first[:-1])
    lanes["bend"] = np.sqrt(SWAY / np.maximum(sharpest, 1e-4))
    zones = _zones(columns)
    arcs = _arcs(columns, zones)
    lanes["zone"], lanes["arc"] = _moved(zones, counts["zone"]), _moved(arcs, counts["zone"])
    spans = np.where(columns.length < 2.0 * SPAN, 1, columns.length // SPAN).astype(np.int64)
    rings = np.bincount(arcs[arcs >= 0], spans[arcs >= 0], minlength=len(lanes) + 1)
    lanes["arcs"] = np.where(zones >= 0, rings[zones], 0)
    lanes["hold"] = holds(columns)
    lanes["next"], lanes["next_end"] = _shift(columns.next_first, _size(parts, "next_lane"))
    lanes["previous"], lanes["previous_end"] = _shift(columns.previous_first, _size(parts, "previous_lane"))
    lanes["conflict"], lanes["conflict_end"] = _shift(columns.conflict_first, _size(parts, "conflicts"))
    lanes["stop"], lanes["stop_end"] = _shift(columns.stop_first, _size(parts, "stops"))
    siblings = _siblings(columns, lanes, _size(parts, "siblings"), base)
    strips = _strips(columns, lanes, _size(parts, "strips"), counts["crossing"], base)
    entries, starts = _places(columns)
    one = np.zeros(1, MAP)
    one["lane"], one["lane_end"] = base, base + len(graph)
    one["signal"], one["signal_end"] = counts["signal"], counts["signal"] + len(columns.signal_offset)
    one["crossing"], one["crossing_end"] = counts["crossing"], counts["crossing"] + len(columns.crossing)
    one["x"], one["y"] = columns.grid_origin
    one["cell"], one["nx"], one["ny"] = columns.grid_cell[0], columns.grid_shape[0], columns.grid_shape[1]
    one["grid"], one["entry"], one["start"] = (_size(parts, name) for name in ("grid_first", "entries", "starts"))
    one["entry_end"], one["start_end"] = one["entry"] + len(entries), one["start"] + len(starts)
    return {
        "maps": one,
        "lanes": lanes,
        "points": _points(columns, base),
        "next_lane": columns.next_lane + base,
        "previous_lane": columns.previous_lane + base,
        "conflicts": _conflicts(columns, base),
        "siblings": siblings,
        "stops": _stops(columns, counts["signal"]),
        **_signals(columns, _size(parts, "phases")),
        **_crossings(columns, counts, _size(parts, "covers")),
        "strips": strips,
        "grid_first": columns.grid_first + _size(parts, "grid_point"),
        "grid_point": columns.grid_point + counts["point"],
        "entries": (entries + base).astype(np.int32),
        "starts": (starts + base).astype(np.int32),
    }


def _points(columns: Columns, base: int) -> npt.NDArray[Any]:
    points = np.zeros(len(columns.x), POINT)
    for name in ("x", "y", "s", "heading", "curvature", "width"):
        points[name] = getattr(columns, name)
    points["cos"], points["sin"] = np.cos(columns.heading), np.sin(columns.heading)
    points["per_metre"] = 1.0 / np.maximum(np.diff(columns.s, append=columns.s[-1] + 1.0), 1e-3)
    points["lane"] = columns.lane + base
    return points


def _bends(columns: Columns) -> npt.NDArray[np.float64]:
    """Curvature at each point over a few metres: one kink of a polyline is no bend."""
    curvature = columns.curvature.astype(np.float64)
    smooth = curvature.copy()
    same = columns.lane[1:] == columns.lane[:-1]
    smooth[1:] += np.where(same, curvature[:-1], curvature[1:])
    smooth[:-1] += np.where(same, curvature[1:], curvature[:-1])
    return smooth / 3.0


def _conflicts(columns: Columns, base: int) -> npt.NDArray[Any]:
    conflicts = np.zeros(len(columns.conflict_lane), CONFLICT)
    for name in ("begin", "end", "other_begin", "other_end", "priority"):
        conflicts[name] = getattr(columns, f"conflict_{name}")
    conflicts["lane"] = columns.conflict_lane + base
    ahead = [set(_successors(columns, lane)) for lane in range(len(columns.length))]
    mine = np.repeat(np.arange(len(columns.length)), np.diff(columns.conflict_first))
    pairs = zip(mine, columns.conflict_lane, strict=True)
    conflicts["merge"] = [bool(ahead[one] & ahead[other]) for one, other in pairs]
    return conflicts


def _successors(columns: Columns, lane: int) -> list[int]:
    return list(columns.next_lane[columns.next_first[lane] : columns.next_first[lane + 1]].tolist())


def _zones(columns: Columns) -> npt.NDArray[np.int32]:
    """Connected sets of lanes that conflict, lie in one junction, or are joined by a lane too short to wait on."""
    size = len(columns.length)
    parent = np.arange(size)

    def root(lane: int) -> int:
        while parent[lane] != lane:
            parent[lane] = parent[parent[lane]]
            lane = int(parent[lane])
        return lane

    has = np.diff(columns.conflict_first) > 0
    mine = np.repeat(np.arange(size), np.diff(columns.conflict_first))
    for one, other in zip(mine, columns.conflict_lane, strict=True):
        parent[root(int(one))] = root(int(other))
    leader: dict[int, int] = {}
    for lane in np.flatnonzero(has & (columns.junction >= 0)):
        parent[root(int(lane))] = root(leader.setdefault(int(columns.junction[lane]), int(lane)))
    joint = np.zeros(size, np.bool_)
    for lane in np.flatnonzero(~has & (columns.length < SHORT)):
        before = columns.previous_lane[columns.previous_first[lane] : columns.previous_first[lane + 1]]
        near = [one for one in (*before.tolist(), *_successors(columns, int(lane))) if has[one]]
        if any(has[one] for one in before.tolist()) and any(has[one] for one in _successors(columns, int(lane))):
            joint[lane] = True
            for one in near:
                parent[root(int(lane))] = root(one)
    roots = np.array([root(lane) for lane in range(size)])
    inside = has | joint
    zone = np.full(size, NONE, np.int32)
    zone[inside] = np.unique(roots[inside], return_inverse=True)[1]
    return zone


def _arcs(columns: Columns, zones: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """For each lane the zone whose ring it is an arc of, or NONE."""
    found = np.full(len(zones), NONE, np.int32)
    for lane in np.flatnonzero((zones < 0) & (columns.length < ARC)).tolist():
        before = columns.previous_lane[columns.previous_first[lane] : columns.previous_first[lane + 1]]
        shared = {int(zones[one]) for one in before} & {int(zones[one]) for one in _successors(columns, lane)} - {NONE}
        if shared:
            found[lane] = min(shared)
    return found


def _siblings(columns: Columns, lanes: npt.NDArray[Any], offset: int, base: int) -> npt.NDArray[Any]:
    """Lanes that fork from one: from where on they are apart; fills in the lists of ``lanes``."""
    found: list[tuple[int, float]] = []
    for lane in range(len(columns.length)):
        lanes["sibling"][lane] = offset + len(found)
        before = columns.previous_lane[columns.previous_first[lane] : columns.previous_first[lane + 1]]
        others = {one for previous in before.tolist() for one in _successors(columns, previous)} - {lane}
        found += [(base + other, _apart(columns, other, lane)) for other in sorted(others)]
        lanes["sibling_end"][lane] = offset + len(found)
    return np.array(found, SIBLING) if found else np.zeros(0, SIBLING)


def _apart(columns: Columns, one: int, other: int) -> float:
    """The s on lane ``one`` from which on it is away from ``other``."""
    a, b = (slice(columns.first[lane], columns.first[lane + 1]) for lane in (one, other))
    away = np.hypot(columns.x[a, None] - columns.x[None, b], columns.y[a, None] - columns.y[None, b]).min(1)
    near = np.flatnonzero(away < APART)
    return float(columns.s[a][near[-1]]) + 1.0 if len(near) else 0.0


def _stops(columns: Columns, signals: int) -> npt.NDArray[Any]:
    stops = np.zeros(len(columns.stop_s), STOP)
    stops["s"], stops["kind"] = columns.stop_s, columns.stop_kind
    stops["signal"] = _moved(columns.stop_signal, signals)
    return stops


def _signals(columns: Columns, phases: int) -> dict[str, npt.NDArray[Any]]:
    signals = np.zeros(len(columns.signal_offset), SIGNAL)
    signals["phase"], signals["phase_end"] = _shift(columns.phase_first, phases)
    signals["offset"] = columns.signal_offset
    if len(signals):
        signals["cycle"] = np.add.reduceat(columns.phase_seconds, columns.phase_first[:-1])
    table = np.zeros(len(columns.phase_seconds), PHASE)
    table["seconds"], table["colour"] = columns.phase_seconds, columns.colour
    return {"signals": signals, "phases": table}


def _crossings(columns: Columns, counts: dict[str, int], offset: int) -> dict[str, npt.NDArray[Any]]:
    crossings = np.zeros(len(columns.crossing), CROSSING)
    for column, name in enumerate(("ax", "ay", "bx", "by", "width")):
        crossings[name] = columns.crossing[:, column]
    crossings["signal"] = _moved(columns.crossing_signal, counts["signal"])
    crossings["cover"], crossings["cover_end"] = _shift(columns.crossing_first, offset)
    covers = np.zeros(len(columns.crossing_lane), STRIP)
    covers["crossing"] = np.repeat(np.arange(len(crossings)), np.diff(columns.crossing_first)) + counts["crossing"]
    covers["begin"], covers["end"] = columns.crossing_begin, columns.crossing_end
    covers["lane"] = columns.crossing_lane + counts["lane"]
    return {"crossings": crossings, "covers": covers}


def _strips(columns: Columns, lanes: npt.NDArray[Any], offset: int, crossings: int, base: int) -> npt.NDArray[Any]:
    """The crossings on each lane, by s; fills in the lists of ``lanes``."""
    crossing = np.repeat(np.arange(len(columns.crossing)), np.diff(columns.crossing_first))
    order = np.lexsort((columns.crossing_begin, columns.crossing_lane))
    strips = np.zeros(len(order), STRIP)
    strips["crossing"] = crossing[order] + crossings
    strips["begin"], strips["end"] = columns.crossing_begin[order], columns.crossing_end[order]
    strips["lane"] = columns.crossing_lane[order] + base
    sorted_lane = columns.crossing_lane[order]
    lanes["strip"] = np.searchsorted(sorted_lane, np.arange(len(lanes))) + offset
    lanes["strip_end"] = np.searchsorted(sorted_lane, np.arange(len(lanes)), "right") + offset
    return strips


def _places(columns: Columns) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Lanes on which vehicles come in (those that nothing leads to, or else any), and on which they begin."""
    long = (columns.kind == DRIVING) & (np.diff(columns.conflict_first) == 0) & (columns.length >= LONG)
    if not long.any():
        long = columns.kind == DRIVING
    dead = (np.diff(columns.next_first) == 0) & (columns.left < 0) & (columns.right < 0) & (columns.length < 60.0)
    begins = np.flatnonzero(long & ~dead)
    begins = begins if len(begins) else np.flatnonzero(long)
    comes = begins[np.diff(columns.previous_first)[begins] == 0]
    return (comes if len(comes) else begins), begins


def _goals(maps: npt.NDArray[Any], graphs: Sequence[LaneGraph], goals: Sequence[Sequence[int]]) -> dict[str, Any]:
    from .routing import distances

    rows = [(number, goal) for number, some in enumerate(goals) for goal in some]
    table = [distances(graphs[number].columns, goal) for number, goal in rows]
    sizes = [len(row) for row in table]
    return {
        "goal_lane": np.array([maps["lane"][number] + goal for number, goal in rows], np.int32),
        "goal_first": (np.cumsum([0, *sizes])[:-1] if rows else np.zeros(0)).astype(np.int32),
        "goal_distance": np.concatenate(table).astype(np.float32) if table else np.zeros(0, np.float32),
    }
