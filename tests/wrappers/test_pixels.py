"""Phones seen by pixels alone: what SB3 gets, what its indices do, and that the expert can be said in them."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict

from tiltyard.wrappers import sb3_env
from tiltyard.wrappers.elements import PLAIN
from tiltyard.wrappers.pixels import Pixels

CELLS = 24 * 12


def made(observation: str = "screen", **keywords: Any) -> tuple[Pixels, Any]:
    env = gymnasium.make_vec("tiltyard/Phone-v1", 8, "vector_entry_point", observation=observation, **keywords)
    return Pixels(env.single_observation_space, env.single_action_space), env


def seen(goal: str) -> dict[str, Any]:
    return {"screen": np.zeros((192, 108, 3), np.uint8), "goal": goal}


def test_a_cell_is_tapped_in_its_middle_and_found_again() -> None:
    adapter, _ = made()
    assert adapter.decode(0, seen("Go")) == "tap 0.042 0.021"
    assert adapter.decode(CELLS - 1, seen("Go")) == "tap 0.958 0.979"
    for index in range(CELLS):
        assert adapter.index(adapter.decode(index, seen("Go")), seen("Go")) == index
    assert adapter.index("tap 1.000 1.000", seen("Go")) == CELLS - 1


def test_strings_of_the_goal_can_be_typed_and_plain_verbs_said() -> None:
    adapter, _ = made()
    goal = seen("Call Ada Bell at 12")
    assert adapter.decode(CELLS, goal) == "type Ada Bell"
    assert adapter.index("type 12", goal) == CELLS + 1
    assert adapter.decode(CELLS + 5, goal) == "wait"
    assert adapter.index("type Ada Byron", goal) is None
    assert [adapter.decode(CELLS + 6 + i, goal) for i in range(len(PLAIN))] == list(PLAIN)
    assert adapter.index("done", goal) == adapter.action_space.n - 1


def test_the_expert_still_succeeds_when_every_tap_goes_to_the_middle_of_its_cell() -> None:
    adapter, env = made(level=1, max_episode_steps=40)
    expert, won, moved = env.unwrapped.expert(), [], 0
    observation, _ = env.reset(seed=5)
    for _ in range(25):
        actions = []
        for i, action in enumerate(expert.predict(observation)[0]):
            one = {name: part[i] for name, part in observation.items()}
            index = adapter.index(action, one)
            actions.append(action if index is None else adapter.decode(index, one))
            moved += action != actions[-1]
        observation, _, terminated, truncated, info = env.step(actions)
        won += list(info["success"][terminated | truncated])
    assert len(won) > 20
    assert moved > 20
    assert all(won)


def test_sb3_gets_screen_and_goal_and_nothing_of_the_tree() -> None:
    env = sb3_env("tiltyard/Phone-v1", 2, observation="pixels", level=1)
    assert isinstance(env.observation_space, Dict)
    assert env.observation_space.keys() == {"goal", "screen"}
    observation = env.reset()
    assert isinstance(observation, dict)
    assert env.observation_space.contains({name: part[0] for name, part in observation.items()})
    for index in (0, CELLS, CELLS + 6, CELLS + 11):
        env.step(np.full(2, index))


def test_a_grid_without_cells_is_refused() -> None:
    space = Dict(screen=gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8))
    with pytest.raises(ValueError, match="rows and columns must be at least 1"):
        Pixels(space, gymnasium.spaces.Discrete(2), rows=0)
