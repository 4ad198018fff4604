import math

import numpy as np
import pytest

from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.state import (
    AGENT,
    CONTROLS,
    MANOEUVRES,
    NONE,
    OFF_ROAD,
    RED_LIGHT,
    WAYPOINT,
    WRONG_WAY,
)
from tiltyard.envs.driving.town.vehicle import AXLES, bicycle, limit_for, pursue, steer_limit

KEEP, LEFT = 0, 1


def seen_from(car, dx, dy):
    """An offset in the plane in the vehicle's frame."""
    cos, sin = math.cos(car["heading"]), math.sin(car["heading"])
    return dx * cos + dy * sin, dy * cos - dx * sin


def kinds(batch):
    return [int(kind) for kind in batch.events[0, : batch.worlds["events"][0]]["kind"]]


def test_a_limit_that_is_cheaper_to_know_does_the_same_to_the_wheels():
    car, exact = np.zeros(1, AGENT)[0], 0
    car["length"] = 4.8
    for v in (0.0, 3.0, 4.4, 4.5, 5.0, 8.0, 13.0, 30.0):
        for wheels in (-0.5, -0.03, 0.0, 0.01, 0.2):
            for steer in (-0.7, -0.08, 0.0, 0.04, 0.3, 0.61):
                car["v"], car["steer"] = v, wheels
                limit, right = limit_for(car, steer), steer_limit(car)
                assert limit <= right
                assert np.clip(steer, -limit, limit) == np.clip(steer, -right, right)
                assert np.clip(car["steer"], -limit, limit) == np.clip(car["steer"], -right, right)
                exact += limit == right
    assert 0 < exact < 240  # some need the exact one, some do not


def test_the_bicycle_turns_on_the_circle_of_its_steering_angle(road, place):
    batch, _ = place(road, (0, 50.0, 4.0))
    car = batch.agents[0][0]
    car["steer"] = 0.2
    xs = []
    for _ in range(600):
        bicycle(car, 0.3 + 0.00035 * 16.0, 0.2)
        xs.append((float(car["x"]), float(car["y"])))
    # The middle's radius is l_r / sin(atan(tan(steer) / 2)), with l_r half of the wheelbase.
    radius = 0.5 * AXLES * 4.8 / math.sin(math.atan(0.5 * math.tan(0.2)))
    points = np.array(xs[100:])
    assert np.ptp(points[:, 0]) == pytest.approx(2.0 * radius, rel=0.02)
    assert car["v"] == pytest.approx(4.0, rel=0.01)


def test_pursuit_by_hand(road, place):
    batch, _ = place(road, (0, 50.0, 4.0))
    car = batch.agents[0][0]
    assert pursue(car, 10.0, 0.0) == 0.0
    base, ahead = AXLES * 4.8, 10.0 + 0.5 * AXLES * 4.8
    assert pursue(car, 10.0, 2.0) == pytest.approx(math.atan(base * 4.0 / (ahead**2 + 4.0)), rel=1e-5)


def test_manoeuvres_change_lane_and_keep_the_speed(road, place, run):
    right, left = road.lane_ids.index("right"), road.lane_ids.index("left")
    batch, maps = place(road, (right, 20.0, 10.0))
    car = batch.agents[0][0]
    car["controller"], car["target"], car["level"] = MANOEUVRES, right, 5
    batch.controls[0, 0, 0] = LEFT
    run(batch, maps, 1)
    batch.controls[0, 0, 0] = KEEP
    run(batch, maps, 70)
    assert (car["lane"], car["beside"]) == (left, NONE)
    assert abs(car["d"]) < 0.2
    assert car["v"] == pytest.approx(10.0, abs=0.3)
    assert kinds(batch) == []


def test_manoeuvres_follow_every_turn_of_an_intersection(place, run):
    graph = intersection(0, arms=4, lanes=1, crossings=False)
    fork = next(i for i in range(len(graph)) if len(graph.successors(i)) == 3)
    for turn in graph.successors(fork):
        batch, maps = place(graph, (fork, 90.0, 5.0))
        car = batch.agents[0][0]
        car["controller"], car["target"], car["level"] = MANOEUVRES, fork, 3
        route = [fork, int(turn), int(graph.successors(int(turn))[0])]
        batch.routes[0, 0] = [*route, *[NONE] * 9]
        worst = 0.0
        for _ in range(400):
            run(batch, maps, 1)
            worst = max(worst, abs(float(car["d"])))
            if car["lane"] == route[-1]:
                break
        assert car["lane"] == route[-1]
        assert worst < 0.8
        assert set(kinds(batch)) <= {RED_LIGHT}


def test_a_waypoint_is_driven_to(road, place, run):
    batch, maps = place(road, (0, 20.0, 5.0))
    car = batch.agents[0][0]
    car["controller"] = WAYPOINT
    for _ in range(100):
        batch.controls[0, 0] = (*seen_from(car, 8.0, 1.5 - car["y"]), 7.0)
        run(batch, maps, 1)
    assert car["v"] == pytest.approx(7.0, abs=0.1)
    assert car["y"] == pytest.approx(1.5, abs=0.1)


def test_leaving_the_road_and_turning_round_are_noted_once(road, place, run):
    batch, maps = place(road, (0, 20.0, 5.0))
    car = batch.agents[0][0]
    car["controller"] = CONTROLS
    batch.controls[0, 0] = (0.1, -0.3, 0.0)
    run(batch, maps, 40)
    assert kinds(batch).count(OFF_ROAD) == 1
    assert car["off"] > 0.5
    car["x"], car["y"], car["heading"], car["lane"], car["steer"] = 100.0, 0.0, math.pi, 0, 0.0
    batch.controls[0, 0] = (0.1, 0.0, 0.0)
    run(batch, maps, 20)
    assert kinds(batch).count(WRONG_WAY) == 1
    assert 1.5 < car["wrong"] <= 2.1


def test_traffic_sees_a_vehicle_that_cuts_in(road, place, run):
    right, left = road.lane_ids.index("right"), road.lane_ids.index("left")
    batch, maps = place(road, (right, 20.0, 10.0), (left, 40.0, 8.0))
    car = batch.agents[0][1]
    car["controller"] = WAYPOINT
    for _ in range(40):
        batch.controls[0, 1] = (*seen_from(car, 8.0, 0.0 - car["y"]), 4.0)
        run(batch, maps, 1)
    assert car["lane"] == right
    assert batch.agents["leader"][0, 0] == 1
    assert not batch.agents["collisions"].any()
