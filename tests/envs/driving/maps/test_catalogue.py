"""What holds of every procedural map, over seeds: shapes that join, rules that do not contradict, ways that lead on."""

from functools import cache

import numpy as np
import pytest

from tiltyard.envs.driving.maps.catalogue import CLOSED, NAMES, make
from tiltyard.envs.driving.maps.geometry import locate, place
from tiltyard.envs.driving.maps.graph import GREEN, NONE, RED, SIGNAL, LaneGraph
from tiltyard.envs.driving.maps.picture import picture
from tiltyard.envs.driving.maps.routes import to_goal

CASES = [(name, seed, {}) for name in NAMES for seed in range(3)]
CASES += [
    ("intersection", 3, {"turns": "protected", "lanes": 2}),
    ("intersection", 4, {"turns": "protected", "lanes": 1}),
    ("intersection", 5, {"arms": 3, "turns": "protected", "lanes": 2}),
    ("intersection", 6, {"arms": 3, "lanes": 1}),
    ("intersection", 7, {"control": "all-way-stop", "lanes": 1}),
    ("roundabout", 3, {"lanes": 2, "arms": 5}),
    ("roundabout", 4, {"lanes": 2, "arms": 3}),
    ("town", 3, {"rows": 3, "columns": 2}),
    ("town", 4, {"rows": 6, "columns": 10}),
]
TIGHTEST = 6.0  # m: a car of wheelbase 2.8 m with its wheels turned by 0.5 rad goes round 5.3 m


@cache
def case(at: int) -> LaneGraph:
    name, seed, options = CASES[at]
    return make(name, seed, **options)


every_map = pytest.mark.parametrize("at", range(len(CASES)), ids=[f"{name}-{seed}" for name, seed, _ in CASES])


def pairs(graph: LaneGraph) -> list[tuple[int, int, int]]:
    """Lane, other lane and row of every conflict."""
    c = graph.columns
    owner = np.repeat(np.arange(len(graph)), np.diff(c.conflict_first))
    return [(int(a), int(b), row) for row, (a, b) in enumerate(zip(owner, c.conflict_lane, strict=True))]


def stops(graph: LaneGraph, lane: int) -> list[int]:
    """Rows of the stop lines of the lanes before one; none if any of them has none."""
    c = graph.columns
    before = c.previous_lane[c.previous_first[lane] : c.previous_first[lane + 1]]
    rows = [list(range(c.stop_first[one], c.stop_first[one + 1])) for one in before]
    return sum(rows, []) if rows and all(rows) else []


def colours(graph: LaneGraph, signal: int, times: np.ndarray) -> np.ndarray:
    """Of a signal at many times."""
    c = graph.columns
    span = slice(c.phase_first[signal], c.phase_first[signal + 1])
    ends = np.cumsum(c.phase_seconds[span], dtype=np.float64)
    return c.colour[span][np.searchsorted(ends, (times + c.signal_offset[signal]) % ends[-1], side="right")]


@every_map
def test_lanes_join_without_a_jump_or_a_kink(at: int) -> None:
    graph = case(at)
    for lane in range(len(graph)):
        x, y, heading = place(graph.columns, lane, float(graph.columns.length[lane]), 0.0)
        for after in graph.successors(lane):
            nx, ny, new = place(graph.columns, int(after), 0.0, 0.0)
            name = f"{graph.lane_ids[lane]} -> {graph.lane_ids[after]}"
            assert np.hypot(nx - x, ny - y) < 0.01, name
            # The directions of two chords of a bend differ by its curvature times their mean length.
            assert abs(np.sin(0.5 * (new - heading))) * 2.0 < 0.2, name


@every_map
def test_lanes_are_wide_enough_and_turns_are_not_too_tight(at: int) -> None:
    c = case(at).columns
    assert c.width.min() >= 3.0
    assert c.width.max() <= 5.0
    assert np.abs(c.curvature).max() <= 1.0 / TIGHTEST
    assert (c.length > 2.0).all()
    assert ((c.limit > 3.0) & (c.limit <= 70.0)).all()


