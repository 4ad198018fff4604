"""What a reader found in a file, before it is a graph; and what all readers do with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .build import Crossing, Lane, Signal, StopLine, build
from .graph import AMBER, GREEN, RED, LaneGraph

SHORTEST = 0.15
"""Lanes below this length (m), hardly more than a graph takes, are left out: who led into one leads on to the next."""
NEAR = 5.0
"""A stop line this near (m) to a lane's begin lies at the ends of the lanes before it."""
GREEN_SECONDS, AMBER_SECONDS, ALL_RED_SECONDS = 20.0, 3.0, 2.0
"""Of signals of which a file tells the place alone."""

F64 = npt.NDArray[np.float64]


@dataclass
class Description:
    """The parts of a map, as a reader hands them on.

    Attributes:
        name: of the map.
        lanes, signals, stops, crossings: its parts.
        warnings: sentences on what was left out or assumed.
    """

    name: str
    lanes: list[Lane]
    signals: list[Signal] = field(default_factory=list)
    stops: list[StopLine] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def graph(self, source: Path, spacing: float = 2.0) -> LaneGraph:
        """The graph, with the warnings in its notes."""
        leave_out_short(self)
        built = build(
            self.name,
            self.lanes,
            signals=self.signals,
            stops=self.stops,
            crossings=self.crossings,
            spacing=spacing,
            source=str(source),
        )
        built.notes["warnings"] = tuple(self.warnings)
        return built


@dataclass(frozen=True)
class Light:
    """A traffic light without a program: where it stops traffic and in which direction that goes (radians)."""

    id: str
    place: tuple[float, float]
    heading: float
    group: str = ""  # lights of one group are green together


def length_of(line: npt.ArrayLike) -> float:
    """Of a polyline, m."""
    return float(np.hypot(*np.diff(np.asarray(line, float), axis=0).T).sum())


def cleaned(line: npt.ArrayLike) -> F64:
    """A polyline ``[n, 2]`` without points that repeat the one before, within 1 mm; at least its two ends."""
    points = np.asarray(line, float)[:, :2]
    apart = np.hypot(*np.diff(points, axis=0).T) > 1e-3
    return points[np.concatenate([[True], apart])] if apart.any() else points[[0, -1]]


def along(line: F64, at: npt.ArrayLike) -> F64:
    """The points of a polyline at these shares (0 to 1) of its length, ``[n, 2]``."""
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    wanted = np.asarray(at, float) * s[-1]
    return np.stack([np.interp(wanted, s, line[:, 0]), np.interp(wanted, s, line[:, 1])], axis=1)


def nearest(line: F64, points: F64) -> tuple[F64, F64]:
    """How far each point is from a polyline, and at which s of it, both ``[n]``."""
    begin, step = line[:-1], np.diff(line, axis=0)
    size = np.maximum((step**2).sum(axis=1), 1e-12)
    share = np.clip(((points[:, None] - begin) * step).sum(axis=2) / size, 0.0, 1.0)
    distance = np.linalg.norm(points[:, None] - begin - share[..., None] * step, axis=2)
    best = distance.argmin(axis=1)
    rows = np.arange(len(points))
    before = np.concatenate([[0.0], np.cumsum(np.sqrt((step**2).sum(axis=1)))])
    return distance[rows, best], before[best] + share[rows, best] * np.sqrt(size[best])


def crossed(line: F64, a: F64, b: F64) -> float | None:
    """The s at which a polyline first crosses the segment from a to b; ``None`` if it does not."""
    begin, step, across = line[:-1], np.diff(line, axis=0), b - a
    area = step[:, 0] * across[1] - step[:, 1] * across[0]
    offset = a - begin
    with np.errstate(divide="ignore", invalid="ignore"):
        here = (offset[:, 0] * across[1] - offset[:, 1] * across[0]) / area
        there = (offset[:, 0] * step[:, 1] - offset[:, 1] * step[:, 0]) / area
    found = np.flatnonzero((here >= 0) & (here <= 1) & (there >= 0) & (there <= 1))
    if not len(found):
        return None
    lengths = np.hypot(*step.T)
    return float(lengths[: found[0]].sum() + here[found[0]] * lengths[found[0]])


def strip(corners: F64) -> tuple[tuple[float, float], tuple[float, float], float]:
    """The middle line of a four-sided polygon along its longer axis, and the width across."""
    sides = np.hypot(*(np.roll(corners, -1, axis=0) - corners).T)
    shift = 0 if sides[0] + sides[2] <= sides[1] + sides[3] else 1
    ends = np.roll(corners, -shift, axis=0)
    a, b = (ends[0] + ends[1]) / 2, (ends[2] + ends[3]) / 2
    return (float(a[0]), float(a[1])), (float(b[0]), float(b[1])), float(np.roll(sides, -shift)[[0, 2]].mean())


def ranks(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Ranks from pairs (who gives way, to whom): the latter's is higher, unless they wait in a circle."""
    pairs = sorted(set(pairs))
    names = sorted({name for pair in pairs for name in pair})
    index = {name: i for i, name in enumerate(names)}
    if not names:
        return {}
    rows, columns = np.array([(index[a], index[b]) for a, b in pairs]).T
    matrix = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(names), len(names)))
    _, circle = connected_components(matrix, connection="strong")
    above = {(int(circle[a]), int(circle[b])) for a, b in zip(rows, columns, strict=True) if circle[a] != circle[b]}
    level: dict[int, int] = dict.fromkeys(map(int, circle), 0)
    changed = True
    while changed:  # ends, for there is no circle left
        changed = False
        for low, high in above:
            if level[high] <= level[low]:
                level[high], changed = level[low] + 1, True
    return {name: level[int(circle[i])] for name, i in index.items()}


