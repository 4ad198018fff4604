"""Traffic flows: nobody stands for ever at merges and round rings, and nobody breaks a rule on the way."""

import numpy as np
import pytest

from tiltyard.benchmarks.studies.traffic import Mix, one_round
from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.lists import enlist_new
from tiltyard.envs.driving.town.spawn import START_GAP, fits
from tiltyard.envs.driving.town.state import ABSENT


@pytest.mark.parametrize("name", ["roundabout", "merge", "stop-intersection"])
def test_ten_minutes_of_traffic_lock_nowhere_and_keep_the_rules(name: str) -> None:
    counts, speeds, longest = one_round(name, 0, Mix())
    assert counts["vehicle-steps"] > 500_000
    assert [counts[kind] for kind in ("collisions", "red lights", "stop signs", "right of way", "standstills")] == [
        0
    ] * 5
    assert longest < 120.0
    assert counts["trips"] > 300
    assert speeds / counts["vehicle-steps"] > 2.0


def test_a_ring_knows_its_arcs_and_a_crossing_has_none() -> None:
    ring = atlas([make("roundabout", 0)])
    arcs = ring.lanes["arc"] >= 0
    arms = len({name.partition("+")[0] for name in make("roundabout", 0).lane_ids if "+" in name})
    assert arcs.sum() == arms
    inside = ring.lanes["zone"] >= 0
    assert np.all(ring.lanes["arcs"][inside] == arms)
    assert not (atlas([make("intersection", 3)]).lanes["arcs"] > 2).any()


def test_nobody_begins_beside_another_where_lanes_fork(place):
    ends = {"a": [[0.0, 0.0], [60.0, 0.0]], "b": [[60.0, 0.0], [160.0, 0.0]], "c": [[60.0, 0.0], [160.0, 40.0]]}
    lanes = [Lane(name, ends[name], 3.5, 15.0, {"a": ["b", "c"]}.get(name, []), road=name) for name in ends]
    batch, maps = place(build("fork", lanes), (1, 4.0, 0.0), (2, 4.0, 0.0))
    batch.agents["controller"][0, 1] = ABSENT
    world, cars, keys = batch.worlds[0], batch.agents[0], batch.keys[0]
    enlist_new(world, cars, keys)
    found = [bool(fits(world, cars, keys, maps, 1, 2, s, START_GAP)) for s in (4.0, 12.0, 60.0)]
    assert found == [False, False, True]
