from typing import Any

import pytest

from tiltyard.envs.driving.metrics.fault import at_fault, at_fault_nuplan, kind, side

from .logs import struck

EGO = (0.0, 0.0, 0.0, 5.0, 2.0)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((4.5, 0.0, 0.0, 5.0, 2.0), "front"),  # rear-ended it
        ((2.5, 2.2, 1.57, 5.0, 2.0), "front"),  # it crosses; the bumper is in its side
        ((-4.9, 0.0, 0.0, 5.0, 2.0), "rear"),
        ((-1.0, 1.9, 0.0, 5.0, 2.0), "side"),
        ((-4.0, 1.9, 0.1, 5.0, 2.0), "side"),  # 145 degrees from ahead as seen from the rear axle
        ((-5.0, 1.5, 0.1, 5.0, 2.0), "rear"),  # 157 degrees
    ],
)
def test_what_was_touched(other: tuple[float, ...], said: str) -> None:
    assert side(EGO, other) == said
    # the same, turned by 2 rad and moved
    from math import cos, sin

    def turned(x: float, y: float, heading: float, length: float, width: float) -> tuple[float, ...]:
        return (9.0 + x * cos(2) - y * sin(2), x * sin(2) + y * cos(2), heading + 2, length, width)

    assert side(turned(*EGO), turned(*other)) == said


@pytest.mark.parametrize(
    ("facts", "what", "nuplan", "ours"),
    [
        ({}, "front", True, True),
        ({"side": "rear"}, "rear", False, False),
        ({"side": "side"}, "lateral", False, False),
        ({"side": "side", "one_lane": False}, "lateral", True, True),
        ({"ego_speed": 0.05}, "stopped_ego", False, False),
        ({"ego_speed": 0.05, "other_speed": 0.0}, "stopped_ego", False, False),
        ({"side": "rear", "other_speed": 0.0}, "stopped_other", True, True),
        ({"side": "side", "other": "static", "other_speed": 0.0}, "stopped_other", True, True),
        ({"side": "side", "against_priority": True}, "lateral", False, True),  # past a red light, hit on the side
        ({"ego_speed": 0.0, "side": "side", "against_priority": True}, "stopped_ego", False, True),
        ({"side": "rear", "against_priority": True}, "rear", False, False),
        ({"side": "rear", "ego_speed": -1.0}, "rear", False, True),  # reversed into a follower
    ],
)
def test_whose_fault(facts: dict[str, Any], what: str, nuplan: bool, ours: bool) -> None:
    event = struck(**facts)
    assert (kind(event), at_fault_nuplan(event), at_fault(event)) == (what, nuplan, ours)
