from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit, TransformObservation
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.noise import NormalActionNoise
from torch import nn

from tiltyard.agents import DSACT, SAC, TD3, make
from tiltyard.agents.catalogue import find
from tiltyard.agents.control.updates import ACTIVATIONS

SMALL: dict[str, Any] = {"buffer_size": 100}


def test_an_id_brings_the_settings_environments_and_problems_of_the_row() -> None:
    agent = make("td3", "tiltyard/Hopper-v5", buffer_size=100, seed=3)
    assert agent.n_envs == find("td3").n_envs_for("tiltyard/Hopper-v5") == 4
    assert agent.learning_starts == 1000
    assert agent.gradient_steps == 2  # Hopper's own scope wins over the -1 of everywhere
    assert find("td3").settings_for("tiltyard/HalfCheetah-v5")["gradient_steps"] == -1
    assert isinstance(agent.action_noise, NormalActionNoise)
    assert agent.action_noise._sigma.tolist() == [0.1] * 3
    first = gymnasium.make("tiltyard/Hopper-v5").reset(seed=3 * 4 + 1)[0]
    np.testing.assert_array_equal(agent.env.reset()[1], first)  # environment 1 of four of seed 3


def test_settings_win_over_the_row_and_leave_it_alone() -> None:
    before = find("ppo").settings_for("tiltyard/Hopper-v5")
    agent = make("ppo", "tiltyard/Hopper-v5", n_envs=2, n_steps=16, batch_size=32)
    assert (agent.n_envs, agent.n_steps, agent.batch_size) == (2, 16, 32)
    assert agent.policy_kwargs["log_std_init"] == -1.0
    assert find("ppo").settings_for("tiltyard/Hopper-v5") == before


@pytest.mark.parametrize(
    "env",
    [
        "Pendulum-v1",
        lambda: gymnasium.make("Pendulum-v1"),
        lambda: TimeLimit(gymnasium.make("Pendulum-v1").unwrapped, 5),
        lambda: gymnasium.make_vec("Pendulum-v1", 3, "sync"),
        lambda: make_vec_env("Pendulum-v1", 2),
        lambda: gymnasium.make("tiltyard/Hopper-v5"),
        lambda: gymnasium.make_vec("tiltyard/Hopper-v5", 2, "vector_entry_point"),
    ],
    ids=["id", "env", "wrapped", "vector", "vecenv", "ours", "our-vector"],
)
@pytest.mark.parametrize("by_name", [True, False], ids=["make", "class"])
def test_every_kind_of_environment_is_taken(env: Any, by_name: bool) -> None:
    env = env if isinstance(env, str) else env()
    agent = make("sac", env, **SMALL) if by_name else SAC("MlpPolicy", env, **SMALL)
    agent.learn(6)
    assert agent.num_timesteps >= 6


def test_classes_take_our_ids_as_sb3s_take_gymnasiums() -> None:
    assert DSACT("MlpPolicy", "tiltyard/Hopper-v5", buffer_size=100).learn(3).num_timesteps == 3
    assert DSACT("MlpPolicy", "Pendulum-v1", buffer_size=100).learn(3).num_timesteps == 3


def test_policy_follows_the_observations() -> None:
    space = gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8)
    images = TransformObservation(gymnasium.make("Pendulum-v1"), lambda observation: space.sample(), space)
    assert type(make("sac", images, buffer_size=10).policy).__name__ == "ActorCriticCnnPolicy"
    assert type(make("dsac-t", images, buffer_size=10).policy).__name__ == "ActorCriticCnnPolicy"


