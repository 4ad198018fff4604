"""Braking imposed on who follows, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from tiltyard.envs.driving.metrics.rules import imposed_braking
from tiltyard.envs.driving.town.account import follower, note_speeds
from tiltyard.envs.driving.town.state import ABSENT, AGENT, DRIVER, PARKED, PERSON, WORLD

ROOT = 2.0 * math.sqrt(1.5 * 2.0)  # 2 sqrt(a b)


def by_hand(v, v_lead, gap):
    """IDM with v0 20, T 1.5, a 1.5, b 2, s0 2."""
    wanted = 2.0 + v * 1.5 + v * (v - v_lead) / ROOT
    return 1.5 * (1.0 - (v / 20.0) ** 4 - (wanted / gap) ** 2)


def asked(batch, maps, me):
    one = batch.worlds[0], batch.agents[0], batch.keys[0], maps, batch.routes[0], batch.crossings[0]
    return follower(*one, me)


def test_the_speed_of_the_traffic_is_the_mean_of_the_others_that_are_driven():
    rng, world, cars = np.random.default_rng(0), np.zeros(1, WORLD)[0], np.zeros(20, AGENT)
    world["agents"], cars["controller"], cars["v"] = 20, DRIVER, rng.exponential(8.0, 20)
    cars["controller"][[3, 9]], cars["controller"][14], cars["kind"][7] = ABSENT, PARKED, PERSON
    driven = [k for k in range(20) if k not in (3, 7, 9, 14)]
    for lookers in (1, 12):
        found = np.full(20, np.nan)
        note_speeds(world, cars, lookers, found)
        for me in range(lookers):
            total = 0.0  # one after the other, as the numbers' last bits depend on that
            for k in driven:
                total += float(cars["v"][k]) if k != me else 0.0
            assert found[me] == total / (len(driven) - int(me in driven))
    world["agents"] = 1
    note_speeds(world, cars, 1, found)
    assert math.isnan(found[0])


def test_who_brakes_for_nothing_imposes_all_of_it(road, place, run):
    """A follower at 10 m/s, 17 m behind one at 4 m/s on an empty road: 4.7 m/s2, which is hard."""
    batch, maps = place(road, (0, 100.0, 10.0), (0, 121.8, 4.0))
    run(batch, maps, 1)
    accel, without = asked(batch, maps, 1)
    assert by_hand(10.0, 4.0, 17.0) == pytest.approx(-4.7074, abs=1e-4)
    assert accel == pytest.approx(-4.7074, abs=1e-3)
    assert without == pytest.approx(1.5 * (1.0 - 0.5**4), abs=1e-3)  # it would gather speed
    assert imposed_braking(accel, without) == pytest.approx(4.7074, abs=1e-3)


def test_who_stands_for_nothing_imposes_it_too(road, place, run):
    batch, maps = place(road, (0, 100.0, 8.0), (0, 134.8, 0.0))
    batch.agents["controller"][0, 1] = PARKED
    run(batch, maps, 1)
    accel, without = asked(batch, maps, 1)
    wanted = by_hand(8.0, 0.0, 30.0)
    assert wanted == pytest.approx(-0.2961, abs=1e-4)
    assert imposed_braking(accel, without) == pytest.approx(-wanted, abs=1e-3)


def test_what_the_follower_would_brake_for_in_any_case_is_not_imposed(road, place, run):
    """As in the first, but a vehicle stands 40 m ahead of the follower: 0.57 m/s2 of it are for that."""
    batch, maps = place(road, (0, 100.0, 10.0), (0, 121.8, 4.0), (0, 144.8, 0.0))
    batch.agents["controller"][0, 2] = PARKED
    run(batch, maps, 1)
    accel, without = asked(batch, maps, 1)
    assert by_hand(10.0, 0.0, 40.0) == pytest.approx(-0.5661, abs=1e-4)
    assert without == pytest.approx(-0.5661, abs=1e-3)
    assert imposed_braking(accel, without) == pytest.approx(4.7074 - 0.5661, abs=2e-3)


def test_who_brakes_for_another_reason_follows_no_one(road, place, run):
    batch, maps = place(road, (0, 100.0, 10.0), (0, 121.8, 4.0))
    run(batch, maps, 1)
    batch.agents["a"][0, 0] = -7.0  # more than the one ahead asks for
    assert asked(batch, maps, 1) == (-7.0, -7.0)
    assert all(np.isnan(one) for one in asked(batch, maps, 0))  # and nothing follows the last one


def test_asking_changes_nothing(road, place, run):
    batch, maps = place(road, (0, 100.0, 10.0), (0, 121.8, 4.0))
    run(batch, maps, 1)
    before = batch.agents.tobytes()
    asked(batch, maps, 1)
    assert batch.agents.tobytes() == before
