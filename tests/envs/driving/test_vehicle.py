import math

import numpy as np
import pytest

from tiltyard.envs.driving.state import LANE_WIDTH, SIM_DT
from tiltyard.envs.driving.vehicle import (
    FASTER,
    LEFT,
    RIGHT,
    SLOWER,
    bicycle,
    choose,
    drag,
    lane_steer,
    occupy,
    overlap,
    speed_pedal,
    steer_limit,
    yaw_rate,
)


def test_the_turning_circle_has_the_radius_of_the_bicycle_model():
    # tan b = tan(0.1) / 2 = 0.0501673, sin b = 0.0501044, R = 1.4 / sin b = 27.942 m
    assert 10.0 / yaw_rate(10.0, 0.1) == pytest.approx(27.942, abs=2e-3)


def test_a_constant_steering_angle_drives_that_circle(scene):
    world, cars, _ = scene((0, 0.0, 5.0))
    world["steer"], world["pedal"] = 0.1, drag(5.0)
    path = []
    for _ in range(351):  # 2 pi R / v = 35.11 s
        bicycle(world, cars[0], drag(5.0), 0.1)
        path.append((cars[0]["s"], cars[0]["d"]))
    assert np.hypot(*path[-1]) < 0.1
    assert max(np.hypot(s, d) for s, d in path) == pytest.approx(2 * 27.942, rel=1e-3)
    assert cars[0]["v"] == pytest.approx(5.0)


def test_coasting_slows_to_a_stop_and_never_rolls_back(scene):
    world, cars, _ = scene((0, 0.0, 10.0))
    for _ in range(500):
        bicycle(world, cars[0], 0.0, 0.0)
    assert cars[0]["v"] == 0.0
    # dv/ds = -(0.3 + 0.00035 v^2) / v: s = ln(1 + 0.00035 * 100 / 0.3) / (2 * 0.00035) = 157.6 m
    assert cars[0]["s"] == pytest.approx(157.6, abs=0.5)


def test_pedals_and_wheels_take_time(scene):
    world, cars, _ = scene((0, 0.0, 3.0))
    bicycle(world, cars[0], -8.0, 0.5)
    assert world["pedal"] == pytest.approx(-12.0 * SIM_DT)
    assert world["steer"] == pytest.approx(0.6 * SIM_DT)


def test_steering_is_limited_by_the_stop_and_by_the_tyres():
    assert steer_limit(1.0) == 0.5
    v = 30.0
    assert v * v * math.tan(steer_limit(v)) / 2.8 == pytest.approx(5.0)


def test_the_tracker_changes_lane_and_settles_in_comfort(scene):
    world, cars, _ = scene((0, 0.0, 25.0))
    sway, track = [], []
    for _ in range(120):
        bicycle(world, cars[0], speed_pedal(world, cars[0], 25.0), lane_steer(world, cars[0], 1))
        sway.append(cars[0]["v"] * world["yaw_rate"])
        track.append(cars[0]["d"])
    assert cars[0]["d"] == pytest.approx(LANE_WIDTH, abs=0.05)
    assert abs(world["heading"]) < 0.01
    assert max(track) < LANE_WIDTH + 0.3
    assert np.abs(sway).max() < 4.89


def test_meta_actions_move_one_lane_and_stop_at_the_edge(scene):
    world, cars, _ = scene((1, 0.0, 24.0))
    choose(world, cars[0], LEFT)
    choose(world, cars[0], LEFT)
    assert world["goal_lane"] == 2
    choose(world, cars[0], RIGHT)
    choose(world, cars[0], RIGHT)
    assert world["goal_lane"] == 0
    choose(world, cars[0], FASTER)  # 24 of 30 m/s are level 8
    assert world["level"] == 9
    choose(world, cars[0], SLOWER)
    assert world["level"] == 6


@pytest.mark.parametrize(
    ("d", "slip", "lanes"),
    [
        (3.6, 0.0, (1, 1)),
        # Half of 1.9 m less 0.2 m is 0.75 m: a body 1.05 m off its middle reaches the marking at 1.8 m, and no less.
        (3.6 + 1.04, 0.0, (1, 1)),
        (3.6 + 1.06, 0.0, (1, 2)),
        (3.6 - 1.06, 0.0, (0, 1)),
        (3.6, 1.1, (1, 2)),  # where it will be within a second, on the side that it drifts to
        (3.6, -1.1, (0, 1)),
        (3.6, 1.0, (1, 1)),
        (0.0, 20.0, (0, 1)),  # one lane ahead at most: 3.6 + 0.75 m
        (7.2, 5.0, (2, 2)),  # there is no fourth lane
    ],
)
def test_the_body_and_where_it_drifts_decide_which_lanes_are_taken(scene, d, slip, lanes):
    world, cars, _ = scene((1, 0.0, 20.0))
    cars[0]["d"], cars[0]["slip"] = d, slip
    occupy(world, cars[0])
    assert (cars[0]["lane"], cars[0]["target"]) == lanes


@pytest.mark.parametrize(("ds", "heading", "touches"), [(4.79, 0.0, True), (4.81, 0.0, False)])
def test_bodies_in_line_touch_at_their_bumpers(scene, ds, heading, touches):
    _, cars, _ = scene((0, 0.0, 0.0), (0, ds, 0.0))
    assert overlap(cars[0], heading, cars[1]) is touches


def test_a_body_across_the_lane_reaches_only_its_half_width(scene):
    _, cars, _ = scene((0, 0.0, 0.0), (0, 3.3, 0.0))  # 2.4 + 0.95 = 3.35
    assert overlap(cars[0], math.pi / 2, cars[1])
    cars[1]["s"] = 3.4
    assert not overlap(cars[0], math.pi / 2, cars[1])


def test_corners_that_only_their_bounding_boxes_share_do_not_touch(scene):
    _, cars, _ = scene((0, 0.0, 0.0), (0, 3.6, 0.0))
    cars[1]["d"] = 2.4
    assert not overlap(cars[0], -math.pi / 4, cars[1])
    assert overlap(cars[0], math.pi / 4, cars[1])


def test_bodies_parted_only_along_the_other_ones_axis_do_not_touch(scene):
    # At 45 degrees the ego reaches (2.4 + 0.95) / sqrt(2) = 2.37 m ahead, the other 2.4 m back: 4.77 m in all.
    _, cars, _ = scene((0, 0.0, 0.0), (0, 5.0, 0.0))
    cars[1]["d"] = 0.5
    assert not overlap(cars[0], math.pi / 4, cars[1])
    cars[1]["s"] = 4.5
    assert overlap(cars[0], math.pi / 4, cars[1])
