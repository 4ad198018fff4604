"""What the agent sees, entry by entry as :mod:`.vocabulary` says, in [-1, 1].

Not known here, and 0 or 1 as for "none": give-way lines and crossings, which the client does not tell; and the entries
of manoeuvres, which this back end does not take.
"""

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
import numpy.typing as npt

from .planning import Way
from .rules import Stop, following
from .scene import Scene, wrapped
from .vocabulary import AHEAD, NEIGHBOUR, NEIGHBOURS, OWN, RULES, SIGHT, SIZE, WAYPOINT


@dataclass(frozen=True)
class Clocks:
    """How the episode stands: m of the route, least m left, s allowed and gone, s across a marking, s of standing."""

    length: float
    left: float
    budget: float
    clock: float
    straddle: float
    still: float


def observe(scene: Scene, way: Way, lines: list[Stop], clocks: Clocks) -> npt.NDArray[np.float32]:
    """The vector ``[233]``."""
    parts = [_own(scene, clocks), _route(scene, way), _rules(scene, lines), _neighbours(scene)]
    whole = np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])
    assert whole.shape == (SIZE,)
    return np.asarray(np.clip(whole, -1.0, 1.0), np.float32)


def _own(scene: Scene, clocks: Clocks) -> list[float]:
    ego, at, limit = scene.ego, scene.place, max(scene.limit, 0.1)
    half, time = 0.5 * at.width, max(clocks.budget - clocks.clock, 0.2)
    lane = [0.0] * 6
    if not at.off_lanes:
        lane = [at.turn / (0.5 * pi), at.offset / half, (half - at.offset) / 4.0, (half + at.offset) / 4.0]
        lane += [float(at.left), float(at.right)]
    values = [ego.v / 20.0, (ego.v - limit) / 10.0, limit / 30.0, ego.accel / 5.0, scene.steer / 0.5, ego.yaw_rate]
    values += [ego.v * ego.yaw_rate / 5.0, *lane, clocks.left / clocks.length, clocks.left / 200.0]
    values += [time / clocks.budget, clocks.left / time / limit, clocks.straddle / 3.0, 0.0, 0.0, clocks.still / 30.0]
    assert len(values) == len(OWN)
    return values


def _route(scene: Scene, way: Way) -> list[list[float]]:
    rows = []
    for distance in AHEAD:
        x, y, heading, width = way.at(scene.s + distance)
        forward, left = scene.ego.to(x, y)
        turn = wrapped(heading - scene.ego.heading)
        rows.append([forward / 80.0, left / 40.0, turn / pi, 0.5 * width / 4.0, scene.limit / 30.0])
        assert len(rows[-1]) == len(WAYPOINT)
    return rows


def _rules(scene: Scene, lines: list[Stop]) -> list[float]:
    values = [0.0] * len(RULES)
    values[0] = values[8] = 1.0
    line, away = following(lines, scene.s + 0.5 * scene.ego.length)
    if line is not None and away < SIGHT:
        values[0] = away / SIGHT
        values[1 if line.light is not None else 2] = 1.0
        if line.colour:
            values[4 + ("red", "amber", "green").index(line.colour)] = 1.0
        values[7] = float(line.halted)
    leader, gap = scene.leader()
    values[10] = min(gap / 80.0, 1.0)
    values[11] = 0.0 if leader is None else (leader.v - scene.ego.v) / 15.0
    return values


def _neighbours(scene: Scene) -> npt.NDArray[np.float64]:
    rows, ego = np.zeros((NEIGHBOURS, len(NEIGHBOUR))), scene.ego
    near = [other for other in scene.others if (other.x - ego.x) ** 2 + (other.y - ego.y) ** 2 <= SIGHT**2]
    for row, other in zip(rows, near[:NEIGHBOURS], strict=False):
        (forward, left), turn = ego.to(other.x, other.y), other.heading - ego.heading
        kind = {"pedestrian": -1.0, "cyclist": 0.0}.get(other.kind, 1.0)
        moves = [(other.v * cos(turn) - ego.v) / 20.0, other.v * sin(turn) / 20.0]
        size = [other.length / 10.0, other.width / 3.0]
        row[:] = [1.0, forward / 80.0, left / 80.0, cos(turn), sin(turn), *moves, *size, kind]
    return rows
