"""People who cross away from crossings: where they do, when they set off, and that drivers stop for them."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.scenarios.driving import Driving
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.jaywalkers import start_jaywalkers
from tiltyard.envs.driving.town.state import COLLISION, DRIVER, NONE, WALKER, allocate
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds


@pytest.fixture(scope="module")
def street():
    """300 m of a street 30 km/h fast, a lane of 3.5 m each way: eastwards at y = 0, westwards at y = 3.5."""
    there = Lane("there", [[0.0, 0.0], [300.0, 0.0]], 3.5, 30.0 / 3.6)
    back = Lane("back", [[300.0, 3.5], [0.0, 3.5]], 3.5, 30.0 / 3.6)
    return build("street", [there, back])


def join(batch, maps, place=None):
    """Adds a jaywalker as the last agent; at a place (x of the right kerb of the first lane) if one is given."""
    me = int(batch.worlds["agents"][0])
    batch.worlds["agents"] = me + 1
    start_jaywalkers(maps, batch, 0, me, 1, np.full(1, 5, np.uint64))
    person = batch.agents[0][me]
    assert person["controller"] == WALKER
    if place is not None:
        person["x"], person["y"], person["heading"] = place, -1.75 - 0.8, np.pi / 2
    person["patience"], person["desired"] = 0.0, 1.4
    return person


def test_a_street_is_crossed_from_kerb_to_kerb(street, place, run):
    batch, maps = place(street, (0, 20.0, 0.0), room=2)
    batch.agents["controller"][0, 0] = 0  # nobody drives
    person = join(batch, maps)
    begun = float(person["y"])
    assert begun in (pytest.approx(-2.55), pytest.approx(6.05))
    assert 15.0 <= person["x"] <= 285.0
    assert person["gap"] == pytest.approx(0.8 + 7.0 + 0.8, abs=0.4)
    run(batch, maps, 66)  # 8.6 m at 1.4 m/s take 6.2 s
    assert person["level"] == 0
    assert person["lane"] == NONE
    assert abs(person["y"] - begun) == pytest.approx(8.6, abs=0.5)


@pytest.mark.parametrize(("away", "sets_off"), [(32.0, False), (38.0, True)])
def test_nobody_sets_off_before_who_cannot_stop_gently(street, place, run, away, sets_off):
    """At 8 m/s: 1.5 s of it, its braking by 2 m/s2 and 4 m: 8 * 1.5 + 64 / 4 + 4 = 32 m, from the front's 2.4 m on."""
    batch, maps = place(street, (0, 100.0, 8.0), room=2)
    person = join(batch, maps, 100.0 + away)
    run(batch, maps, 1)
    assert (person["level"] == 1) == sets_off


def test_who_waits_long_in_mid_street_turns_back(street, place, run):
    batch, maps = place(street, (0, 20.0, 0.0), (1, 30.0, 0.0), room=3)
    batch.agents["controller"][0, 0] = 0
    person = join(batch, maps, 100.0)
    begun, furthest = float(person["y"]), 0.0
    for tick in range(300):
        batch.agents["v"][0, 1] = 0.0
        if tick == 12:  # a vehicle stands in the second lane now
            batch.agents["s"][0, 1] = 200.0
        run(batch, maps, 1)
        furthest = max(furthest, abs(float(person["y"]) - begun))
    assert person["level"] == 0
    assert float(person["y"]) == pytest.approx(begun, abs=0.3)
    assert 2.0 < furthest < 4.5, "it got no further than the marking, 3.3 m away"


def test_drivers_stop_for_who_is_in_their_lane(street, place, run):
    batch, maps = place(street, (0, 60.0, 8.0), (1, 130.0, 8.0), room=3)
    person = join(batch, maps, 100.0)
    person["desired"] = 0.7
    slowest = np.full(2, 8.0)
    for _ in range(130):
        run(batch, maps, 1)
        slowest = np.minimum(slowest, batch.agents["v"][0, :2])
    assert person["level"] == 0
    assert person["y"] > 5.2
    assert slowest.max() < 3.0
    assert not batch.agents["collisions"].any()
    run(batch, maps, 60)
    assert batch.agents["v"][0, 0] > 4.0  # and drive on


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_traffic_and_jaywalkers_get_along(name):
    """Half an hour of eight worlds: nobody is touched, many get across, and drivers too."""
    worlds, drivers, jaywalkers = 4, 20, 12
    graph = make(name, 0)
    maps = atlas([graph])
    batch = allocate(worlds, drivers + jaywalkers, crossings=len(graph.columns.crossing))
    keys = np.arange(worlds, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mix = np.array([drivers, 0.0, 0.0, 0.0])
    begin_worlds(batch, maps, np.arange(worlds), keys, np.zeros(worlds, np.int32), mix)
    for world in range(worlds):
        start_jaywalkers(maps, batch, world, drivers, jaywalkers, keys[world : world + 1].copy())
    people = batch.agents["controller"] == WALKER
    assert people.sum() >= worlds * jaywalkers * 0.8
    stopped = 0
    for _ in range(240):
        step_worlds(batch, maps, np.ones(worlds, np.bool_), 10, 0, worlds)
        kinds = [int(e["kind"]) for w in range(worlds) for e in batch.events[w, : batch.worlds["events"][w]]]
        assert COLLISION not in kinds
        batch.worlds["events"] = 0
        ahead = batch.agents["leader"]
        behind = (batch.agents["controller"] == DRIVER) & (ahead >= drivers) & (batch.agents["v"] < 1.0)
        stopped += int(behind.sum())
        assert batch.agents["still"].max() < 120.0
    assert stopped > 20
    assert (batch.agents["odometer"][people] > batch.agents["gap"][people]).mean() > 0.9
    assert batch.agents["odometer"][batch.agents["controller"] == DRIVER].mean() > 300.0


def test_the_expert_stops_for_them_and_the_option_draws_nothing_by_default():
    kwargs = {"scene": "town", "density": 3.0, "pedestrians": 0, "maps": 2}
    plain, crowded = Driving(8, **kwargs), Driving(8, **kwargs, jaywalkers=8.0)
    for one in (plain, crowded):
        one.begin(np.arange(8), np.arange(8), np.zeros(8, np.int64))
    people = crowded.agents["controller"] == WALKER
    assert not (plain.agents["controller"] == WALKER).any()
    assert people.sum(axis=1).min() >= 20
    open_, met = np.ones(8, bool), 0
    for _ in range(400):
        _, ended = crowded.advance(crowded.expert_actions(), open_)
        leaders = crowded.agents["leader"][open_, 0]
        met += int(people[open_, np.maximum(leaders, 0)][leaders >= 0].sum())
        open_ &= ~ended
        if not open_.any():
            break
    assert met > 10
    assert not crowded.agents["collisions"][people].any()
    with pytest.raises(ValueError, match="jaywalkers must be between 0 and 40"):
        Driving(1, jaywalkers=41.0)
