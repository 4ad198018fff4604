import numpy as np

from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.state import (
    COLLISION,
    DRIVER,
    NONE,
    RED_LIGHT,
    REPLAY,
    RIGHT_OF_WAY,
    WALKER,
    allocate,
)
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds


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
