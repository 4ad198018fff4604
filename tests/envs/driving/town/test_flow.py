"""Traffic flows: nobody stands for ever at merges and round rings, and nobody breaks a rule on the way."""

import numpy as np
import pytest

from tiltyard.benchmarks.studies.traffic import one_round
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.town.atlas import atlas


@pytest.mark.parametrize("name", ["roundabout", "merge", "stop-intersection"])
def test_ten_minutes_of_traffic_lock_nowhere_and_keep_the_rules(name: str) -> None:
    counts, speeds, longest = one_round(name, 0, drivers=24, walkers=0, careless=0.0)
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
