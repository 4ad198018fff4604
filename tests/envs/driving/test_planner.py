import numpy as np
import pytest

from tiltyard.envs.driving.planner import expert_box, expert_discrete, plan_lane, reach
from tiltyard.envs.driving.vehicle import FASTER, LEFT, SLOWER


def test_reach_by_hand(scene):
    built = scene((1, 0.0, 20.0), (1, 54.8, 15.0))
    # The leader, 50 m ahead: 50 - 2 + 15 * (8 - 1.3); a free lane: 0.99 * 30 * 8
    assert reach(*built, 1) == pytest.approx(148.5)
    assert reach(*built, 0) == pytest.approx(237.6)


def test_the_expert_overtakes_a_slow_leader(scene):
    built = scene((0, 0.0, 20.0), (0, 54.8, 15.0), lanes=2)
    assert plan_lane(*built) == 1
    assert expert_discrete(*built) == LEFT


def test_the_expert_stays_behind_when_the_other_lane_is_taken(scene):
    built = scene((0, 0.0, 20.0), (0, 35.0, 15.0), (1, -6.0, 22.0), lanes=2)
    assert plan_lane(*built) == 0
    built.world["level"] = 7
    assert expert_discrete(*built) == SLOWER


def test_the_expert_speeds_up_on_a_free_road(scene):
    built = scene((0, 0.0, 15.0), lanes=1)
    built.world["level"] = 5
    assert expert_discrete(*built) == FASTER
    command = np.zeros(2)
    expert_box(*built, command)
    assert command[0] > 0.2
    assert command[1] == pytest.approx(0.0)