@every_map
def test_conflicts_are_symmetric_and_priorities_antisymmetric(at: int) -> None:
    graph = case(at)
    c = graph.columns
    rows = {(a, b): row for a, b, row in pairs(graph)}
    for (a, b), row in rows.items():
        back = rows[b, a]
        assert c.conflict_priority[row] == -c.conflict_priority[back]
        assert (c.conflict_begin[row], c.conflict_end[row]) == (
            c.conflict_other_begin[back],
            c.conflict_other_end[back],
        )
        assert -0.01 <= c.conflict_begin[row] < c.conflict_end[row] <= c.length[a] + 0.01
        assert c.road[a] != c.road[b]


@every_map
def test_lanes_share_area_only_in_junctions_and_where_ramps_merge(at: int) -> None:
    graph = case(at)
    inside = graph.columns.junction
    for a, b, _ in pairs(graph):
        names = graph.lane_ids[a], graph.lane_ids[b]
        assert (inside[a] == inside[b] != NONE) or any("taper" in name for name in names), names


@every_map
def test_lanes_that_conflict_are_not_green_together(at: int) -> None:
    """But for permitted left turns, which give way; all others of two phases have a time of red between them."""
    graph = case(at)
    c = graph.columns
    times = np.arange(0.0, 200.0, 0.5)
    for a, b, row in pairs(graph):
        for one in stops(graph, a):
            for other in stops(graph, b):
                if c.stop_kind[one] == c.stop_kind[other] == SIGNAL:
                    shown = [colours(graph, int(c.stop_signal[stop]), times) for stop in (one, other)]
                    if ((shown[0] != RED) & (shown[1] != RED)).any():
                        assert permitted(graph, a, b, int(c.conflict_priority[row])), (
                            graph.lane_ids[a],
                            graph.lane_ids[b],
                        )


def permitted(graph: LaneGraph, a: int, b: int, priority: int) -> bool:
    """Whether one of two lanes turns left and gives way to the other, or both turn left."""
    turns = [turn(graph, lane) for lane in (a, b)]
    if priority == 0:
        return min(turns) > 0.5
    return turns[0 if priority < 0 else 1] > 0.5


def turn(graph: LaneGraph, lane: int) -> float:
    """The angle that a lane turns by, rad, positive to the left."""
    c = graph.columns
    turned = c.heading[c.first[lane + 1] - 1] - c.heading[c.first[lane]]
    return float((turned + np.pi) % (2.0 * np.pi) - np.pi)


def test_protected_turns_conflict_with_nothing_that_is_green() -> None:
    for at in (i for i, (_, _, options) in enumerate(CASES) if options.get("turns") == "protected"):
        graph = case(at)
        times = np.arange(0.0, 200.0, 0.5)
        for a, b, _ in pairs(graph):
            shown = [colours(graph, int(graph.columns.stop_signal[stops(graph, lane)[0]]), times) for lane in (a, b)]
            assert not ((shown[0] == GREEN) & (shown[1] == GREEN)).any(), (graph.lane_ids[a], graph.lane_ids[b])


@every_map
def test_lanes_of_a_signalled_junction_that_conflict_have_stop_lines(at: int) -> None:
    graph = case(at)
    c = graph.columns
    ruled = {
        int(c.junction[lane])
        for lane in range(len(graph))
        for stop in stops(graph, lane)
        if c.stop_kind[stop] == SIGNAL
    }
    for a, _, _ in pairs(graph):
        if int(c.junction[a]) in ruled:
            assert stops(graph, a), graph.lane_ids[a]


@every_map
def test_who_goes_first_where_signs_rule_has_no_stop_line(at: int) -> None:
    graph = case(at)
    c = graph.columns
    for a, b, row in pairs(graph):
        if c.conflict_priority[row] == 1 and stops(graph, a) and c.stop_kind[stops(graph, a)[0]] != SIGNAL:
            assert stops(graph, b), f"{graph.lane_ids[b]} gives way to {graph.lane_ids[a]}, which has a stop line"


@every_map
def test_signals_go_through_green_amber_and_red(at: int) -> None:
    c = case(at).columns
    cycles = np.add.reduceat(c.phase_seconds, c.phase_first[:-1]) if len(c.phase_seconds) else np.zeros(0)
    for signal in np.unique(c.stop_signal[c.stop_signal != NONE]):
        shown = c.colour[c.phase_first[signal] : c.phase_first[signal + 1]]
        assert set(shown.tolist()) == {0, 1, 2}
        assert 20.0 < cycles[signal] < 120.0