def joined(pairs: Iterable[tuple[str, str]], names: Iterable[str]) -> dict[str, str]:
    """For each name the least one of its group; those of a pair are in the same."""
    names = sorted(set(names))
    index = {name: i for i, name in enumerate(names)}
    ends = np.array([(index[a], index[b]) for a, b in pairs], int).reshape(-1, 2)
    matrix = csr_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(len(names), len(names)))
    _, group = connected_components(matrix, directed=False)
    least: dict[int, str] = {}
    for name, number in zip(names, group, strict=True):
        least.setdefault(int(number), name)
    return {name: least[int(number)] for name, number in zip(names, group, strict=True)}


def programs(lights: Sequence[Light], apart: float = 40.0) -> list[Signal]:
    """Fixed programs for lights of which only the places are known.

    Lights within ``apart`` metres belong to one junction. Its groups, or without groups its two axes of approach, are
    green in turn: 20 s, then 3 s amber, then 2 s red for all.
    """
    place = np.array([light.place for light in lights], float).reshape(-1, 2)
    close = np.hypot(*(place[:, None] - place).transpose(2, 0, 1)) < apart
    ids = [light.id for light in lights]
    junction = joined([(ids[i], ids[j]) for i, j in np.argwhere(close)], ids)
    members: dict[str, list[Light]] = {}
    for light in lights:
        members.setdefault(junction[light.id], []).append(light)
    return [signal for one in members.values() for signal in _in_turn(one)]


def add_programs(found: Description, lights: Sequence[Light]) -> None:
    """Adds signals with fixed programs, and a warning that the file has none."""
    found.signals += programs(lights)
    if lights:
        found.warnings.append(f"no programs of the {len(lights)} traffic lights are given: they go in turn, 20 s green")


def _in_turn(lights: Sequence[Light]) -> list[Signal]:
    first = lights[0].heading
    turns = [light.group for light in lights]
    if len(set(turns)) == 1:
        turns = [str(round((light.heading - first) / (np.pi / 2)) % 2) for light in lights]
    order = sorted(set(turns))
    signals = []
    for light, turn in zip(lights, turns, strict=True):
        seconds, colours = [], []
        for one in order:
            seconds += [GREEN_SECONDS, AMBER_SECONDS, ALL_RED_SECONDS]
            colours += [GREEN, AMBER, RED] if one == turn else [RED, RED, RED]
        signals.append(Signal(light.id, *merged(seconds, colours)))
    return signals


def merged(seconds: Sequence[float], colours: Sequence[int]) -> tuple[list[float], list[int]]:
    """Phases with neighbours of one colour made one."""
    long: list[float] = []
    kept: list[int] = []
    for duration, colour in zip(seconds, colours, strict=True):
        if kept and kept[-1] == colour:
            long[-1] += duration
        else:
            long.append(float(duration))
            kept.append(colour)
    return long, kept


def predecessors(lanes: Sequence[Lane]) -> dict[str, list[str]]:
    """Ids of the lanes before each lane."""
    before: dict[str, list[str]] = {lane.id: [] for lane in lanes}
    for lane in lanes:
        for follower in lane.successors:
            before[follower].append(lane.id)
    return before


def place_stop(
    lane: Lane, s: float, kind: int, signal: str, lanes: Mapping[str, Lane], before: Mapping[str, list[str]]
) -> list[StopLine]:
    """A stop line at ``s``; in the first 5 m of a junction's lane it goes to the ends of the lanes before that."""
    if s > NEAR or not before[lane.id] or not (lane.junction or s == 0.0):
        return [StopLine(lane.id, s, kind, signal)]
    return [StopLine(name, length_of(lanes[name].middle), kind, signal) for name in before[lane.id]]


def leave_out_short(found: Description) -> None:
    """Takes out lanes below 0.15 m; who led into one leads on to what follows it."""
    by_id = {lane.id: lane for lane in found.lanes}
    short = {lane.id for lane in found.lanes if length_of(lane.middle) < SHORTEST}
    if not short:
        return
    for lane in found.lanes:
        lane.successors = list(dict.fromkeys(_beyond(lane.id, by_id, short)))
        lane.left = "" if lane.left in short else lane.left
        lane.right = "" if lane.right in short else lane.right
    found.lanes = [lane for lane in found.lanes if lane.id not in short]
    found.stops = [stop for stop in found.stops if stop.lane not in short]
    found.warnings.append(f"{len(short)} lanes shorter than {SHORTEST} m were left out")


def _beyond(start: str, by_id: Mapping[str, Lane], short: set[str]) -> list[str]:
    reached: list[str] = []
    ahead, seen = list(by_id[start].successors), {start}
    while ahead:
        name = ahead.pop(0)
        if name in short and name not in seen:
            ahead = list(by_id[name].successors) + ahead
        elif name not in short:
            reached.append(name)
        seen.add(name)
    return reached
