import numpy as np
import pytest

from tiltyard.envs.driving.sensors import DEPTH, NEIGHBOUR, OWN, SIZE, sense


def observe(scene, discrete=False):
    out = np.full(SIZE, np.nan, np.float32)
    sense(*scene, discrete, out)
    own, rest = out[: len(OWN)], out[len(OWN) :]
    return own, rest.reshape(3, 2, DEPTH, len(NEIGHBOUR))  # left, own, right; ahead, behind; nearest first


def test_neighbours_by_hand(scene):
    built = scene((1, 0.0, 20.0), (1, 40.0, 15.0), (1, 90.0, 26.0), (0, -30.0, 23.0))
    _, others = observe(built)
    assert others[1, 0, 0].tolist() == pytest.approx([0.352, -5.0 / 15.0, 0.0])  # 40 - 4.8 m
    assert others[1, 0, 1].tolist() == pytest.approx([0.852, 0.4, 0.0])
    assert others[2, 1, 0].tolist() == pytest.approx([0.252, 0.2, 0.0])
    assert others[0].reshape(-1, 3)[:, 0].tolist() == [1.0] * 4  # nobody on the left


def test_a_lane_that_does_not_exist_is_not_a_free_lane(scene):
    own, others = observe(scene((2, 0.0, 20.0)))
    assert (own[10], own[11]) == (0.0, 1.0)
    assert others[0].reshape(-1, 3)[:, 0].tolist() == [-1.0] * 4


def test_a_vehicle_that_changes_lane_is_seen_in_both(scene):
    built = scene((0, 0.0, 20.0), (1, 40.0, 20.0))
    built.cars[1]["target"], built.cars[1]["slip"] = 0, -1.2
    _, others = observe(built)
    assert others[0, 0, 0].tolist() == others[1, 0, 0].tolist() == pytest.approx([0.352, 0.0, -0.8])


def test_own_state_by_hand(scene):
    built = scene((1, 0.0, 24.0))
    built.cars[0]["d"] += 0.9
    built.world["best"], built.world["clock"], built.world["level"], built.world["goal_lane"] = 250.0, 20.0, 10, 2
    own, _ = observe(built, discrete=True)
    assert own[:4].tolist() == pytest.approx([0.6, -0.6, 0.75, 0.5])
    # 750 of 1000 m and 30 of 50 s are left: 25 m/s are needed, 25/30 of the limit
    assert own[12:15].tolist() == pytest.approx([0.75, 0.6, 25.0 / 30.0])
    assert own[16:].tolist() == pytest.approx([1.0, 0.6])
    assert observe(built)[0][16:].tolist() == [0.0, 0.0]
