"""The scripted driver: pure pursuit of the way, IDM behind the leader, stops before red lights and at stop signs.

It changes no lane but where the way does, and gives way only where signals and signs say so.

Source of the pursuit: Coulter, Implementation of the pure pursuit path tracking algorithm (1992), eq. 1.
"""

from math import atan, atan2, hypot, sin

from ..traffic import idm
from ..vehicle import WHEELBASE, clip, steer_limit
from .planning import Way
from .rules import BEFORE, Stop, following
from .scene import Scene

LOOKAHEAD = 0.9  # s of driving, at least 5 m
HEADWAY, ACCEL, BRAKE = 1.5, 2.0, 2.5  # IDM
SWAY = 2.0  # m/s2 of lateral acceleration in bends
LINE = 1.0  # m before a line at which it means to stop


def act(scene: Scene, way: Way, lines: list[Stop]) -> tuple[float, float]:
    """Pedal and steering in [-1, 1]."""
    ego = scene.ego
    reach = max(5.0, LOOKAHEAD * ego.v)
    x, y, _, _ = way.at(scene.s + reach)
    forward, left = ego.to(x, y)
    bearing = atan2(left, forward)
    angle = atan(2.0 * WHEELBASE * sin(bearing) / max(hypot(forward, left), 1.0))
    wheel = clip(angle / steer_limit(max(ego.v, 0.0)), -1.0, 1.0)
    leader, gap = scene.leader()
    speed = max(ego.v, 0.0)
    desired = max(min(scene.limit, _bend_speed(scene, way)), 1.0)
    accel = idm(speed, leader.v if leader is not None else speed, gap, desired, HEADWAY, ACCEL, BRAKE)
    line, away = following(lines, scene.s + 0.5 * ego.length)
    if line is not None and _must_stop(line, away, speed):
        accel = min(accel, idm(speed, 0.0, max(away - LINE, 0.1) + 2.0, desired, 0.5, ACCEL, BRAKE))
    return clip(accel / (3.0 if accel > 0 else 8.0), -1.0, 1.0), wheel


def _must_stop(line: Stop, away: float, speed: float) -> bool:
    if line.light is None:
        return not line.halted and away < BEFORE + speed * speed
    can = speed * speed / (2.0 * 6.0) < away
    return line.colour == "red" or (line.colour == "amber" and can)


def _bend_speed(scene: Scene, way: Way) -> float:
    slowest = scene.limit
    for ahead in (5.0, 12.0, 20.0):
        a, b = way.at(scene.s + ahead), way.at(scene.s + ahead + 6.0)
        turn = abs((b[2] - a[2] + 3.141592653589793) % 6.283185307179586 - 3.141592653589793)
        if turn > 0.02:
            slowest = min(slowest, (SWAY * 6.0 / turn) ** 0.5 + 0.3 * ahead)
    return slowest
