"""Shortest ways by hand: a change of lane costs 25 m, and an exit that only the right lane has."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.graph import NONE, LaneGraph
from tiltyard.envs.driving.maps.routes import onward, route, to_goal


@pytest.fixture
def graph() -> LaneGraph:
    """Two lanes of 100 m; the left goes on, the right one too and to an exit; a short pair of lanes before them."""
    return build(
        "exit",
        [
            Lane("left", [(0.0, 4.0), (100.0, 4.0)], 4.0, 10.0, ["on"]),
            Lane("right", [(0.0, 0.0), (100.0, 0.0)], 4.0, 10.0, ["exit"]),
            Lane("on", [(100.0, 4.0), (150.0, 4.0)], 4.0, 10.0),
            Lane("exit", [(100.0, 0.0), (140.0, -30.0)], 4.0, 10.0),
            Lane("before", [(-20.0, 4.0), (0.0, 4.0)], 4.0, 10.0, ["left"]),
            Lane("before right", [(-20.0, 0.0), (0.0, 0.0)], 4.0, 10.0, ["right"]),
        ],
    )


def test_costs_by_hand(graph: LaneGraph) -> None:
    cost = to_goal(graph.columns, 3)
    np.testing.assert_allclose(cost, [175.0, 150.0, np.inf, 50.0, 195.0, 170.0])


def test_way_changes_lanes_where_there_is_room(graph: LaneGraph) -> None:
    assert route(graph.columns, 4, 3).tolist() == [4, 0, 1, 3]
    assert route(graph.columns, 5, 3).tolist() == [5, 1, 3]
    assert route(graph.columns, 2, 3).tolist() == []
    assert route(graph.columns, 3, 3).tolist() == [3]


def test_onward_ends_where_no_way_leads(graph: LaneGraph) -> None:
    cost = to_goal(graph.columns, 3)
    assert onward(graph.columns, cost, 4) == 0
    assert onward(graph.columns, cost, 2) == NONE