@every_map
def test_pedestrians_walk_while_their_arm_is_red(at: int) -> None:
    graph = case(at)
    c = graph.columns
    times = np.arange(0.0, 200.0, 0.5)
    for crossing, signal in enumerate(c.crossing_signal):
        lanes = c.crossing_lane[c.crossing_first[crossing] : c.crossing_first[crossing + 1]]
        assert len(lanes) >= 2
        walk = colours(graph, int(signal), times) == RED if signal != NONE else np.zeros(1, bool)
        assert signal == NONE or walk.any()
        for lane in lanes:
            for stop in range(c.stop_first[lane], c.stop_first[lane + 1]):
                row = c.crossing_first[crossing] + list(lanes).index(lane)
                if c.stop_s[stop] > 0.5 * c.length[lane] and c.crossing_end[row] > 0.5 * c.length[lane]:
                    assert c.stop_s[stop] < c.crossing_begin[row]
                    if signal != NONE:
                        assert not (walk & (colours(graph, int(c.stop_signal[stop]), times) != RED)).any()


@every_map
def test_ways_lead_on(at: int) -> None:
    graph = case(at)
    c = graph.columns
    ends = np.flatnonzero(np.diff(c.next_first) == 0)
    begins = np.flatnonzero(np.diff(c.previous_first) == 0)
    if CASES[at][0] in CLOSED:
        assert not len(ends)
        assert not len(begins)
        for goal in (0, len(graph) // 2, len(graph) - 1):
            assert np.isfinite(to_goal(c, goal)).all()
        return
    reached = np.array([np.isfinite(to_goal(c, int(end))) for end in ends])
    assert reached.any(0).all(), "a lane from which no end of the map is reached"
    assert (reached[:, begins].sum(0) >= len(ends) // 2).all(), "an entry from which few exits are reached"


@every_map
def test_grid_finds_the_nearest_segment_like_brute_force(at: int) -> None:
    c = case(at).columns
    begins = np.setdiff1d(np.arange(len(c.x)), c.first[1:] - 1)
    p, q = (np.stack([c.x[i], c.y[i]], 1).astype(np.float64) for i in (begins, begins + 1))
    rng = np.random.default_rng(at)
    low, high = p.min(0) - 50.0, p.max(0) + 50.0
    for x, y in rng.uniform(low, high, (20, 2)):
        share = np.clip((([x, y] - p) * (q - p)).sum(1) / ((q - p) ** 2).sum(1), 0.0, 1.0)
        best = np.hypot(*(p + share[:, None] * (q - p) - [x, y]).T).min()
        point, s, _ = locate(c, x, y, 0.0, 0.0, NONE)
        nx, ny, _ = place(c, int(c.lane[point]), s, 0.0)
        assert np.hypot(nx - x, ny - y) == pytest.approx(best, abs=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_decide_maps(name: str) -> None:
    one, again, other, test = make(name, 5), make(name, 5), make(name, 6), make(name, 5, split="test")
    assert all(np.array_equal(a, b) for a, b in zip(one.columns, again.columns, strict=True))
    assert one.name == name
    for different in (other, test):
        assert not np.array_equal(one.columns.x, different.columns.x)


def test_unknown_names_and_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="roundabout"):
        make("roundabuot", 0)
    with pytest.raises(ValueError, match="60 junctions at most"):
        make("town", 0, rows=20, columns=20)
    with pytest.raises(ValueError, match="3 to 5 arms"):
        make("roundabout", 0, arms=9)
    with pytest.raises(ValueError, match="3 or 4 arms"):
        make("intersection", 0, arms=2)
    with pytest.raises(ValueError, match="cannot turn"):
        make("racetrack", 0, radius=3.0)
    with pytest.raises(ValueError, match="'on' or 'off'"):
        make("highway", 0, ramps=["up"])


def test_picture_is_written(tmp_path: object) -> None:
    path = f"{tmp_path}/map.png"
    picture(case(NAMES.index("intersection") * 3), path)
    with open(path, "rb") as file:
        assert file.read(4) == b"\x89PNG"
