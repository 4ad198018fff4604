import numpy as np
import pytest

from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.driver import pedestrians
from tiltyard.envs.driving.town.state import (
    BUSY,
    COLLISION,
    DRIVER,
    NONE,
    RED_LIGHT,
    REPLAY,
    RIGHT_OF_WAY,
    WAITING,
    WALKER,
    allocate,
)
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds
from tiltyard.envs.driving.traffic import FREE


def traffic(mix, seconds, control="give-way", worlds=4):
    graph = intersection(3, control=control, arms=4, lanes=1)
    maps = atlas([graph])
    batch = allocate(worlds, int(mix[0] + mix[1]), crossings=len(graph.columns.crossing))
    keys = np.arange(worlds, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    begin_worlds(batch, maps, np.arange(worlds), keys, np.zeros(worlds, np.int32), np.array(mix))
    kinds = []
    for _ in range(seconds):
        step_worlds(batch, maps, np.ones(worlds, np.bool_), 10, 0, worlds)
        kinds += [int(e["kind"]) for w in range(worlds) for e in batch.events[w, : batch.worlds["events"][w]]]
        batch.worlds["events"] = 0
    return batch, kinds


def test_pedestrians_get_across_and_nobody_is_hurt():
    for control in ("give-way", "signal"):
        batch, kinds = traffic([10.0, 6.0, 0.0, 0.0], 120, control)
        walkers = batch.agents["controller"] == WALKER
        assert walkers.sum() == 24
        assert (batch.agents["odometer"][walkers] > 0.0).mean() > 0.7
        assert COLLISION not in kinds
        assert batch.agents["odometer"][~walkers].mean() > 100.0


def test_pedestrians_and_drivers_do_not_wait_for_each_other():
    """Two-way stops lock up if drivers stand on crossings, or in the junction for pedestrians who only wait."""
    longest = 0.0
    for seed in range(2):
        graph = make("stop-intersection", seed)
        maps = atlas([graph])
        batch = allocate(4, 30, crossings=len(graph.columns.crossing))
        keys = np.arange(4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        begin_worlds(batch, maps, np.arange(4), keys, np.zeros(4, np.int32), np.array([24.0, 6.0, 0.0, 0.0]))
        for _ in range(360):
            step_worlds(batch, maps, np.ones(4, np.bool_), 10, 0, 4)
            driving = batch.agents["controller"] == DRIVER
            longest = max(longest, float(batch.agents["still"][driving].max()))
        assert batch.crossings[:, BUSY].sum() >= batch.crossings[:, WAITING].sum() >= 0
        walked = batch.agents["odometer"][batch.agents["controller"] == WALKER]
        assert (walked > 20.0).mean() > 0.9, "pedestrians get across more than once"
    assert longest < 180.0, "a lock lasts until the end"


def test_who_is_in_a_junction_stops_for_pedestrians_who_walk_alone():
    graph = intersection(3, control="give-way", arms=4, lanes=1)
    maps, batch = atlas([graph]), allocate(1, 1, crossings=len(graph.columns.crossing))
    lane = int(graph.columns.crossing_lane[0])
    car, route = batch.agents[0][0], np.full(6, NONE, np.int32)
    car["length"], car["s"], route[0] = 4.8, graph.columns.crossing_begin[0] - 10.0, lane
    number = int(maps.strips["crossing"][np.flatnonzero(maps.strips["lane"] == lane)[0]])

    def away(zone, entry, walking, waiting):
        car["zone"], car["entry"] = zone, entry
        crossings = np.zeros((2, len(graph.columns.crossing)), np.int8)
        crossings[BUSY, number], crossings[WAITING, number] = walking + waiting, waiting
        return pedestrians(crossings, car, route, maps.lanes, maps.strips, 0)

    inside, outside = (0, -3.0), (0, 3.0)
    assert away(*outside, 0, 0) == away(*inside, 0, 0) == FREE
    assert away(*outside, 0, 1) == pytest.approx(10.0 - 2.4 - 0.5, abs=1e-3)
    assert away(*inside, 0, 1) == FREE
    assert away(*inside, 1, 0) == away(*inside, 1, 2) == away(*outside, 0, 1)


def test_careless_drivers_break_rules():
    _, kinds = traffic([12.0, 0.0, 0.0, 1.0], 120, "signal")
    assert RED_LIGHT in kinds
    assert RIGHT_OF_WAY in kinds


def test_a_replayed_log_is_driven_again(road, place, run):
    batch, maps = place(road, (0, 20.0, 8.0))
    poses = []
    for _ in range(60):
        run(batch, maps, 1)
        poses.append([batch.agents[name][0, 0] for name in ("x", "y", "heading", "v")])
    again, maps = place(road, (0, 20.0, 8.0))
    again = again._replace(logs=np.array([[poses[0], *poses]], np.float32))
    again.agents["controller"][0, 0], again.agents["log"][0, 0] = REPLAY, 0
    for pose in poses[:59]:
        run(again, maps, 1)
        assert [again.agents[name][0, 0] for name in ("x", "y", "heading", "v")] == pose
    assert abs(again.agents["s"][0, 0] - pose[0]) < 1e-3
    run(again, maps, 5)
    assert again.agents["lane"][0, 0] == NONE
    assert DRIVER != again.agents["controller"][0, 0]
