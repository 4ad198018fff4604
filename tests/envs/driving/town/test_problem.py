import math

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.problem import distance_of, draw_route, following, free_time, metres_left
from tiltyard.envs.driving.town.state import NONE


@pytest.fixture
def fork():
    """A lane of 100 m at 10 m/s, which leads to one of 50 m at 20 m/s, or to a detour of 30 m that leads there too."""
    lanes = [
        Lane("begin", [[0.0, 0.0], [100.0, 0.0]], 3.5, 10.0, ["straight", "away"]),
        Lane("straight", [[100.0, 0.0], [150.0, 0.0]], 3.5, 20.0),
        Lane("away", [[100.0, 0.0], [130.0, 30.0]], 3.5, 5.0),
    ]
    return atlas([build("fork", lanes)], [[1, 2]])


def test_distances_and_ways_by_hand(fork):
    assert distance_of(fork, 0, 0) == pytest.approx(150.0)
    assert distance_of(fork, 1, 0) == pytest.approx(100.0 + math.hypot(30.0, 30.0))
    assert distance_of(fork, 0, 2) == math.inf
    assert (following(fork, 0, 0), following(fork, 1, 0), following(fork, 0, 1)) == (1, 2, NONE)


@pytest.mark.parametrize(("lane", "s", "left"), [(0, 20.0, 130.0), (1, 60.0, 0.0), (2, 0.0, -1.0), (NONE, 0.0, -1.0)])
def test_metres_left(fork, lane, s, left):
    assert metres_left(fork, 0, lane, s) == pytest.approx(left)


def test_the_time_of_a_way_goes_by_limits(fork):
    seconds, highest = free_time(fork, 0, 0, 20.0)
    assert seconds == pytest.approx(80.0 / 10.0 + 50.0 / 20.0)
    assert highest == 20.0


def test_a_route_has_the_length_that_is_asked_for_or_the_nearest(fork):
    stream = np.array([1], np.uint64)
    begins = np.array([0], np.int32)
    assert draw_route(fork, begins, 0, 2, 149.0, 151.0, stream) == (0, 0)
    assert draw_route(fork, begins, 0, 2, 10.0, 20.0, stream) == (0, 1)
    assert draw_route(fork, np.array([2], np.int32), 0, 1, 10.0, 20.0, stream) == (NONE, NONE)  # no way
