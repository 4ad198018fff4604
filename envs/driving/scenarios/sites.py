"""Where on a map a trigger fits."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..maps.geometry import locate, place, segment
from ..maps.graph import DRIVING, NONE, SIGNAL, Columns, LaneGraph
from .triggers import Fit, Role, Trigger

APART = 50.0  # m between two places along one lane
TURN = 0.6  # rad from which a way through a junction is a turn
END = 3.0  # m: a stop line so near a lane's end is the junction's


@dataclass(frozen=True)
class Site:
    """A place: ``s`` m along the agent's ``lane``, and where the actors' roles are: a lane and the ``s`` on it.

    In a junction it is where the ways meet, on the lane through it; ``crossing`` is the number of the strip.
    """

    lane: int
    s: float
    roles: dict[Role, tuple[int, float]] = field(default_factory=dict)
    crossing: int = NONE


def sites(graph: LaneGraph, trigger: Trigger) -> list[Site]:
    """All places of a map where a trigger fits, in the order of its lanes; none may."""
    find = {"road": _on_roads, "junction": _in_junctions, "crossing": _at_crossings}[trigger.fit.where]
    return list(find(graph.columns, trigger.fit))


def _roads(c: Columns, fit: Fit) -> list[int]:
    """Lanes outside junctions whose limit fits."""
    fits = (c.kind == DRIVING) & (c.junction == NONE) & (c.limit >= fit.limits[0]) & (c.limit <= fit.limits[1])
    return np.flatnonzero(fits).tolist()


def _on_roads(c: Columns, fit: Fit) -> Iterator[Site]:
    for lane in _roads(c, fit):
        if (fit.alone and c.left[lane] != NONE) or (fit.kerb and c.right[lane] != NONE):
            continue
        end = float(min([c.length[lane], *c.stop_s[c.stop_first[lane] : c.stop_first[lane + 1]]]))
        for s in np.arange(fit.before, end - fit.after + 1e-6, APART):
            roles = _beside(c, lane, float(s))
            if not fit.beside or fit.beside in roles:
                yield Site(lane, float(s), roles)


def _beside(c: Columns, lane: int, s: float) -> dict[Role, tuple[int, float]]:
    """The agent's lane, those beside it, and that of oncoming traffic to the left, level with ``s``."""
    roles: dict[Role, tuple[int, float]] = {"own": (lane, s)}
    sides: tuple[tuple[Role, int], ...] = (("left", int(c.left[lane])), ("right", int(c.right[lane])))
    for role, other in sides:
        if other != NONE:
            roles[role] = other, s * float(c.length[other] / c.length[lane])
    if c.left[lane] == NONE:
        width = float(c.width[segment(c, lane, s)])
        x, y, heading = place(c, lane, s, width)
        point, level, d = locate(c, x, y, heading + np.pi, 8.0, DRIVING)
        if point != NONE and abs(d) < 0.5 * width and np.cos(c.heading[point] - heading) < -0.9:
            roles["oncoming"] = int(c.lane[point]), level
    return roles


def _before(c: Columns, lane: int) -> list[int]:
    return [int(one) for one in c.previous_lane[c.previous_first[lane] : c.previous_first[lane + 1]]]


def _after(c: Columns, lane: int) -> list[int]:
    return [int(one) for one in c.next_lane[c.next_first[lane] : c.next_first[lane + 1]]]


def turned(c: Columns, lane: int) -> float:
    """The angle by which a lane turns, rad in (-pi, pi], positive to the left."""
    angle = c.heading[c.first[lane + 1] - 1] - c.heading[c.first[lane]]
    return float(np.pi - (np.pi - angle) % (2.0 * np.pi))


def _way(c: Columns, lane: int) -> str:
    angle = turned(c, lane)
    return "straight" if abs(angle) < TURN else "left" if angle > 0.0 else "right"


def rule(c: Columns, lane: int) -> str:
    """What rules a lane through a junction: ``signal``, ``sign``, or ``priority`` if no lane before has a stop line."""
    kinds = {int(kind) for one in _before(c, lane) for kind in c.stop_kind[c.stop_first[one] : c.stop_first[one + 1]]}
    return "priority" if not kinds else "signal" if SIGNAL in kinds else "sign"


def _in_junctions(c: Columns, fit: Fit) -> Iterator[Site]:
    for lane in np.flatnonzero(c.junction != NONE).tolist():
        ways = [one for one in _before(c, lane) if c.junction[one] == NONE and c.length[one] >= fit.before]
        out = [one for one in _after(c, lane) if c.junction[one] == NONE]
        if not ways or not out or (fit.turn and _way(c, lane) != fit.turn) or (fit.rule and rule(c, lane) != fit.rule):
            continue
        roles: dict[Role, tuple[int, float]] = {"own": (ways[0], float(c.length[ways[0]])), "after": (out[0], 0.0)}
        if not fit.meets:
            yield Site(lane, 0.0, roles)
            continue
        for row in range(c.conflict_first[lane], c.conflict_first[lane + 1]):
            other = int(c.conflict_lane[row])
            if _comes(c, lane, other) == fit.meets and _way(c, other) == "straight":
                yield Site(
                    lane,
                    float(c.conflict_begin[row]),
                    {**roles, fit.meets: (other, float(c.conflict_other_begin[row]))},
                )


def _comes(c: Columns, lane: int, other: int) -> str:
    """From where another way comes into the junction, seen by who is about to enter it on ``lane``."""
    angle = float(c.heading[c.first[other]] - c.heading[c.first[lane]])
    cos, sin = np.cos(angle), np.sin(angle)
    if cos < -0.7:
        return "opposite"
    if cos > 0.7:
        return "same"
    return "crossing-right" if sin > 0.0 else "crossing-left"


def _at_crossings(c: Columns, fit: Fit) -> Iterator[Site]:
    for crossing in range(len(c.crossing)):
        for row in range(c.crossing_first[crossing], c.crossing_first[crossing + 1]):
            lane, s = int(c.crossing_lane[row]), float(c.crossing_begin[row])
            if c.junction[lane] != NONE or s < fit.before or not fit.limits[0] <= c.limit[lane] <= fit.limits[1]:
                continue
            if fit.kerb and c.right[lane] != NONE:
                continue
            turns = [one for one in _before(c, lane) if c.junction[one] != NONE and abs(turned(c, one)) >= TURN]
            if not fit.turned or (turns and s < 10.0):
                yield Site(lane, s, {"own": (lane, s), "strip": (lane, s)}, crossing)
