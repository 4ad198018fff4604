from math import pi
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.driving.carla.planning import Unreachable, connect, wander, way
from tiltyard.envs.driving.carla.rules import Stop, crossed, following

from .fake import Location, Map


def test_a_way_is_a_line_in_our_frame() -> None:
    town = Map()
    along = way(connect(town, [Location(10.0, 5.0), Location(215.0, 100.0)]))
    # 190 m straight, a stretch of 0.25 m and a quarter of a circle of 14.75 m to the right, 80 m
    assert along.length == pytest.approx(190 + 0.25 + 14.75 * pi / 2 + 80, abs=0.5)
    assert (along.x[0], along.y[0]) == (10.0, -5.25)
    assert along.at(1e9)[:2] == pytest.approx((215.0, -100.0))
    assert along.heading[0] == 0.0
    assert along.heading[-1] == pytest.approx(-pi / 2)  # clockwise
    assert along.junction.any()
    assert along.project(50.0, -4.25, near=40.0) == pytest.approx((40.0, 1.0))  # 1 m to the left
    assert along.project(215.0 + 2.0, -50.0, near=220.0)[1] == pytest.approx(2.0)  # left of who drives south


def test_lanes_are_changed_where_that_is_allowed_and_needed() -> None:
    town = Map()
    straight = connect(town, [Location(10.0, 1.75), Location(400.0, 1.75)])
    assert {one.lane_id for one in straight} == {-1}
    over = connect(town, [Location(10.0, 1.75), Location(215.0, 100.0)])
    assert [one.lane_id for one in over][:1] == [-1]
    assert -2 in {one.lane_id for one in over}
    town.lanes[0].change = "NONE"
    with pytest.raises(Unreachable, match="from keypoint 0 to keypoint 1"):
        connect(town, [Location(10.0, 1.75), Location(215.0, 100.0)])
    with pytest.raises(Unreachable, match="file, line 3: no way leads from keypoint 1 to keypoint 2"):
        connect(town, [Location(10.0, 1.75), Location(50.0, 1.75), Location(150.0, -1.75)], "file, line 3")


def test_a_drawn_way_ends_at_its_length_or_at_a_dead_end() -> None:
    town = Map()
    begin = town.get_waypoint(Location(10.0, 1.75))
    assert way(wander(begin, 50.0, lambda n: 0)).length == pytest.approx(50.0)
    assert way(wander(begin, 900.0, lambda n: 0)).length == pytest.approx(410.0, abs=2.0)
    with pytest.raises(ValueError, match="two places"):
        way([begin])


class Colour:
    def __init__(self, name: str) -> None:
        self.name = name

    def get_state(self) -> Any:
        return self.name


def test_lines_are_broken_once_and_signs_ask_for_a_stop() -> None:
    light, sign = Stop(50.0, Colour("Red")), Stop(80.0)
    lines = [light, sign]
    assert following(lines, 10.0) == (light, 40.0)
    assert crossed(lines, 49.9, 10.0) == []
    assert crossed(lines, 50.1, 10.0) == ["red_light"]
    assert crossed(lines, 50.2, 10.0) == []
    assert crossed(lines, 73.0, 0.0) == []  # halted 7 m before it, which is too early
    assert crossed(lines, 80.5, 3.0) == ["stop_sign"]
    lawful = [Stop(50.0, Colour("Green")), Stop(80.0)]
    assert crossed(lawful, 51.0, 10.0) + crossed(lawful, 76.0, 0.0) + crossed(lawful, 81.0, 2.0) == []
    assert following(lawful, 81.0) == (None, np.inf)
    assert Stop(0.0, Colour("Off")).colour == ""
