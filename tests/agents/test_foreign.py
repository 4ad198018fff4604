"""Agents named ``module:Class``."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stable_baselines3 as sb3
from stable_baselines3.common.base_class import BaseAlgorithm

from tiltyard import agents
from tiltyard.agents.catalogue import find
from tiltyard.agents.checkpoint import SafeCheckpoint, read_checkpoint
from tiltyard.agents.control.base import OffPolicyAgent


class Handed(sb3.A2C):
    """A class that hands everything on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class Named(sb3.DQN):
    """A class with a keyword of its own."""

    def __init__(self, policy: Any, env: Any, *, slack: float = 0.5, **settings: Any) -> None:
        super().__init__(policy, env, **settings)
        self.slack = slack


class Saved(OffPolicyAgent, sb3.SAC):
    """One that has our checkpoints already."""


@pytest.mark.parametrize(
    ("name", "env", "settings"),
    [
        ("stable_baselines3:A2C", "CartPole-v1", {"n_steps": 8}),
        ("stable_baselines3:DDPG", "Pendulum-v1", {"buffer_size": 100, "learning_starts": 4}),
        ("sb3_contrib:RecurrentPPO", "CartPole-v1", {"n_steps": 8, "batch_size": 4}),
        ("sb3_contrib:TRPO", "Pendulum-v1", {"n_steps": 8, "batch_size": 4}),
        (f"{__name__}:Handed", "CartPole-v1", {"n_steps": 8}),
        (f"{__name__}:Named", "CartPole-v1", {"slack": 0.1, "buffer_size": 100}),
        (f"{__name__}:Saved", "Pendulum-v1", {"buffer_size": 100}),
    ],
)
def test_any_sb3_class_learns_and_is_saved_without_code(
    name: str, env: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    agent = agents.make(name, env, seed=1, **settings).learn(16)
    agent.save(tmp_path / "agent")
    stored, _ = read_checkpoint(tmp_path / "agent.zip")
    assert stored["settings"].items() >= settings.items()
    assert stored["class"] in (name, "Saved")
    kind = find(name).load()
    assert issubclass(kind, SafeCheckpoint)
    observation = agent.get_env().reset()
    np.testing.assert_array_equal(
        kind.load(tmp_path / "agent").predict(observation, deterministic=True)[0],
        agent.predict(observation, deterministic=True)[0],
    )
    with pytest.raises(TypeError, match="unknown keyword 'gama'; did you mean 'gamma'"):
        agents.make(name, env, gama=0.9)


@pytest.mark.parametrize(
    ("name", "env", "error", "says"),
    [
        ("json:dumps", "CartPole-v1", TypeError, "json:dumps is no agent: agents subclass"),
        (
            "stable_baselines3:A2D",
            "CartPole-v1",
            KeyError,
            "'A2D'; did you mean 'A2C'",
        ),
        ("no_such_module:A", "CartPole-v1", KeyError, "there is no module 'no_such_module'"),
        ("stable_baselines3:SAC", "CartPole-v1", TypeError, "stable_baselines3:SAC: The algorithm only supports"),
        ("os;system:x", "CartPole-v1", KeyError, "any other class is given as module:Class"),
    ],
)
def test_what_is_no_agent_is_said_in_a_sentence(name: str, env: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as raised:
        agents.make(name, env)
    assert says in raised.value.args[0]


def test_our_text_and_phone_environments_are_adapted() -> None:
    agent: BaseAlgorithm = agents.make("stable_baselines3:A2C", "tiltyard/TreeMDP-v0", n_steps=4, n_envs=2)
    assert agent.learn(8).num_timesteps == 8
