import numpy as np

from tiltyard.envs.driving.town.lists import agent_of, enlist, enlist_new, find, key, lane_of, s_of
from tiltyard.envs.driving.town.state import ABSENT, DRIVER, allocate


def test_an_entry_says_lane_place_and_agent():
    entry = key(417, 123.4567, 31)
    assert (lane_of(entry), s_of(entry), agent_of(entry)) == (417, 123.456, 31)
    assert key(3, 50.0, 9) < key(3, 50.002, 0) < key(4, 0.0, 0)


def test_the_list_stays_sorted_while_agents_move_change_lanes_come_and_go():
    rng = np.random.default_rng(0)
    batch = allocate(1, 20)
    world, cars, keys = batch.worlds[0], batch.agents[0], batch.keys[0]
    world["agents"] = 20
    cars["lane"], cars["s"], cars["controller"] = rng.integers(0, 5, 20), rng.uniform(0, 100, 20), DRIVER
    enlist_new(world, cars, keys)
    for _ in range(200):
        cars["s"] += rng.uniform(0.0, 3.0, 20)
        change = rng.random(20)
        cars["lane"] = np.where(change < 0.05, rng.integers(0, 5, 20), cars["lane"])
        cars["beside"] = np.where(change > 0.9, rng.integers(5, 9, 20), -1)
        cars["beside_s"] = cars["s"]
        cars["controller"] = np.where(rng.random(20) < 0.1, ABSENT, DRIVER)
        enlist(world, cars, keys)
        there = cars["controller"] != ABSENT
        wanted = [(lane, s, k) for k, (lane, s) in enumerate(zip(cars["lane"], cars["s"], strict=True)) if there[k]]
        wanted += [(cars["beside"][k], cars["s"][k], k) for k in range(20) if there[k] and cars["beside"][k] >= 0]
        found = [(lane_of(one), agent_of(one)) for one in keys[: world["listed"]].tolist()]
        expected = sorted(wanted, key=lambda one: (one[0], int(one[1] * 1000.0)))
        assert found == [(lane, k) for lane, _, k in expected]


def test_bisection_finds_the_first_of_a_lane():
    keys = np.array([key(1, 5.0, 0), key(3, 2.0, 1), key(3, 9.0, 2), key(8, 0.0, 3)])
    assert [find(keys, 4, key(lane, 0.0, 0)) for lane in (0, 1, 2, 3, 4, 9)] == [0, 0, 1, 1, 3, 4]
    assert find(keys, 4, key(3, 2.001, 0)) == 2