@pytest.mark.parametrize(
    ("name", "env", "says"),
    [
        (
            "dqn",
            "tiltyard/Hopper-v5",
            r"DQN acts in Discrete spaces, not in Box.* of tiltyard/Hopper-v5.*\((\S+, ){5}or another",
        ),
        (
            "sac",
            "CartPole-v1",
            r"SAC acts in Box spaces, not in Discrete\(2\) of CartPole-v1.*agent \(dqn, .*tiltyard list",
        ),
        ("sac", "tiltyard/Phone-v0", r"another agent \(dqn, ppo, (\S+, ){3}or another of \d\d: tiltyard list agents\)"),
        ("grpo", "tiltyard/Hopper-v5", "grpo trains on text environments, tiltyard/Hopper-v5 is robotics"),
    ],
)
def test_actions_an_agent_cannot_take_are_told_first(name: str, env: str, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        make(name, env)


def test_unknown_names_are_told_with_the_nearest() -> None:
    with pytest.raises(KeyError, match="did you mean 'tiltyard/Hopper-v5'"):
        make("sac", "tiltyard/Hoper-v5")
    with pytest.raises(TypeError, match="SAC: unknown keyword 'gama'; did you mean 'gamma'"):
        SAC("MlpPolicy", "Pendulum-v1", gama=0.9)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unknown keyword 'tauu'; did you mean 'tau'"):
        make("dsac-t", "Pendulum-v1", tauu=0.9)
    with pytest.raises(TypeError, match="this one is made already"):
        make("sac", gymnasium.make("Pendulum-v1"), n_envs=3)


@pytest.mark.parametrize(
    ("name", "env", "says"),
    [
        ("sac", 3, "agents are made for an environment's id, .* got 3"),
        ("sac", None, "agents are made for an environment's id, .* got None"),
        ("sac", lambda: gymnasium.make("Pendulum-v1"), "agents are made for an environment's id, .* got <function"),
        (3, "Pendulum-v1", "an agent is named by a word, such as sac, got 3"),
    ],
)
def test_what_is_no_agent_or_environment_is_told(name: Any, env: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        make(name, env)


def test_a_seed_is_looked_at_before_environments_get_it() -> None:
    with pytest.raises(ValueError, match="sac: seed must be a whole number from 0"):
        make("sac", "Pendulum-v1", seed="a")


def test_noise_may_be_a_number() -> None:
    agent = TD3("MlpPolicy", "Pendulum-v1", action_noise=0.25, **SMALL)  # type: ignore[arg-type]
    assert agent.action_noise._sigma.tolist() == [0.25]  # type: ignore[union-attr]


def test_a_dict_among_the_settings_adds_to_that_of_the_row() -> None:
    agent = make("serl", "tiltyard/Hopper-v5", policy_kwargs={"activation_fn": nn.Tanh}, buffer_size=100)
    assert agent.critic.net.n == 10  # everywhere
    assert agent.critic.net.weights[0].shape[-1] == 128  # the net_arch of this environment
    assert agent.critic.net.plan.activation is ACTIVATIONS[nn.Tanh]


def test_no_environment_of_one_seed_sees_the_problems_of_another_seed() -> None:
    firsts = [make("sac", "tiltyard/Hopper-v5", seed=seed, n_envs=3, **SMALL).env.reset() for seed in range(3)]
    assert len(np.unique(np.concatenate(firsts), axis=0)) == 9
    alone, _ = gymnasium.make("tiltyard/Hopper-v5").reset(seed=2 * 3 + 1)
    np.testing.assert_array_equal(firsts[2][1], alone)


@pytest.mark.parametrize("agent", ["sb3-sac", "sac"])
def test_settings_given_are_not_written_into(agent: str) -> None:
    """Stable-Baselines3's SAC writes ``use_sde`` into ``policy_kwargs``; the next agent would be given it too."""
    given: dict[str, Any] = {"policy_kwargs": {"net_arch": [8], "optimizer_kwargs": {"eps": 1e-7}}}
    before = deepcopy(given)
    made = make(agent, "tiltyard/Hopper-v5", seed=0, **given)
    made.policy_kwargs["optimizer_kwargs"]["eps"] = 1.0
    assert given == before
