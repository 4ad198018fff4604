"""Signals and stop signs on the way: where the ego must stop, and whether it did."""

from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

from .planning import Way

BESIDE = 2.0  # m from the way within which a stop point is on it
HALTED = 0.1  # m/s
BEFORE = 6.0  # m before a stop sign's line in which to stop
COLOURS = {"Red": "red", "Yellow": "amber", "Green": "green"}


@dataclass
class Stop:
    """A line on the way: ``s`` m along it; its signal's actor, or ``None`` for a stop sign."""

    s: float
    light: Any = None
    halted: bool = False
    passed: bool = False

    @property
    def colour(self) -> str:
        """Of its signal: red, amber, green; empty of a sign, and of a signal that is off."""
        return "" if self.light is None else COLOURS.get(str(self.light.get_state()), "")


def stops(world: Any, way: Way) -> list[Stop]:
    """All lines on a way, in order."""
    actors = world.get_actors()
    found = []
    for light in sorted(actors.filter("traffic.traffic_light*"), key=lambda one: one.id):
        for point in light.get_stop_waypoints():
            spot, heading = point.transform.location, -radians(point.transform.rotation.yaw)
            found += [Stop(s, light) for s in _on(way, spot.x, -spot.y, heading)]
    for sign in sorted(actors.filter("traffic.stop*"), key=lambda one: one.id):
        at, box = sign.get_transform(), sign.trigger_volume.location
        heading = -radians(at.rotation.yaw)
        x = at.location.x + box.x * cos(heading) + box.y * sin(heading)
        y = -at.location.y + box.x * sin(heading) - box.y * cos(heading)
        found += [Stop(s) for s in _on(way, x, y, None)]
    return sorted(found, key=lambda one: one.s)


def _on(way: Way, x: float, y: float, heading: float | None) -> list[float]:
    s, left = way.project(x, y, 0.5 * way.length, window=way.length)
    if abs(left) > BESIDE:
        return []
    along = way.at(s)[2]
    return [s] if heading is None or cos(along - heading) > 0.7 else []


def crossed(lines: list[Stop], front: float, speed: float) -> list[str]:
    """What the ego broke by coming this far: "red_light" and "stop_sign", once a line; keeps who has halted.

    Args:
        lines: of its way.
        front: m along the way of its front bumper.
        speed: m/s.
    """
    broken = []
    for line in lines:
        if line.passed:
            continue
        if front <= line.s:
            near = line.s - front < BEFORE
            line.halted = line.halted or (near and abs(speed) < HALTED)
            continue
        line.passed = True
        if line.colour == "red":
            broken.append("red_light")
        elif line.light is None and not line.halted:
            broken.append("stop_sign")
    return broken


def following(lines: list[Stop], front: float) -> tuple[Stop | None, float]:
    """The next line that has not been passed, and m to it (infinite: none)."""
    for line in lines:
        if not line.passed and line.s >= front:
            return line, line.s - front
    return None, float("inf")
