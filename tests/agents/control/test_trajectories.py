"""Episodes laid end to end, and what is refused."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents.control import trajectory_agent
from tiltyard.agents.control.cloning import Cloning, FilteredCloning
from tiltyard.agents.control.trajectories import Pool, Running, Trajectory, read
from tiltyard.envs.gui.elements import spaces

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny


def numbered(first: int, steps: int, *, terminated: bool = True, success: bool = False) -> Trajectory:
    """An episode whose goals count up from ``first``."""
    goals = np.zeros((steps + 1, 48), np.int16)
    goals[:, 0] = first + np.arange(steps + 1)
    elements = np.zeros((steps + 1, 64, 24), np.int16)
    actions = np.tile([9, 0, 0, 0, 0], (steps, 1))
    return Trajectory({"elements": elements, "goal": goals}, actions, np.zeros(steps), terminated, success)


def test_a_pool_by_hand() -> None:
    pool = Pool([numbered(10, 3, success=True), numbered(20, 2, terminated=False)])
    assert len(pool) == 5
    assert pool.episode.tolist() == [0, 0, 0, 1, 1]
    assert pool.left.tolist() == [2, 1, 0, 1, 0]
    assert pool.terminal.tolist() == [False, False, True, False, False]
    assert pool.first.tolist() == [0, 3]
    assert pool.outcome.tolist() == [1, 0]
    steps = np.array([0, 2, 3, 4])
    assert pool.observations(steps, "cpu")["goal"][:, 0].tolist() == [10, 12, 20, 21]
    assert pool.observations(steps, "cpu", after=True)["goal"][:, 0].tolist() == [11, 13, 21, 22]


def test_an_episode_is_taken_down_with_copies() -> None:
    seen = {"goal": np.zeros(48)}
    running = Running(seen)
    action = np.array([1, 2])
    running.add(action, 0.25, {"goal": np.ones(48)})
    action[0] = 7
    one = running.ended(terminated=True, success=None)
    assert one.actions.tolist() == [[1, 2]]
    assert one.observations["goal"][:, 0].tolist() == [0, 1]
    assert not one.success  # a return of 1/4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"actions": np.full((2, 5), 70)}, "an action outside"),
        ({"actions": np.zeros((1, 5), np.int64)}, "one a step"),
        ({"rewards": np.array([0, np.nan])}, "NaN"),
        ({"observations": {"goal": np.zeros((3, 48))}}, "no elements of shape"),
    ],
)
def test_bad_episodes_are_refused_and_change_nothing(changed: dict[str, Any], message: str) -> None:
    learner = Cloning(env=tiny(), **SMALL)
    with pytest.raises(ValueError, match=message):
        learner.learn_offline([numbered(1, 2), replace(numbered(1, 2), **changed)], 1)
    assert not learner.kept
    assert learner._n_updates == 0


def test_no_episodes_and_no_such_dataset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with pytest.raises(ValueError, match="at least one episode"):
        read([], *spaces())
    with pytest.raises(FileNotFoundError, match="no local dataset tiltyard/phone/nothing-v0: make it with"):
        read("tiltyard/phone/nothing-v0", *spaces())


def test_the_oldest_episodes_go_first_and_actions_become_canonical() -> None:
    learner = Cloning(env=tiny(), **{**SMALL, "buffer_size": 5})
    learner.keep([numbered(i, 2) for i in range(4)])
    assert [one.observations["goal"][0, 0] for one in learner.kept] == [1, 2, 3]
    (one,) = episodes(1, right=1.0)
    odd = replace(one, actions=one.actions + np.array([0, 0, 5, 6, 7]))
    assert learner.read([odd])[0].actions.tolist() == one.actions.tolist()
    lost = replace(one, actions=np.array([[0, 40, 0, 0, 0]]))
    assert learner.read([lost])[0].actions.tolist() == [[12, 0, 0, 0, 0]]  # taps nothing: waits


def test_what_is_left_of_an_episode_goes_on_in_the_next_call() -> None:
    learner = FilteredCloning(env=tiny(2), **{**SMALL, "rollouts": 2})
    learner.learn(4)
    kept = len(learner.kept)
    learner.learn(4, reset_num_timesteps=False)
    assert len(learner.kept) > kept
    assert learner.num_timesteps == 8


@pytest.mark.parametrize("steps", [-1, 1.5, True])
def test_a_number_of_updates_is_whole(steps: Any) -> None:
    with pytest.raises(ValueError, match="gradient_steps must be"):
        Cloning(env=tiny(), **SMALL).clone(episodes(2, right=1.0), steps)


def test_parts_of_like_size_are_the_batch_from_small_to_large():
    pool = Pool(episodes(12, right=1.0))
    pool._size = np.arange(24)[::-1].copy()
    steps = np.array([3, 0, 7, 7, 11, 5])
    parts = pool.alike(steps, 4)
    assert [len(part) for part in parts] == [2, 2, 1, 1]
    assert sorted(np.concatenate(parts).tolist()) == [0, 1, 2, 3, 4, 5]
    assert steps[np.concatenate(parts)].tolist() == [11, 7, 7, 5, 3, 0]


def test_a_batch_in_parts_has_the_gradient_of_the_whole(monkeypatch):
    gradients = []
    for parts in (1, 4):
        monkeypatch.setattr(trajectory_agent, "PARTS", parts)
        agent = Cloning(env=tiny(), **SMALL)
        pool = Pool(agent.read(episodes(40, right=0.7)))
        weights = np.linspace(0.5, 2.0, len(pool))
        agent.policy.optimizer.step = lambda: None
        agent.imitate(pool, np.arange(len(pool)), 1, weights)
        gradients.append([p.grad.clone() for p in agent.policy.parameters() if p.grad is not None])
    for whole, pieces in zip(*gradients, strict=True):
        th.testing.assert_close(whole, pieces, rtol=1e-4, atol=1e-6)
