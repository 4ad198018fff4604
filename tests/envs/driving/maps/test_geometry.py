"""Places on a map: by hand on a straight lane and an arc, and against brute force on a junction."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.maps.geometry import locate, nearest, place, project, track
from tiltyard.envs.driving.maps.graph import DRIVING, NONE, SHOULDER, LaneGraph


@pytest.fixture(scope="module")
def graph() -> LaneGraph:
    return make("intersection", 3, lanes=2)


def test_straight_lane_by_hand() -> None:
    c = build("one", [Lane("a", [(0.0, 0.0), (0.0, 10.0)], 3.0, 10.0)]).columns
    assert project(c, 0, -1.0, 4.5) == (2, 4.5, 1.0)
    assert project(c, 0, 2.0, 12.0) == (4, 10.0, -2.0)
    assert track(c, 0, -1.0, 4.5) == (2, 4.5, 1.0)
    assert track(c, 4, -1.0, 0.5) == (0, 0.5, 1.0)
    np.testing.assert_allclose(place(c, 0, 4.5, 1.0), (-1.0, 4.5, np.pi / 2), atol=1e-6)
    np.testing.assert_allclose(place(c, 0, 11.0, 0.0), (0.0, 11.0, np.pi / 2), atol=1e-6)


def brute(graph: LaneGraph, x: float, y: float) -> float:
    c = graph.columns
    at = np.setdiff1d(np.arange(len(c.x)), c.first[1:] - 1)
    p, q = (np.stack([c.x[i], c.y[i]], 1).astype(np.float64) for i in (at, at + 1))
    share = np.clip(((np.array([x, y]) - p) * (q - p)).sum(1) / ((q - p) ** 2).sum(1), 0.0, 1.0)
    return float(np.hypot(*(p + share[:, None] * (q - p) - [x, y]).T).min())


def test_grid_finds_the_nearest_segment_like_brute_force(graph: LaneGraph) -> None:
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(-200.0, 200.0, (300, 2)):
        point, s, d = locate(graph.columns, x, y, 0.0, 0.0, NONE)
        px, py, _ = place(graph.columns, int(graph.columns.lane[point]), s, 0.0)
        assert np.hypot(px - x, py - y) == pytest.approx(brute(graph, x, y), abs=1e-3)


def test_what_is_placed_is_located_there(graph: LaneGraph) -> None:
    rng = np.random.default_rng(1)
    for lane in range(len(graph)):
        s = rng.uniform(0.5, graph.columns.length[lane] - 0.5)
        x, y, heading = place(graph.columns, lane, s, 0.0)
        _, found, d = project(graph.columns, lane, x, y)
        assert (found, d) == (pytest.approx(s, abs=1e-3), pytest.approx(0.0, abs=1e-3))


def test_heading_chooses_among_lanes_that_cross(graph: LaneGraph) -> None:
    for lane in range(len(graph)):
        x, y, heading = place(graph.columns, lane, 0.5 * float(graph.columns.length[lane]), 0.0)
        found, _, _ = nearest(graph.columns, x, y, heading)
        turn = heading - graph.columns.heading[locate(graph.columns, x, y, heading, 4.0, NONE)[0]]
        assert abs(np.sin(0.5 * turn)) < 0.2, graph.lane_ids[found]


def test_only_lanes_of_the_kind_are_found() -> None:
    lanes = [
        Lane("a", [(0.0, 0.0), (0.0, 50.0)], 3.0, 10.0),
        Lane("b", [(2.5, 0.0), (2.5, 50.0)], 2.0, 10.0, kind=SHOULDER),
    ]
    c = build("kinds", lanes).columns
    assert nearest(c, 3.0, 20.0)[0] == 1
    assert nearest(c, 3.0, 20.0, kind=DRIVING) == (0, pytest.approx(20.0), pytest.approx(-3.0))
    assert nearest(c, 3.0, 20.0, kind=3)[0] == NONE
