"""Environments that give what no network could learn from."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tiltyard import agents

OFF: dict[str, Any] = {"learning_starts": 8, "batch_size": 8, "buffer_size": 100}
ON: dict[str, Any] = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
SETTINGS: dict[str, dict[str, Any]] = {
    "sac": OFF,
    "td3": OFF,
    "sb3-sac": OFF,
    "dqn": OFF,
    "ppo": ON,
    "fast-ppo": ON,
    "fast-td3": OFF,
    "stream-x": {},
}
LENGTH = 10


class Unfit(gymnasium.Env[Any, Any]):
    """Observations are the step's number, but for one at ``at``; episodes end after ten steps."""

    observation_space = Box(-np.inf, np.inf, (2,))

    def __init__(self, at: int, value: float, discrete: bool) -> None:
        self.action_space = Discrete(2) if discrete else Box(-1, 1, (1,))
        self.at, self.value, self.step_number, self.taken = at, value, 0, 0

    def _seen(self) -> Any:
        return np.array([0.1, self.value if self.taken == self.at else self.step_number], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.step_number = 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.step_number, self.taken = self.step_number + 1, self.taken + 1
        return self._seen(), 1.0, self.step_number == LENGTH, False, {}


def finite(agent: Any) -> bool:
    return all(bool(part.isfinite().all()) for part in agent.policy.state_dict().values() if part.is_floating_point())


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("at", "value"), [(0, np.nan), (23, np.nan), (2 * LENGTH, -np.inf)])
def test_an_observation_that_is_not_finite_stops_the_training(name: str, at: int, value: float) -> None:
    env = SyncVectorEnv([lambda: Unfit(at, value, name == "dqn")], autoreset_mode=AutoresetMode.SAME_STEP)
    agent = agents.make(name, env, seed=0, preset="none", **SETTINGS[name])
    with pytest.raises(ValueError, match="the environment gave an observation that"):
        agent.learn(64)
    assert finite(agent)


@pytest.mark.parametrize("name", ["sac", "fast-ppo"])
def test_the_same_environment_without_it_is_learnt_in(name: str) -> None:
    env = SyncVectorEnv([lambda: Unfit(-1, 0.0, False)], autoreset_mode=AutoresetMode.SAME_STEP)
    agent = agents.make(name, env, seed=0, preset="none", **SETTINGS[name])
    before = {key: part.clone() for key, part in agent.policy.state_dict().items()}
    agent.learn(64)
    assert agent.num_timesteps >= 64
    assert finite(agent)
    assert any(not th.equal(part, before[key]) for key, part in agent.policy.state_dict().items())
