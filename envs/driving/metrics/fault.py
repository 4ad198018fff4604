"""Whose fault a collision was: the kinds of nuPlan, its rule, and a stricter one that knows of priority.

| kind | what | at fault after nuPlan |
|---|---|---|
| ``stopped_ego`` | the ego stood | no |
| ``stopped_other`` | the other stood, or cannot move | yes |
| ``rear`` | the other's middle was behind the ego's rear axle, within 30 degrees of straight behind | no |
| ``front`` | the ego's front bumper touched the other | yes |
| ``lateral`` | anything else | where the ego's body was in several lanes, or outside the drivable area |

To stand is to be slower than 0.05 m/s. nuPlan's rule lets two egos go: one that is hit on its side where it had no
right to be, past a red light, and one that reverses into a vehicle that moves. :func:`at_fault` does not.

Source: nuplan-devkit 1.2, ``no_ego_at_fault_collisions.py`` (``_get_collision_type``,
``classify_at_fault_collisions``), ``observation/idm/utils.py``.
"""

from collections.abc import Sequence
from math import acos, cos, hypot, pi, sin

import numpy as np
import numpy.typing as npt

from .geometry import corners, cross
from .log import Event
from .rules import STANDING, blame

BEHIND = 150.0 * pi / 180.0  # angle from the heading
REAR_AXLE = 1.461 / 5.176  # from the middle of the body back, in lengths: nuPlan's Pacifica

Pose = Sequence[float] | npt.NDArray[np.float64]
"""x, y, heading, length, width: of the middle of the body."""


def side(ego: Pose, other: Pose) -> str:
    """What of the ego the other touches, as :class:`~.log.Event` says it; the two are taken to touch.

    Args:
        ego: its pose.
        other: its pose.
    """
    x, y, heading, length, width = (float(v) for v in ego)
    axle = (x - REAR_AXLE * length * cos(heading), y - REAR_AXLE * length * sin(heading))
    dx, dy = float(other[0]) - axle[0], float(other[1]) - axle[1]
    far = hypot(dx, dy)
    if far > 0 and acos(max(-1.0, min(1.0, (dx * cos(heading) + dy * sin(heading)) / far))) > BEHIND:
        return "rear"
    left, _, _, right = corners(x, y, heading, length, width)
    return "front" if cross(left, right, corners(*(float(v) for v in other))) else "side"


def kind(event: Event) -> str:
    """The kind of a collision, of the table above."""
    assert event.kind == "collision"
    assert event.ego_speed is not None
    assert event.other_speed is not None
    if abs(event.ego_speed) <= STANDING:
        return "stopped_ego"
    if event.other == "static" or abs(event.other_speed) <= STANDING:
        return "stopped_other"
    return {"rear": "rear", "front": "front", "side": "lateral"}[event.side]


def at_fault_nuplan(event: Event) -> bool:
    """Whether nuPlan says that the ego could have prevented it."""
    what = kind(event)
    return what in ("front", "stopped_other") or (what == "lateral" and not event.one_lane)


def at_fault(event: Event) -> bool:
    """As nuPlan, and also where the ego was against a priority (unless hit from behind), or reversed into the other."""
    assert event.kind == "collision"
    assert event.ego_speed is not None
    assert event.other_speed is not None
    other_speed = 0.0 if event.other == "static" else event.other_speed
    front, rear, against = event.side == "front", event.side == "rear", bool(event.against_priority)
    return blame(front, rear, event.ego_speed, other_speed, bool(event.one_lane), against)
