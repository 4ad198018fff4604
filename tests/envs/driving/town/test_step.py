from threading import Thread

import numpy as np
import pytest

from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.state import ARRIVAL, DRIVER, allocate
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds

CONTROLS = ("signal", "stop", "give-way", "all-way-stop")


@pytest.fixture(scope="module")
def towns():
    return atlas([intersection(seed, control=control) for seed, control in enumerate(CONTROLS)])


def begin(towns, worlds, agents=16):
    batch = allocate(len(worlds), agents, crossings=8)
    keys = np.array(worlds, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    maps = np.array(worlds, np.int32) % len(towns.maps)
    begin_worlds(batch, towns, np.arange(len(worlds)), keys, maps, np.array([agents, 0.0, 0.0, 0.0]))
    return batch


def same(one, other):
    for name in ("agents", "routes", "events", "worlds"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


def test_alone_in_a_batch_and_in_threads_is_the_same_bit_for_bit(towns):
    together = begin(towns, list(range(8)))
    step_worlds(together, towns, np.ones(8, np.bool_), 300, 0, 8)
    split = begin(towns, list(range(8)))
    parts = [
        Thread(target=step_worlds, args=(split, towns, np.ones(8, np.bool_), 300, a, b)) for a, b in ((0, 3), (3, 8))
    ]
    [part.start() for part in parts]
    [part.join() for part in parts]
    same(together, split)
    for world in (0, 5):
        alone = begin(towns, [world])
        for _ in range(100):
            step_worlds(alone, towns, np.ones(1, np.bool_), 3, 0, 1)
        same(alone, type(alone)(*(array[world : world + 1] for array in together[:-1]), together.logs))


def test_traffic_keeps_the_rules(towns):
    batch = begin(towns, list(range(8)), 24)
    present = 0
    for _ in range(120):
        step_worlds(batch, towns, np.ones(8, np.bool_), 10, 0, 8)
        kinds = [e["kind"] for w in range(8) for e in batch.events[w, : batch.worlds["events"][w]]]
        assert set(kinds) <= {ARRIVAL}
        batch.worlds["events"] = 0
        present += int((batch.agents["controller"] == DRIVER).sum())
        assert batch.agents["still"].max() < 120.0
    assert present > 120 * 8 * 24 * 0.7
    assert batch.agents["odometer"].mean() > 200.0
    assert not batch.agents["collisions"].any()


def equilibrium(speed):
    """IDM's gap at a speed: (s0 + v T) / sqrt(1 - (v / v0)^4), with s0 2 m, T 1.5 s, v0 15 m/s."""
    return (2.0 + 1.5 * speed) / np.sqrt(1.0 - (speed / 15.0) ** 4)


@pytest.mark.parametrize("count", [30, 50, 80, 120])
def test_the_fundamental_diagram_of_a_ring_is_idms(ring, place, run, count):
    around = float(ring.columns.length.sum())
    cars = []
    for k in range(count):
        s = k * around / count
        lane = int(np.searchsorted(np.cumsum(ring.columns.length), s, "right"))
        cars.append((lane, s - float(ring.columns.length[:lane].sum()), 5.0))
    batch, maps = place(ring, *cars)
    run(batch, maps, 3000)
    speeds = np.linspace(0.0, 14.99, 20000)
    wanted = np.interp(around / count - 4.8, equilibrium(speeds), speeds)
    assert batch.agents["v"].mean() == pytest.approx(wanted, rel=0.03)
    assert not batch.agents["collisions"].any()
