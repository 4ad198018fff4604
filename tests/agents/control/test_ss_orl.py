from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents import SSORL
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.ss_orl import InverseDynamics, joined, log_likelihood, windows, with_proxy_actions

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "batch_size": 32, "buffer_size": 50, "seed": 0}
SPACE = Box(-2, 2, (1,), np.float32)


class Slide(gymnasium.Env[Any, Any]):
    """A place that an action moves by half of itself; pays for being near 1."""

    observation_space = Box(-100, 100, (1,), np.float32)
    action_space = SPACE

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 0.0, True, False, {}


def slides(episodes: int, seed: int, steps: int = 10) -> Transitions:
    rng, n = np.random.default_rng(seed), episodes * steps
    actions = rng.uniform(-2, 2, (episodes, steps, 1)).astype(np.float32)
    places = np.concatenate([np.zeros((episodes, 1, 1)), (actions / 2).cumsum(axis=1)], axis=1).astype(np.float32)
    rewards = -np.abs(places[:, 1:, 0] - 1)
    return Transitions(
        observations=places[:, :-1].reshape(n, 1),
        actions=actions.reshape(n, 1),
        rewards=rewards.reshape(n).astype(np.float32),
        next_observations=places[:, 1:].reshape(n, 1),
        terminations=np.zeros(n, np.float32),
        ends=np.arange(n) % steps == steps - 1,
        episodes=np.arange(n) // steps,
        episode_returns=rewards.sum(axis=1).astype(np.float64),
    )


def test_windows_by_hand() -> None:
    data = slides(2, 0, steps=3)
    data.observations[:, 0], data.next_observations[:, 0] = [1, 2, 3, 5, 6, 7], [2, 3, 4, 6, 7, 8]
    assert windows(data, 0).tolist() == [[1, 2], [2, 3], [3, 4], [5, 6], [6, 7], [7, 8]]
    assert windows(data, 2).tolist()[1:5] == [[0, 1, 2, 3], [1, 2, 3, 4], [0, 0, 5, 6], [0, 5, 6, 7]]


def test_likelihood_by_hand() -> None:
    # Mean 1 and deviation e: -(3 - 1)^2 / (2 e^2) - 1.
    found = log_likelihood(th.tensor([[1.0, 1.0]]), th.tensor([[3.0]]))
    assert found.item() == pytest.approx(-2 / np.e**2 - 1)


def test_actions_are_found_again_and_true_ones_not_looked_at() -> None:
    th.manual_seed(0)
    model = InverseDynamics(slides(20, 0), SPACE, updates=300, rng=np.random.default_rng(0))
    other = slides(10, 1)
    blind = replace(other, actions=np.full_like(other.actions, np.nan))
    found = model.actions(blind)
    assert np.square(found - other.actions).mean() < 0.02 * other.actions.var()
    assert np.abs(found).max() <= 2


def test_both_datasets_one_after_the_other() -> None:
    one, other = slides(2, 0), slides(3, 1)
    both = joined(one, other)
    assert both.episodes.tolist() == sorted([*range(5)] * 10)
    assert both.lengths.tolist() == [10] * 5
    np.testing.assert_array_equal(both.observations[20:], other.observations)
    np.testing.assert_array_equal(both.episode_returns, [*one.episode_returns, *other.episode_returns])


def test_it_learns_from_what_was_labelled_and_what_was_filled_in(tmp_path: Path) -> None:
    labelled, other = slides(5, 0), slides(10, 1)
    agent = SSORL("MlpPolicy", Slide(), inverse_updates=200, **SMALL)
    agent.learn_offline(labelled, 2, action_free=replace(other, actions=np.full_like(other.actions, np.nan)))
    assert agent.demonstrations is not None
    assert agent.inverse is not None
    column = agent._columns().action
    wanted = with_proxy_actions(labelled, other, agent.inverse).actions / 2  # as networks have them
    np.testing.assert_allclose(agent.demonstrations.rows[:, column], wanted, rtol=1e-5)
    np.testing.assert_allclose(wanted[:50], labelled.actions / 2)
    agent.save(tmp_path / "agent")
    assert SSORL.load(tmp_path / "agent").inverse is None
    agent.learn_offline(labelled, 0)
    assert len(agent.demonstrations) == 50


def test_a_wrong_dataset_changes_nothing() -> None:
    agent = SSORL("MlpPolicy", Slide(), **SMALL)
    wide = slides(2, 0)
    with pytest.raises(ValueError, match="hold observations of shape"):
        agent.learn_offline(slides(2, 0), 2, action_free=replace(wide, observations=np.zeros((20, 3), np.float32)))
    assert agent.demonstrations is None
    assert agent.inverse is None
