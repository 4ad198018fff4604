import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard.envs.driving import rewards
from tiltyard.envs.driving.state import (
    BLOCKED,
    COLLISION,
    LANE_WIDTH,
    LATE,
    OFF_ROAD,
    OUTSIDE_LANES,
    SPEEDING,
    STRADDLING,
    WRONG_WAY,
)

numbers = st.floats(-100.0, 100.0)


def test_factors_by_hand():
    assert rewards.speed_factor(30.0 + 2.23 / 2, 30.0) == pytest.approx(0.5)
    assert rewards.gap_factor(15.0, 20.0) == pytest.approx(0.75)  # three quarters of a second
    assert (rewards.ttc_factor(9.0, 10.0), rewards.ttc_factor(10.0, 10.0)) == (0.5, 1.0)
    assert rewards.comfort_factor(2.5, 0.0, 5.0, 0.0, 0.0, 0.0) == pytest.approx(1.0 - 0.5 * 2 / 6)


@given(a=numbers, b=numbers, c=numbers, d=numbers, e=numbers, f=numbers)
def test_factors_stay_between_0_and_1(a, b, c, d, e, f):
    factors = [
        rewards.speed_factor(abs(a), abs(b)),
        rewards.gap_factor(a, abs(b)),
        rewards.ttc_factor(a, b),
        rewards.comfort_factor(a, b, c, d, e, f),
    ]
    assert all(0.0 <= factor <= 1.0 for factor in factors)


def test_pace_is_the_share_of_the_traffics_speed(scene):
    world, cars, _ = scene((0, 0.0, 15.0), (0, 50.0, 18.0), (1, 90.0, 22.0))
    assert rewards.pace_factor(world, cars) == pytest.approx(0.75)
    cars[1:]["v"] = 50.0  # speeding traffic sets no example: the limit counts
    assert rewards.pace_factor(world, cars) == pytest.approx(0.5)


def test_a_step_pays_the_share_of_the_route_times_the_factors(scene):
    world, cars, order = scene((0, 20.0, 20.0), (0, 40.0, 20.0))
    world["best"], world["last_v"] = 16.0, 20.0
    rewards.judge(world, cars, order, False)
    # 4 of 1000 m; 15.2 m at 20 m/s are 0.76 s behind the leader; everything else is in order
    assert world["reward"] == pytest.approx(0.004 * 0.76)


def test_driving_the_same_metres_again_pays_nothing(scene):
    world, cars, order = scene((0, 20.0, 20.0))
    world["best"] = 30.0
    rewards.judge(world, cars, order, False)
    assert world["route_completion"] == 0.0


@pytest.mark.parametrize(
    ("changes", "infraction"),
    [
        ({}, 0),
        ({"d": -0.51 * LANE_WIDTH}, OFF_ROAD),
        ({"d": 2.51 * LANE_WIDTH}, OFF_ROAD),
        ({"heading": 1.6}, WRONG_WAY),
        ({"still": 5.1}, BLOCKED),
        ({"clock": 50.1}, LATE),
        ({"clock": 50.1, "best": 1000.0}, 0),
    ],
)
def test_hard_infractions(scene, changes, infraction):
    world, cars, _ = scene((0, 0.0, 20.0))
    for name, value in changes.items():
        record = cars[0] if name == "d" else world
        record[name] = value
    assert rewards.hard_infraction(world, cars[0], False) == infraction
    assert rewards.hard_infraction(world, cars[0], True) == COLLISION


def test_an_infraction_at_the_finish_is_no_success(scene):
    world, cars, order = scene((0, 1001.0, 20.0))
    rewards.judge(world, cars, order, False)
    assert (world["success"], world["penalty"]) == (1, 0.0)
    rewards.judge(world, cars, order, True)
    assert (world["success"], world["penalty"]) == (0, -0.1)


@pytest.mark.parametrize(
    ("lane", "speed", "named"),
    [(1.0, 1.0, 0), (1.0, 0.5, 0), (1.0, 0.49, SPEEDING), (0.5, 1.0, STRADDLING), (0.0, 0.4, OUTSIDE_LANES)],
)
def test_offences(lane, speed, named):
    assert rewards.offence(lane, speed) == named


def test_an_offence_is_remembered_to_the_finish_and_costs_success_alone(scene):
    world, cars, order = scene((0, 900.0, 20.0))
    cars[0]["d"] = -0.9  # the body is over the outer line by 5 cm
    rewards.judge(world, cars, order, False)
    assert (world["offence"], world["infraction"]) == (OUTSIDE_LANES, 0)
    cars[0]["d"], cars[0]["s"] = 0.0, 1001.0
    rewards.judge(world, cars, order, False)
    assert (world["success"], world["offence"], world["penalty"]) == (0, OUTSIDE_LANES, 0.0)
    assert world["reward"] > 0.05


def test_a_lane_change_is_free_but_driving_on_the_marking_is_not(scene):
    world, cars, _ = scene((0, 0.0, 20.0))
    cars[0]["d"] = 0.5 * LANE_WIDTH
    for _ in range(14):  # 2.8 of 3 s
        rewards.keep_time(world, cars[0])
    assert rewards.lane_factor(world, cars[0]) == 1.0
    for _ in range(2):
        rewards.keep_time(world, cars[0])
    assert rewards.lane_factor(world, cars[0]) == 0.5
    cars[0]["d"] = -0.9
    assert rewards.lane_factor(world, cars[0]) == 0.0


def test_time_in_the_lane_saves_up_nothing_for_the_marking(scene):
    world, cars, _ = scene((0, 0.0, 20.0))
    for _ in range(50):
        rewards.keep_time(world, cars[0])
    assert world["straddle"] == 0.0
    cars[0]["d"] = 0.5 * LANE_WIDTH
    for _ in range(16):  # 3.2 of 3 s
        rewards.keep_time(world, cars[0])
    assert rewards.lane_factor(world, cars[0]) == 0.5
