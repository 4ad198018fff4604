"""The graph of a description: two streets that cross, worked out by hand, and what is refused."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Crossing, Lane, Signal, StopLine, build
from tiltyard.envs.driving.maps.graph import GREEN, NONE, RED, SIGNAL, WALKING, LaneGraph


def street(id: str, begin: tuple[float, float], end: tuple[float, float], **options: object) -> Lane:
    return Lane(id, [begin, end], 4.0, 10.0, **options)  # type: ignore[arg-type]


def crossing_streets(**options: object) -> LaneGraph:
    """Eastwards along y = 0, northwards along x = 0; both 4 m wide, areas 3.5 m."""
    lanes = [
        street("east", (-20.0, 0.0), (20.0, 0.0), rank=1),
        street("north", (0.0, -10.0), (0.0, 30.0)),
    ]
    return build("cross", lanes, **options)  # type: ignore[arg-type]


def test_conflict_of_two_streets_by_hand() -> None:
    c = crossing_streets().columns
    assert c.conflict_first.tolist() == [0, 1, 2]
    assert c.conflict_lane.tolist() == [1, 0]
    np.testing.assert_allclose(c.conflict_begin, [18.25, 8.25], atol=1e-5)
    np.testing.assert_allclose(c.conflict_end, [21.75, 11.75], atol=1e-5)
    np.testing.assert_allclose(c.conflict_other_begin, [8.25, 18.25], atol=1e-5)
    np.testing.assert_allclose(c.conflict_other_end, [11.75, 21.75], atol=1e-5)
    assert c.conflict_priority.tolist() == [1, -1]


def test_points_are_added_and_none_is_moved() -> None:
    graph = build("bent", [Lane("a", [[0.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 5.0]], [3.0, 3.0, 3.0, 4.0], 10.0)])
    c = graph.columns
    np.testing.assert_allclose(graph.points(0), [[0, 0], [1.5, 0], [3, 0], [3, 5 / 3], [3, 10 / 3], [3, 5]], atol=1e-6)
    np.testing.assert_allclose(c.s, [0, 1.5, 3, 3 + 5 / 3, 3 + 10 / 3, 8], atol=1e-6)
    np.testing.assert_allclose(c.heading, [0, 0, *[np.pi / 2] * 4], atol=1e-6)
    np.testing.assert_allclose(c.curvature[2], (np.pi / 2) / (0.5 * (1.5 + 5 / 3)), atol=1e-6)
    np.testing.assert_allclose(c.width, [3, 3, 3, 10 / 3, 11 / 3, 4], atol=1e-6)


def test_arc_has_its_curvature() -> None:
    angle = np.linspace(0.0, 1.5, 200)
    c = build("arc", [Lane("a", np.stack([-40 * np.cos(angle), 40 * np.sin(angle)], 1), 3.5, 10.0)]).columns
    np.testing.assert_allclose(c.curvature, -1.0 / 40.0, rtol=1e-3)


def test_neighbours_are_found_and_share_a_road() -> None:
    lanes = [
        street("right", (0.0, 0.0), (50.0, 0.0)),
        street("left", (0.0, 4.0), (50.0, 4.0)),
        street("oncoming", (50.0, 8.0), (0.0, 8.0)),
        street("half", (0.0, -4.0), (25.0, -4.0)),
    ]
    graph = build("road", lanes)
    assert graph.columns.left.tolist() == [1, NONE, NONE, NONE]
    assert graph.columns.right.tolist() == [NONE, 0, NONE, NONE]
    assert graph.columns.road.tolist() == [0, 0, 1, 2]
    assert not len(graph.columns.conflict_lane)


def test_neighbours_that_are_said_stay() -> None:
    lanes = [
        street("right", (0.0, 0.0), (50.0, 0.0), left="", right=""),
        street("left", (0.0, 4.0), (50.0, 4.0)),
    ]
    graph = build("road", lanes)
    assert graph.columns.left.tolist() == [NONE, NONE]
    assert graph.columns.right.tolist() == [NONE, 0]


def test_lanes_that_merge_conflict_to_their_end_and_lanes_that_split_do_not() -> None:
    merge = [
        street("a", (0.0, 0.0), (40.0, 0.0), successors=["c"]),
        street("b", (0.0, 10.0), (40.0, 0.0), successors=["c"]),
        street("c", (40.0, 0.0), (60.0, 0.0)),
    ]
    c = build("merge", merge).columns
    assert c.conflict_lane.tolist() == [1, 0]
    assert c.conflict_end.tolist() == c.length[:2].tolist()
    split = [
        street("c", (-20.0, 0.0), (0.0, 0.0), successors=["a", "b"]),
        street("a", (0.0, 0.0), (40.0, 0.0)),
        street("b", (0.0, 0.0), (40.0, 10.0)),
    ]
    assert not len(build("split", split).columns.conflict_lane)


def test_lanes_that_split_conflict_where_they_meet_again() -> None:
    lanes = [
        street("c", (-20.0, 0.0), (0.0, 0.0), successors=["a", "b"]),
        street("a", (0.0, 0.0), (60.0, 0.0)),
        Lane("b", [(0.0, 0.0), (20.0, 12.0), (30.0, 12.0), (30.0, -20.0)], 4.0, 10.0),
    ]
    c = build("loop", lanes).columns
    assert c.conflict_lane.tolist() == [2, 1]
    np.testing.assert_allclose(c.conflict_begin[0], 28.25, atol=1e-5)
    np.testing.assert_allclose(c.conflict_end[0], 31.75, atol=1e-5)


def test_bridges_do_not_conflict() -> None:
    lanes = [street("east", (-20.0, 0.0), (20.0, 0.0)), street("north", (0.0, -10.0), (0.0, 30.0), height=5.0)]
    assert not len(build("bridge", lanes).columns.conflict_lane)


def test_footways_do_not_conflict() -> None:
    lanes = [street("east", (-20.0, 0.0), (20.0, 0.0)), street("walk", (0.0, -10.0), (0.0, 30.0), kind=WALKING)]
    assert not len(build("foot", lanes).columns.conflict_lane)


def test_stops_signals_and_crossings() -> None:
    c = crossing_streets(
        signals=[Signal("g", [10.0, 20.0], [GREEN, RED], 3.0)],
        stops=[StopLine("north", 5.0, SIGNAL, "g"), StopLine("east", -24.0, SIGNAL, "g")],
        crossings=[Crossing((-5.0, -3.0), (-5.0, 3.0), 3.0, "g")],
    ).columns
    assert c.stop_first.tolist() == [0, 1, 2]
    assert c.stop_s.tolist() == [16.0, 5.0]
    assert c.stop_signal.tolist() == [0, 0]
    assert (c.phase_first.tolist(), c.phase_seconds.tolist(), c.colour.tolist()) == ([0, 2], [10.0, 20.0], [GREEN, RED])
    assert (c.crossing_lane.tolist(), c.crossing_signal.tolist()) == ([0], [0])
    np.testing.assert_allclose([c.crossing_begin[0], c.crossing_end[0]], [13.5, 16.5], atol=1e-5)


def test_columns_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        crossing_streets().columns.x[0] = 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": "b"}, "two lanes with the id 'b'"),
        ({"successors": ["z"]}, "lane a is followed by lane 'z', which does not exist"),
        ({"left": "z"}, "lane a has to its left lane 'z'"),
        ({"middle": [(0.0, 0.0), (0.05, 0.0)]}, "lane a is 0.050 m long"),
        ({"middle": [(0.0, 0.0)]}, "lane a: its middle has shape"),
        ({"middle": [(0.0, 0.0), (np.nan, 0.0)]}, "lane a: .* not finite"),
        ({"middle": [(0.0, 0.0), (1e6, 0.0)]}, "lane a lies over 100000 m"),
        ({"width": 0.0}, "lane a: its width is 0 m"),
        ({"width": [1.0, 2.0, 3.0]}, "lane a: 3 numbers of its width for 2 points"),
        ({"limit": np.inf}, "lane a: its limit of inf"),
        ({"kind": 9}, "lane a: 9 is no kind"),
    ],
)
def test_broken_lanes_are_named(change: dict[str, object], sentence: str) -> None:
    whole = {"id": "a", "middle": [(0.0, 0.0), (10.0, 0.0)], "width": 3.0, "limit": 10.0}
    with pytest.raises(ValueError, match=sentence):
        build("broken", [Lane(**{**whole, **change}), street("b", (0.0, 20.0), (10.0, 20.0))])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"stops": [StopLine("z", 1.0, SIGNAL, "g")]}, "a stop line lies on lane 'z'"),
        ({"stops": [StopLine("east", 50.0, SIGNAL, "g")]}, "lane east is 40.00 m long and has a stop line at 50.0 m"),
        ({"stops": [StopLine("east", 5.0, SIGNAL, "z")]}, "lane east stops at signal 'z'"),
        ({"stops": [StopLine("east", 5.0, SIGNAL)]}, "lane east has a stop line of a signal that is not named"),
        ({"signals": [Signal("h", [1.0], [GREEN, RED])]}, "signal h has 1 times for 2 colours"),
        ({"signals": [Signal("h", [0.0], [GREEN])]}, "signal h: its times"),
        ({"crossings": [Crossing((0.0, 0.0), (0.0, 0.0))]}, "is no strip"),
        ({"crossings": [Crossing((0.0, 0.0), (5.0, 0.0), signal="z")]}, "a crossing has signal 'z'"),
    ],
)
def test_broken_rules_are_named(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        crossing_streets(**{"signals": [Signal("g", [1.0], [GREEN])], **options})


def test_no_lanes_are_refused() -> None:
    with pytest.raises(ValueError, match="map none has no lanes"):
        build("none", [])
