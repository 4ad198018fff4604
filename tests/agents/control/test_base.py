"""What every control agent says of spaces, environments and callbacks that it cannot learn with."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from stable_baselines3.common.callbacks import BaseCallback

import tiltyard.agents
from tiltyard.agents import DQN, PPO, SAC, FastPPO, StreamAC

FLAT, ACTIONS = Box(-1, 1, (3,)), Box(-1, 1, (2,))


class Sampling(gymnasium.Env[Any, Any]):
    """An environment of any two spaces, which ends after ten steps."""

    def __init__(self, observation_space: Any = FLAT, action_space: Any = ACTIONS) -> None:
        self.observation_space, self.action_space, self.count = observation_space, action_space, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        return self.observation_space.sample(), 1.0, self.count == 10, False, {}


SHIFTED = "numbers its choices from 0, unlike Discrete.*start=5.*: shift them"
WHOLE = r"acts in Boxes of floats, not in Box\(0, 10, \(1,\), int64\): round floats to it"


@pytest.mark.parametrize(
    ("name", "agent", "spaces", "says"),
    [
        ("fast-ppo", FastPPO, (FLAT, Discrete(3, start=5)), SHIFTED),
        ("ppo", PPO, (FLAT, Discrete(3, start=5)), SHIFTED),
        ("dqn", DQN, (FLAT, Discrete(3, start=5)), SHIFTED),
        ("stream-x", StreamAC, (FLAT, Discrete(3, start=5)), SHIFTED),
        ("fast-ppo", FastPPO, (FLAT, MultiDiscrete([3, 2], start=[0, 1])), "from 0, unlike MultiDiscrete"),
        ("sac", SAC, (FLAT, Box(0, 10, (1,), np.int64)), WHOLE),
        ("fast-ppo", FastPPO, (FLAT, Box(0, 10, (1,), np.int64)), WHOLE),
        ("stream-x", StreamAC, (FLAT, Box(0, 10, (1,), np.int64)), WHOLE),
        ("ppo", PPO, (Discrete(5, start=3), ACTIONS), "observes choices numbered from 0, not Discrete.*: shift them"),
        ("fast-ppo", FastPPO, (Tuple((FLAT, FLAT)), ACTIONS), "alone or in a Dict, not Tuple.*: flatten it"),
        ("sac", SAC, (Box(-1, 1, ()), ACTIONS), r"one dimension or more, not Box.*ReshapeObservation\(env, \(1,\)\)"),
        ("sac", SAC, (FLAT, Box(np.array([0, -1], np.float32), np.array([0, 1], np.float32))), "equal in entry 0 of"),
    ],
)
def test_spaces_that_an_agent_would_misread_are_refused(name: str, agent: Any, spaces: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        tiltyard.agents.make(name, Sampling(*spaces))
    with pytest.raises(TypeError, match=says):
        agent("MlpPolicy", Sampling(*spaces))


def test_parts_of_a_dict_are_looked_at_too() -> None:
    with pytest.raises(TypeError, match="observes choices numbered from 0, not Discrete"):
        tiltyard.agents.make("ppo", Sampling(Dict(a=FLAT, b=Discrete(3, start=1))))


def test_an_agent_that_counts_from_any_number_may() -> None:
    agent: Any = tiltyard.agents.make("stax", Sampling(FLAT, Discrete(3, start=5)), seed=0)
    assert agent.predict(np.zeros(3, np.float32))[0] in (5, 6, 7)


IMAGES = Box(0, 255, (40, 40, 3), np.uint8)


@pytest.mark.parametrize(
    ("name", "space", "says"),
    [
        ("crossq", Dict(a=FLAT), "CrossQ reads no dicts such as Dict.*: flatten them"),
        ("fast-td3", Dict(a=FLAT), "FastTD3 reads no dicts such as Dict.*: flatten them"),
        ("fast-sac", IMAGES, "FastSAC reads no images such as Box.*: flatten them"),
        ("gbrl", IMAGES, "GBRL reads no images such as Box.*: flatten them"),
    ],
)
def test_observations_without_a_policy_for_them_are_told(name: str, space: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        tiltyard.agents.make(name, Sampling(space))


def test_a_flat_policy_of_an_agent_without_another_does_not_send_to_one_that_is_not_there() -> None:
    with pytest.raises(TypeError, match="CrossQ reads no dicts"):
        tiltyard.agents.make("crossq", Sampling(Dict(a=FLAT)), policy="MlpPolicy")


@pytest.mark.parametrize("policy", [None, 3, ["MlpPolicy"]])
@pytest.mark.parametrize("agent", [PPO, SAC, StreamAC])
def test_a_policy_is_named_or_a_class(agent: Any, policy: Any) -> None:
    with pytest.raises(TypeError, match="policy must be a string or a class, got"):
        agent(policy, "Pendulum-v1")


def test_crossq_needs_batches_that_have_a_deviation() -> None:
    with pytest.raises(ValueError, match="batch_size must be at least 2, got 1"):
        tiltyard.agents.make("crossq", "Pendulum-v1", batch_size=1)


def test_an_environment_is_set_by_its_id_too() -> None:
    agent = SAC("MlpPolicy", gymnasium.make_vec("Pendulum-v1", 2, "sync"), buffer_size=100, seed=0)
    agent.set_env("Pendulum-v1")
    assert agent.env is not None
    assert agent.env.num_envs == 2
    with pytest.raises(KeyError, match="did you mean 'Pendulum-v1'"):
        agent.set_env("Pendulm-v1")
    with pytest.raises(TypeError, match="is a Gymnasium environment or vector, or a VecEnv, got None"):
        agent.set_env(None)


SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 8, "batch_size": 8},
    "fast-ppo": {"n_steps": 8},
    "sac": {"learning_starts": 5, "batch_size": 4, "buffer_size": 100, "gradient_steps": 0},
    "stream-x": {},
    "fast-td3": {"learning_starts": 5, "batch_size": 4, "buffer_size": 100},
}


@pytest.mark.parametrize("name", SMALL)
def test_callbacks_are_looked_at_before_anything_is_done(name: str) -> None:
    agent: Any = tiltyard.agents.make(name, Sampling(), seed=0, **SMALL[name]).learn(16)
    steps = agent.num_timesteps
    for callback in (3, "eval", [lambda *_: True], BaseCallback):
        with pytest.raises(TypeError, match="callback must be a BaseCallback, a list of them, a function or None"):
            agent.learn(16, callback=callback)
    assert agent.num_timesteps == steps


@pytest.mark.parametrize("name", SMALL)
def test_a_log_interval_of_0_is_none(name: str) -> None:
    agent: Any = tiltyard.agents.make(name, Sampling(), seed=0, **SMALL[name])
    assert agent.learn(16, log_interval=0).num_timesteps >= 16
    assert agent.learn(16, None, 0).num_timesteps >= 16


@pytest.mark.parametrize("name", SMALL)
def test_an_agent_without_an_environment_says_how_it_gets_one(name: str, tmp_path: Path) -> None:
    agent: Any = tiltyard.agents.make(name, Sampling(), seed=0, **SMALL[name])
    agent.save(tmp_path / "agent")
    loaded = type(agent).load(tmp_path / "agent")
    with pytest.raises(RuntimeError, match=r"loaded without an environment: call set_env\(env\) before learn\(\)"):
        loaded.learn(16)
    loaded.set_env(Sampling())
    assert loaded.learn(16).num_timesteps >= 16
