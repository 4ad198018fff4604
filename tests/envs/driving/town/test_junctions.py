import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, Signal, StopLine, build
from tiltyard.envs.driving.maps.graph import AMBER, GREEN, RED, SIGNAL, STOP_SIGN
from tiltyard.envs.driving.town.junctions import FIRST, LAST, NEVER, clash
from tiltyard.envs.driving.town.sight import colour, shown
from tiltyard.envs.driving.town.state import NONE


def crossroads(rank=0, stops=(), signals=()):
    """West to east (lanes 0, 1, 2) across south to north (3, 4, 5); the middle lanes share the square at the origin."""
    lanes = []
    for name, along in (("we", (1.0, 0.0)), ("sn", (0.0, 1.0))):
        ends = [np.outer([a, b], along) for a, b in ((-100.0, -6.0), (-6.0, 6.0), (6.0, 150.0))]
        for i, ends_of in enumerate(ends):
            follow = [f"{name}{i + 1}"] if i < 2 else []
            junction = "x" if i == 1 else ""
            high = rank if name == "we" else 0
            lanes.append(Lane(f"{name}{i}", ends_of, 3.5, 10.0, follow, "", "", junction=junction, rank=high))
    return build("crossroads", lanes, stops=stops, signals=signals)


def test_colours_by_hand(place):
    program = Signal("a", [10.0, 3.0, 20.0], [GREEN, AMBER, RED], 5.0)
    graph = crossroads(stops=[StopLine("we0", -2.0, SIGNAL, "a")], signals=[program])
    batch, maps = place(graph, (0, 10.0, 0.0))
    for seconds, wanted in ((0.0, (GREEN, 5.0)), (6.0, (AMBER, 2.0)), (8.5, (RED, 19.5)), (28.5, (GREEN, 9.5))):
        batch.worlds["tick"] = round(seconds * 10)
        assert colour(maps.signals, maps.phases, batch.worlds[0], 0) == wanted[0]
        assert shown(maps.signals, maps.phases, batch.worlds[0], 0) == pytest.approx(wanted, abs=1e-3)


def test_passages_clash_until_the_rear_has_left_the_shared_area(place):
    graph = crossroads(rank=1)
    batch, maps = place(graph, (0, 80.0, 5.0), (3, 80.0, 5.0))
    we, sn = batch.routes[0]
    other = batch.agents[0][1]

    def ask(s):
        other["lane"], other["s"] = 4, s
        return clash(maps.lanes, maps.conflicts, we, 1, 1, other, np.array([4, 5] + [NONE] * 10, np.int32), 0, 0)[0]

    assert sn[1] == 4
    # The areas are 3 m wide, from 4.5 to 7.5 m of the lane: a rear at 7.5 + 0.4 m is out, with 2.4 m to the middle.
    assert (ask(2.0), ask(10.2), ask(10.4)) == (FIRST, FIRST, NEVER)
    assert clash(maps.lanes, maps.conflicts, sn, 1, 1, batch.agents[0][0], we, 1, 1)[0] == LAST


def drive(graph, place, run, cars, ticks):
    batch, maps = place(graph, *cars)
    entered = {}
    for tick in range(ticks):
        run(batch, maps, 1)
        for k, car in enumerate(batch.agents[0]):
            if car["lane"] in (1, 4) and k not in entered:
                entered[k] = tick
    assert not batch.agents["collisions"].any()
    return batch, entered


def test_the_lower_rank_waits_and_never_both_are_in(place, run):
    for rank, first in ((1, 0), (-1, 1)):
        _, entered = drive(crossroads(rank=rank), place, run, [(0, 60.0, 8.0), (3, 60.0, 8.0)], 200)
        assert min(entered, key=lambda k: entered[k]) == first
        assert abs(entered[0] - entered[1]) > 15


def test_nobody_enters_who_would_have_to_stand_in_the_junction(place, run):
    graph = crossroads()
    batch, maps = place(graph, (0, 80.0, 5.0), (2, 6.0, 0.0))
    batch.agents["desired"][0, 1] = batch.agents["pace"][0, 1] = 0.0
    batch.agents["accel"][0, 1] = 1e-6
    run(batch, maps, 200)
    assert batch.agents["lane"].tolist() == [[0, 2]]
    assert batch.agents["jammed"][0, 0] == 1
    batch.agents["accel"][0, 1], batch.agents["desired"][0, 1], batch.agents["pace"][0, 1] = 1.5, 10.0, 1.0
    run(batch, maps, 200)
    assert batch.agents["odometer"][0, 0] > 50.0


def test_red_stops_and_green_lets_go(place, run):
    stops = [StopLine("we0", -3.0, SIGNAL, "a")]
    for colours, moved in (((RED, GREEN), False), ((GREEN, RED), True)):
        graph = crossroads(stops=stops, signals=[Signal("a", [60.0, 60.0], colours)])
        batch, maps = place(graph, (0, 40.0, 8.0))
        run(batch, maps, 300)
        car = batch.agents[0][0]
        assert (car["odometer"] > 80.0) == moved
        if not moved:
            assert 0.0 < 91.0 - car["s"] - 0.5 * car["length"] < 1.0
            run(batch, maps, 400)
            assert car["odometer"] > 80.0
        assert car["reds"] == 0


def test_a_full_stop_at_a_stop_sign(place, run):
    graph = crossroads(stops=[StopLine("we0", -3.0, STOP_SIGN)])
    batch, maps = place(graph, (0, 40.0, 8.0))
    slowest = 99.0
    for _ in range(300):
        run(batch, maps, 1)
        slowest = min(slowest, float(batch.agents["v"][0, 0]))
    assert slowest < 0.3
    assert batch.agents["odometer"][0, 0] > 80.0
    assert batch.agents["stops"][0, 0] == 0


def test_who_changes_lane_obeys_the_signal_of_its_new_lane(place, run):
    stops = [StopLine("we0", -3.0, SIGNAL, "green"), StopLine("left0", -3.0, SIGNAL, "red")]
    signals = [Signal("green", [60.0, 60.0], [GREEN, RED]), Signal("red", [60.0, 60.0], [RED, GREEN])]
    lanes = [
        Lane(
            f"{name}{i}",
            ends,
            3.5,
            15.0,
            [f"{name}{i + 1}"] if i < 2 else [],
            junction="x" if i == 1 else "",
            road=str(i),
        )
        for name, y in (("we", 0.0), ("left", 3.5))
        for i, ends in enumerate(([[-150.0, y], [-6.0, y]], [[-6.0, y], [6.0, y]], [[6.0, y], [150.0, y]]))
    ]
    ends = ([[0.0, -100.0], [0.0, -6.0]], [[0.0, -6.0], [0.0, 9.0]], [[0.0, 9.0], [0.0, 100.0]])
    follow = (["sn1"], ["sn2"], [])
    lanes += [
        Lane(f"sn{i}", ends[i], 3.5, 15.0, follow[i], junction="x" if i == 1 else "", road=str(i + 3)) for i in range(3)
    ]
    batch, maps = place(build("two lanes", lanes, stops=stops, signals=signals), (0, 80.0, 14.0))
    car = batch.agents[0][0]
    assert maps.lanes[0]["left"] == 3
    car["beside"], car["beside_s"], car["side"] = 3, 80.0, 1
    held = False
    for _ in range(200):
        run(batch, maps, 1)
        held = held or (car["lane"] == 0 and car["zone"] >= 0)
    assert held
    assert (int(car["lane"]), int(car["reds"])) == (3, 0)
    assert 0.0 < 141.0 - car["s"] - 0.5 * car["length"] < 1.0
