import math

import numpy as np
import pytest

from tiltyard.envs.driving.town.collisions import collide, overlap
from tiltyard.envs.driving.town.state import ABSENT, CAR, COLLISION, CONTROLS, FRONT, MOST_AGENTS, REAR, SIDE, allocate


def scene(*cars):
    """Bodies of 4 m x 2 m: x, y, heading, v."""
    batch = allocate(1, len(cars))
    batch.worlds["agents"] = len(cars)
    for car, (x, y, heading, v) in zip(batch.agents[0], cars, strict=True):
        car["x"], car["y"], car["heading"], car["v"] = x, y, heading, v
        car["length"], car["width"], car["lane"], car["controller"], car["kind"] = 4.0, 2.0, 0, CONTROLS, CAR
    return batch


def meet(batch):
    there = collide(
        batch.worlds[0], batch.agents[0], batch.order[0], batch.events[0], np.empty((3, MOST_AGENTS), np.float32)
    )
    assert there == (batch.agents["controller"] != ABSENT).sum()
    return batch.events[0, : batch.worlds[0]["events"]]


def test_turned_bodies_touch_where_their_corners_reach():
    # A square corner of a body turned by 45 degrees reaches (2 + 1) / sqrt(2) = 2.121 m from its middle.
    for distance, touches in ((4.10, True), (4.13, False)):
        batch = scene((0.0, 0.0, 0.0, 0.0), (distance, 0.0, math.pi / 4, 0.0))
        assert overlap(batch.agents[0][0], batch.agents[0][1]) == touches


def test_who_runs_into_another_from_behind_is_at_fault():
    events = meet(scene((0.0, 0.0, 0.0, 10.0), (3.9, 0.0, 0.0, 4.0)))
    assert events["kind"].tolist() == [COLLISION] * 2
    assert events["value"].tolist() == pytest.approx([6.0, 6.0])
    facts = {int(e["agent"]): (int(e["side"]), int(e["fault"]), float(e["other_v"])) for e in events}
    assert facts == {0: (FRONT, 1, 4.0), 1: (REAR, 0, 10.0)}


def test_who_stands_is_not_at_fault_and_who_breaks_a_rule_is_unless_hit_from_behind():
    events = meet(scene((0.0, 0.0, 0.0, 0.0), (0.5, 2.5, -math.pi / 2, 5.0)))
    assert {int(e["agent"]): (int(e["side"]), int(e["fault"])) for e in events} == {0: (SIDE, 0), 1: (FRONT, 1)}
    batch = scene((0.0, 0.0, 0.0, 5.0), (0.5, 2.5, -math.pi / 2, 5.0))
    assert {int(e["agent"]): int(e["fault"]) for e in meet(batch)} == {0: 0, 1: 1}
    batch = scene((0.0, 0.0, 0.0, 5.0), (0.5, 2.5, -math.pi / 2, 5.0))
    batch.agents["against"][0, 0] = 1
    assert {int(e["agent"]): int(e["fault"]) for e in meet(batch)} == {0: 1, 1: 1}
    batch = scene((0.0, 0.0, 0.0, 10.0), (3.9, 0.0, 0.0, 4.0))
    batch.agents["against"][0, 1] = 1
    assert {int(e["agent"]): int(e["fault"]) for e in meet(batch)} == {0: 1, 1: 0}


def test_a_contact_that_lasts_is_one_event():
    batch = scene((0.0, 0.0, 0.0, 10.0), (3.9, 0.0, 0.0, 4.0))
    assert len(meet(batch)) == len(meet(batch)) == 2
    batch.agents["x"][0, 1] = 20.0
    meet(batch)
    batch.agents["x"][0, 1] = 3.0
    assert len(meet(batch)) == 4
    assert batch.agents["collisions"].tolist() == [[2, 2]]
    assert batch.agents["faults"].tolist() == [[2, 0]]


def test_the_sweep_finds_what_all_pairs_find():
    rng = np.random.default_rng(1)
    for _ in range(50):
        batch = scene(*zip(*rng.uniform([-20] * 30, 20, (2, 30)), rng.uniform(-4, 4, 30), [1.0] * 30, strict=True))
        cars = batch.agents[0]
        meet(batch)
        touching = {i for i in range(30) for j in range(30) if i != j and overlap(cars[i], cars[j])}
        assert touching == set(np.flatnonzero(cars["touching"] >= 0).tolist())
        assert len(touching) > 2
