import numpy as np
import pytest

from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.places import choose_next
from tiltyard.envs.driving.town.routing import CHANGE, distances


def test_distances_by_hand(road):
    names = dict(zip(road.lane_ids, range(4), strict=True))
    found = distances(road.columns, names["left-end"])
    assert found[names["left-end"]] == pytest.approx(100.0)
    assert found[names["left"]] == pytest.approx(400.0)
    assert found[names["right-end"]] == pytest.approx(100.0 + CHANGE)
    assert found[names["right"]] == pytest.approx(400.0 + CHANGE)


def test_no_way_back(road):
    assert np.isinf(distances(road.columns, road.lane_ids.index("left"))[road.lane_ids.index("left-end")])
    with pytest.raises(ValueError, match="lane 4 is no goal"):
        distances(road.columns, 4)


def test_the_way_to_a_goal_takes_the_right_turn_at_a_fork():
    graph = intersection(0, arms=4, lanes=1)
    fork = next(i for i in range(len(graph)) if len(graph.successors(i)) == 3)
    for after in graph.successors(fork):
        goal = int(graph.successors(int(after))[0])
        maps = atlas([graph], [[goal]])
        world = np.zeros(1, [("map", "i4")])[0]
        assert choose_next.py_func(world, np.ones(1, np.uint64), maps, fork, 0) == after
