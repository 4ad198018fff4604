"""The policy of elements in Stable-Baselines3's algorithms."""

import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch as th

import tiltyard.agents
from tiltyard.agents.control.elements_policy import ElementsPolicy
from tiltyard.agents.control.stock import PPO
from tiltyard.envs.gui.elements import spaces

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, success, tiny

KWARGS = SMALL["policy_kwargs"]


def test_ppo_on_a_phone_in_numbers_takes_it_by_itself() -> None:
    agent = tiltyard.agents.make(
        "ppo", "tiltyard/Phone-v0", env_kwargs={"observation": "elements"}, policy_kwargs=KWARGS
    )
    assert type(agent.policy) is ElementsPolicy
    words = tiltyard.agents.make("ppo", "tiltyard/Phone-v0")
    assert type(words.policy) is not ElementsPolicy


def test_ppo_learns_with_it_and_comes_back_from_its_checkpoint(tmp_path: Path) -> None:
    agent = PPO("ElementsPolicy", tiny(16), n_steps=16, batch_size=64, n_epochs=2, learning_rate=3e-3, ent_coef=0.003,
                gamma=0.0, policy_kwargs=KWARGS, seed=0, device="cpu")  # fmt: skip
    agent.learn(256 * 8)
    assert success(agent) > 0.6  # an untrained one presses home
    agent.save(tmp_path / "agent")
    again = PPO.load(tmp_path / "agent", device="cpu")
    seen = episodes(1, right=1.0)[0].observations
    observation = {name: part[0] for name, part in seen.items()}
    np.testing.assert_array_equal(
        agent.predict(observation, deterministic=True)[0], again.predict(observation, deterministic=True)[0]
    )


def test_forward_and_evaluate_agree() -> None:
    policy = ElementsPolicy(*spaces(), lambda _: 1e-3, **KWARGS)
    seen = {name: th.as_tensor(part[:1]) for name, part in episodes(1, right=1.0)[0].observations.items()}
    actions, values, log_prob = policy(seen)
    again, same, entropy = policy.evaluate_actions(seen, actions)
    th.testing.assert_close(values, again)
    th.testing.assert_close(log_prob, same)
    th.testing.assert_close(values, policy.predict_values(seen))
    assert entropy is not None
    assert 0 < float(entropy) < np.log(18 * 64)


def test_other_spaces_are_refused() -> None:
    env = gymnasium.make("CartPole-v1")
    with pytest.raises(TypeError, match='make the phone with observation="elements"'):
        ElementsPolicy(env.observation_space, env.action_space, lambda _: 1e-3)
    with pytest.raises(ValueError, match="width is a multiple of heads"):
        ElementsPolicy(*spaces(), lambda _: 1e-3, width=10, heads=4)
