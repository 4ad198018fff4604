"""What all readers do: ranks from pairs, programs for lights without, lanes of no length, and some plane geometry."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane
from tiltyard.envs.driving.maps.description import (
    Description,
    Light,
    along,
    cleaned,
    crossed,
    joined,
    leave_out_short,
    merged,
    nearest,
    place_stop,
    programs,
    ranks,
    strip,
)
from tiltyard.envs.driving.maps.graph import AMBER, GREEN, RED, SIGNAL

CORNER = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])


def test_plane_geometry_by_hand() -> None:
    distance, s = nearest(CORNER, np.array([[1.0, -2.0], [5.0, 3.0], [-3.0, -4.0]]))
    np.testing.assert_allclose(distance, [2, 2, 5])
    np.testing.assert_allclose(s, [1, 6, 0])
    np.testing.assert_allclose(along(CORNER, [0.0, 0.5, 1.0]), [[0, 0], [3, 0.5], [3, 4]])
    assert crossed(CORNER, np.array([2.0, 1.0]), np.array([4.0, 1.0])) == pytest.approx(4.0)
    assert crossed(CORNER, np.array([3.5, 1.0]), np.array([4.0, 1.0])) is None
    np.testing.assert_allclose(cleaned([[0, 0], [0, 0.0001], [1, 0], [1, 0]]), [[0, 0], [1, 0]])
    np.testing.assert_allclose(cleaned([[2, 2], [2, 2]]), [[2, 2], [2, 2]])
    a, b, width = strip(np.array([[0.0, 0], [10, 0], [10, 3], [0, 3]]))
    assert {a, b} == {(0.0, 1.5), (10.0, 1.5)}
    assert width == 3.0


def test_who_gives_way_ranks_lower_unless_they_wait_in_a_circle() -> None:
    assert ranks([("a", "b"), ("b", "c"), ("d", "c")]) == {"a": 0, "b": 1, "c": 2, "d": 0}
    found = ranks([("a", "b"), ("b", "a"), ("a", "c")])
    assert found["a"] == found["b"] < found["c"]
    assert ranks([]) == {}


def test_pairs_join_into_groups_named_by_the_least() -> None:
    assert joined([("c", "b"), ("b", "d")], "abcd") == {"a": "a", "b": "b", "c": "b", "d": "b"}


def test_lights_of_a_junction_are_green_in_turn_by_axis_or_group() -> None:
    east, west = Light("e", (-10.0, 0.0), 0.0), Light("w", (10.0, 0.0), np.pi)
    north, far = Light("n", (0.0, -10.0), np.pi / 2), Light("f", (500.0, 0.0), 0.0)
    found = {one.id: one for one in programs([east, north, west, far])}
    assert found["e"].colours == found["w"].colours == [GREEN, AMBER, RED]
    assert found["e"].seconds == [20.0, 3.0, 27.0]
    assert (found["n"].seconds, found["n"].colours) == ([25.0, 20.0, 3.0, 2.0], [RED, GREEN, AMBER, RED])
    assert found["f"].seconds == [20.0, 3.0, 2.0]
    grouped = programs([Light("a", (0.0, 0.0), 0.0, "1"), Light("b", (1.0, 0.0), 0.0, "2")])
    assert grouped[0].colours[0] == GREEN
    assert grouped[1].colours[0] == RED


def test_equal_phases_become_one() -> None:
    assert merged([1, 2, 3], [RED, RED, GREEN]) == ([3.0, 3.0], [RED, GREEN])


def test_lanes_of_no_length_are_left_out_and_gone_around() -> None:
    lanes = [
        Lane("a", [[0, 0], [10, 0]], 3.0, 10.0, ["dot"]),
        Lane("dot", [[10, 0], [10.05, 0]], 3.0, 10.0, ["dash", "b"]),
        Lane("dash", [[10.05, 0], [10.06, 0]], 3.0, 10.0, ["c", "dot"]),
        Lane("b", [[10, 0], [20, 0]], 3.0, 10.0, left="dot"),
        Lane("c", [[10, 0], [20, 5]], 3.0, 10.0),
    ]
    found = Description("d", lanes)
    leave_out_short(found)
    assert [lane.id for lane in found.lanes] == ["a", "b", "c"]
    assert list(found.lanes[0].successors) == ["c", "b"]
    assert found.lanes[1].left == ""
    assert found.warnings == ["2 lanes shorter than 0.15 m were left out"]


def test_a_stop_line_at_a_junctions_begin_lies_at_the_ends_of_the_lanes_before() -> None:
    lanes = {
        "a": Lane("a", [[0, 0], [10, 0]], 3.0, 10.0, ["b"]),
        "b": Lane("b", [[10, 0], [30, 0]], 3.0, 10.0, junction="j"),
    }
    before = {"a": [], "b": ["a"]}
    assert [(one.lane, one.s) for one in place_stop(lanes["b"], 2.0, SIGNAL, "x", lanes, before)] == [("a", 10.0)]
    assert [(one.lane, one.s) for one in place_stop(lanes["b"], 8.0, SIGNAL, "x", lanes, before)] == [("b", 8.0)]
    assert [(one.lane, one.s) for one in place_stop(lanes["a"], 2.0, SIGNAL, "x", lanes, before)] == [("a", 2.0)]
