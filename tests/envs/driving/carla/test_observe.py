from math import pi

import numpy as np
import pytest

from tiltyard.envs.driving.carla.expert import act
from tiltyard.envs.driving.carla.observe import Clocks, observe
from tiltyard.envs.driving.carla.rules import Stop
from tiltyard.envs.driving.carla.vocabulary import AHEAD, NEIGHBOUR, OWN, RULES, SIZE, WAYPOINT

from .scenes import car, scene, straight

CLOCKS = Clocks(length=200.0, left=150.0, budget=60.0, clock=10.0, straddle=1.5, still=3.0)
ROUTE, LINE, NEAR = len(OWN), len(OWN) + len(AHEAD) * len(WAYPOINT), SIZE - 16 * len(NEIGHBOUR)


class Red:
    def get_state(self) -> str:
        return "Red"


def test_the_vector_is_what_its_entries_say() -> None:
    seen = observe(scene(s=50.0, ego=car(x=50.0, y=1.0, yaw_rate=0.1)), straight(), [], CLOCKS)
    named = dict(zip(OWN, seen, strict=False))
    assert named["speed / 20"] == 0.5
    assert named["(speed - limit) / 10"] == -0.5
    assert named["limit / 30"] == 0.5
    assert named["yaw rate / 1"] == pytest.approx(0.1)
    assert named["lateral acceleration / 5"] == pytest.approx(0.2)
    assert named["distance to the left edge of the lane / 4"] == 0.5
    assert (named["a lane to the left"], named["a lane to the right"]) == (1.0, 0.0)
    assert named["share of the route left"] == 0.75
    assert named["share of the time left"] == pytest.approx(50 / 60)
    assert named["speed needed to be in time / limit"] == pytest.approx(150 / 50 / 15)
    assert named["time across a marking / 3"] == 0.5
    assert named["seconds of standing / 30"] == pytest.approx(0.1)
    route = seen[ROUTE:LINE].reshape(len(AHEAD), len(WAYPOINT))
    np.testing.assert_allclose(route[:, 0], np.array(AHEAD) / 80.0, rtol=1e-6)
    np.testing.assert_allclose(route[:, 1], -1.0 / 40.0, rtol=1e-6)  # the way is 1 m to the right
    assert route[0, 3] == 0.5
    assert seen[LINE] == seen[LINE + 8] == seen[LINE + 10] == 1.0  # no line, no crossing, nobody ahead
    assert not seen[NEAR:].any()


def test_lines_and_neighbours_stand_in_their_places() -> None:
    lead, walker = car(2, x=25.0, v=4.0), car(3, kind="pedestrian", x=0.0, y=8.0, heading=-pi / 2, v=1.0)
    lines = [Stop(22.5, Red()), Stop(60.0)]
    seen = observe(scene(walker, lead, car(4, x=200.0)), straight(), lines, CLOCKS)
    named = dict(zip(RULES, seen[LINE:NEAR], strict=True))
    assert named["distance to the next stop line of the route / 80 (1: none within 80 m)"] == 0.25  # from the bumper
    assert (named["it has a signal"], named["it has a stop sign"], named["the signal is red"]) == (1.0, 0.0, 1.0)
    assert named["gap to the vehicle ahead / 80 (1: nobody)"] == 0.25
    assert named["its relative speed / 15"] == pytest.approx(-0.4)
    near = seen[NEAR:].reshape(16, len(NEIGHBOUR))
    np.testing.assert_allclose(near[0], [1, 0, 0.1, 0, -1, -0.5, -0.05, 0.5, 2 / 3, -1], atol=1e-6)
    np.testing.assert_allclose(near[1, :3], [1, 25 / 80, 0], atol=1e-6)
    assert not near[2:].any()  # who is 200 m away is not seen


def test_the_scripted_driver_stops_for_what_is_ahead_and_turns_towards_its_way() -> None:
    free = act(scene(), straight(), [])
    assert free[0] > 0
    assert free[1] == 0.0
    assert act(scene(car(2, x=20.0, v=0.0)), straight(), [])[0] < -0.3
    assert act(scene(), straight(), [Stop(20.0, Red())])[0] < -0.3
    assert act(scene(), straight(), [Stop(20.0)])[0] < -0.3
    assert act(scene(), straight(), [Stop(20.0, halted=True)])[0] > 0
    assert act(scene(ego=car(y=2.0)), straight(), [])[1] < 0  # to the right
