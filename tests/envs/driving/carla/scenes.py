"""Scenes worked by hand."""

from typing import Any

import numpy as np

from tiltyard.envs.driving.carla.planning import Way
from tiltyard.envs.driving.carla.scene import Body, Place, Scene


def car(number: int = 1, **given: Any) -> Body:
    """At the origin, heading east at 10 m/s."""
    facts: dict[str, Any] = {"kind": "vehicle", "x": 0.0, "y": 0.0, "z": 0.0, "heading": 0.0, "v": 10.0}
    facts |= {"accel": 0.0, "lateral_accel": 0.0, "yaw_rate": 0.0, "length": 5.0, "width": 2.0}
    return Body(id=number, **{**facts, **given})


def scene(*others: Body, ego: Body | None = None, s: float = 0.0, **given: Any) -> Scene:
    """The car in the middle of a lane of 4 m with a limit of 15 m/s."""
    lane = Place(0.0, 0.0, 4.0, -1.0, 0.0, left=True, right=False, junction=False, off_lanes=False, wrong_way=False)
    facts: dict[str, Any] = {"place": lane, "limit": 15.0, "steer": 0.0, "aside": 0.0}
    return Scene(ego=ego or car(), others=others, s=s, **{**facts, **given})


def straight(length: float = 200.0) -> Way:
    """East from the origin, 4 m wide."""
    s = np.arange(0.0, length + 1.0, 2.0)
    return Way(s, 0 * s, 0.0, s, 0 * s, np.full(len(s), 4.0), np.zeros(len(s), bool))
