from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.offline import UpdateBar
from tiltyard.agents.control.replay import Batch
from tiltyard.agents.control.td3_bc import TD3BC, Standardised, cloning_improvement

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "batch_size": 32, "buffer_size": 500, "seed": 0}


class Aim(gymnasium.Env[Any, Any]):
    """One step an episode: pays for an action near half of what is seen."""

    observation_space = Box(-10, 10, (2,))
    action_space = Box(-2, 2, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen, {}

    def step(self, action: Any) -> Any:
        return self.seen, -float((action[0] - 0.5 * self.seen[0]) ** 2), True, False, {}


def single_steps(actions: Any, rewards: Any, observations: Any) -> Transitions:
    """Episodes of one step each."""
    n, ones = len(rewards), np.ones(len(rewards))
    column = np.asarray(observations, np.float32).reshape(n, -1)
    return Transitions(
        observations=column,
        actions=np.asarray(actions, np.float32).reshape(n, -1),
        rewards=np.asarray(rewards, np.float32),
        next_observations=column,
        terminations=ones.astype(np.float32),
        ends=ones.astype(bool),
        episodes=np.arange(n),
        episode_returns=np.asarray(rewards, float),
    )


def batch_of(observations: Any, actions: Any) -> Batch:
    n = len(observations)
    return Batch(th.tensor(observations), th.tensor(actions), th.zeros(n), th.tensor(observations), th.zeros(n))


def test_actor_loss_by_hand() -> None:
    # Q_1 is -4 everywhere and the actor says 0: lambda = 2.5 / 4, so the value adds 0.625 * 4 = 2.5. The actions of the
    # data are 0.5 and -1: cloning adds (0.25 + 1) / 2 = 0.625.
    agent = TD3BC("MlpPolicy", Aim(), **SMALL)
    with th.no_grad():
        for param in [*agent.actor.parameters(), *agent.critic.parameters()]:
            param.zero_()
        list(agent.critic.parameters())[-1][0].fill_(-4.0)
    batch = batch_of([[0.1, 0.2], [0.3, 0.4]], [[0.5], [-1.0]])
    assert cloning_improvement(agent.actor, agent.critic, batch, agent.alpha).loss.item() == pytest.approx(3.125)


def test_observations_are_standardised_by_the_first_dataset() -> None:
    data = single_steps([0.0, 0.0], [0.0, 0.0], [[0.0, 1.0], [2.0, 1.0]])
    agent = TD3BC("MlpPolicy", Aim(), **SMALL).learn_offline(data, 0)
    extractors = [module for module in agent.policy.modules() if isinstance(module, Standardised)]
    assert len(extractors) == 4  # actor and critics, and their targets
    for extractor in extractors:  # means 1 and 1, deviations 1 and 0, to which 0.001 is added
        np.testing.assert_allclose(extractor(th.tensor([[3.0, 1.002]])), [[2 / 1.001, 2.0]], rtol=1e-4)
    agent.learn_offline(single_steps([0.0], [0.0], [[9.0, 9.0]]), 0)
    assert extractors[0].mean.tolist() == [1.0, 1.0]


def test_checkpoint_standardises_as_the_agent_did(tmp_path: Path) -> None:
    data = single_steps([0.0, 1.0], [0.0, 0.0], [[0.0, 5.0], [2.0, 1.0]])
    agent = TD3BC("MlpPolicy", Aim(), **SMALL).learn_offline(data, 3)
    agent.save(tmp_path / "agent")
    loaded = TD3BC.load(tmp_path / "agent")
    seen = np.array([1.0, 4.0], np.float32)
    np.testing.assert_array_equal(
        agent.predict(seen, deterministic=True)[0], loaded.predict(seen, deterministic=True)[0]
    )
    assert loaded.actor.features_extractor.mean.tolist() == [1.0, 3.0]


def test_observations_may_stay_as_they_are() -> None:
    data = single_steps([0.0, 1.0], [0.0, 0.0], [[0.0, 5.0], [2.0, 1.0]])
    agent = TD3BC("MlpPolicy", Aim(), normalize_observations=False, **SMALL).learn_offline(data, 1)
    assert agent.actor.features(th.tensor([[3.0, 4.0]])).tolist() == [[3.0, 4.0]]


def test_improves_on_the_behaviour_and_goes_on_online() -> None:
    rng = np.random.default_rng(0)
    observations, actions = rng.uniform(-1, 1, (400, 2)), rng.uniform(-1, 1, 400)
    rewards = -((actions - 0.5 * observations[:, 0]) ** 2)  # the behaviour knows nothing: -0.42
    agent = TD3BC("MlpPolicy", Aim(), learning_rate=3e-3, **SMALL)
    agent.learn_offline(single_steps(actions, rewards, observations), 400)

    def loss() -> float:
        chosen, _ = agent.predict(observations.astype(np.float32), deterministic=True)
        return float(((chosen[:, 0] - 0.5 * observations[:, 0]) ** 2).mean())

    assert loss() < 0.06 < -rewards.mean() / 5
    agent.learn(150)
    assert agent.num_timesteps == 150
    assert loss() < 0.06


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="alpha must be a number of at least 0"):
        TD3BC("MlpPolicy", Aim(), alpha=-1.0, **SMALL)
    with pytest.raises(ValueError, match="TD3BC learns from data"):
        TD3BC("MlpPolicy", Aim(), **SMALL).learn(10)


def test_a_loaded_agent_learns_from_data_without_an_environment(match: Any, tmp_path: Path) -> None:
    agent = TD3BC("MlpPolicy", match.env(), seed=0, batch_size=8, policy_kwargs={"net_arch": [8]})
    agent.learn_offline(match.data(50), 2).save(tmp_path / "agent")
    loaded = TD3BC.load(tmp_path / "agent")
    before = loaded._n_updates
    loaded.learn_offline(match.data(50), 3)
    assert loaded._n_updates - before == 3


def test_a_progress_bar_counts_updates(match: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    class Bar(UpdateBar):
        def _on_training_end(self) -> None:
            counted.append(self.pbar.n)
            super()._on_training_end()

    monkeypatch.setattr("tiltyard.agents.control.offline.UpdateBar", Bar)
    agent = TD3BC("MlpPolicy", match.env(), seed=0, batch_size=8, policy_kwargs={"net_arch": [8]})
    agent.learn_offline(match.data(50), 7, progress_bar=True)
    assert counted == [7]
