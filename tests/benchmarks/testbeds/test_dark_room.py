"""The goal pays in every step that ends there, the expert walks to it, and goals of the splits differ."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.benchmarks.testbeds.dark_room import DarkRoomEnv, DarkRooms, DarkRoomVectorEnv
from tiltyard.envs import InvalidAction


def test_it_is_a_gymnasium_environment() -> None:
    check_env(DarkRoomEnv(), skip_render_check=True)


def test_the_expert_is_paid_from_its_arrival_on() -> None:
    env = DarkRoomVectorEnv(20, size=5, steps=12)
    seen, info = env.reset(seed=0)
    assert not seen.any()
    expert, total = env.expert(), np.zeros(20)
    for t in range(12):
        seen, rewards, terminated, _, _ = env.step(expert.predict(seen)[0])
        total += rewards
        assert terminated.all() == (t == 11)
    away = info["goal"].sum(axis=1)
    np.testing.assert_array_equal(total, 12 - np.maximum(away, 1) + 1)


def test_moves_by_hand_and_walls() -> None:
    env = DarkRoomEnv(size=4, steps=50)
    env.reset(seed=1)
    places = [env.step(action)[0].tolist() for action in (1, 0, 0, 2, 3, 3, 4, 0, 0)]
    assert places == [[0, 0], [1, 0], [2, 0], [2, 1], [2, 0], [2, 0], [2, 0], [3, 0], [3, 0]]
    with pytest.raises(InvalidAction, match="a number from 0 to 4"):
        env.step(5)


def test_goals_of_the_splits_are_different_squares() -> None:
    goals = [set(DarkRooms(1, size=10, split=split).goals.tolist()) for split in ("train", "test")]
    assert [len(one) for one in goals] == [80, 20]
    assert not goals[0] & goals[1]
    with pytest.raises(ValueError, match="a size of at least 3"):
        DarkRooms(1, size=2)
