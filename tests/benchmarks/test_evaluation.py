"""What benchmarks.evaluate shows an agent: observations as it learnt from them."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from tiltyard import benchmarks
from tiltyard.agents import make
from tiltyard.benchmarks.evaluation import evaluation_env, play_episodes

PENDULUM = "Pendulum-v1"


def normalised(env: VecEnv, **settings: Any) -> VecNormalize:
    """An environment whose observations are far from those of its own: they have seen others."""
    made = VecNormalize(env, **settings)
    made.obs_rms.mean, made.obs_rms.var = np.array([3.0, -2.0, 1.0]), np.array([4.0, 9.0, 25.0])
    made.ret_rms.var = np.array(1e6)
    return made


def shown(agent: Any, monkeypatch: pytest.MonkeyPatch, **evaluated: Any) -> tuple[Any, Any]:
    """The first observations that an evaluation shows an agent, and what it found."""
    seen: list[Any] = []
    predict = agent.predict

    def noted(observation: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(np.array(observation))
        return predict(observation, *args, **kwargs)

    monkeypatch.setattr(agent, "predict", noted)
    found = benchmarks.evaluate(agent, PENDULUM, episodes=2, **evaluated)
    return seen[0], found


def test_an_agent_sees_observations_as_its_vecnormalize_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    env = normalised(make_vec_env(PENDULUM, 1))
    agent = make("ppo", env, seed=0, device="cpu", n_steps=8, batch_size=8)
    seen, found = shown(agent, monkeypatch, seeds=[5, 6])
    bare = evaluation_env(PENDULUM, agent, 2)
    bare.unwrapped.seed_envs([5, 6])  # type: ignore[attr-defined]
    expected = (bare.reset() - env.obs_rms.mean) / np.sqrt(env.obs_rms.var + 1e-8)  # type: ignore[operator]
    np.testing.assert_allclose(seen, expected, rtol=1e-5)
    assert env.obs_rms.mean.tolist() == [3.0, -2.0, 1.0]  # nothing was learnt from the evaluation
    assert max(found.scores) < -10  # the environment's own rewards, not thousandths of them
    unwatched = evaluation_env(PENDULUM, agent, 2).venv  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="not wrapped with a ``Monitor``"):  # which keeps rewards before they change
        assert play_episodes(agent, unwatched, 2, seeds=[5, 6]).scores == pytest.approx(found.scores)
    already = normalised(bare, training=False, norm_reward=False)  # is not normalised twice
    assert play_episodes(agent, already, 2, seeds=[5, 6]) == found


def test_an_agent_without_vecnormalize_sees_the_environments_own(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make("ppo", make_vec_env(PENDULUM, 1), seed=0, device="cpu", n_steps=8, batch_size=8)
    seen, _ = shown(agent, monkeypatch)
    assert np.linalg.norm(seen[:, :2], axis=1) == pytest.approx([1.0, 1.0], abs=1e-5)


def test_an_agent_of_other_observations_is_refused() -> None:
    agent = make("sac", "tiltyard/Hopper-v5", seed=0, device="cpu", buffer_size=100, policy_kwargs={"net_arch": [8]})
    agent.action_space = Box(-1.0, 1.0, (2,), np.float32)  # that of Reacher
    with pytest.raises(TypeError, match="this agent's observations are Box.*11.*those of the environment are Box.*10"):
        benchmarks.evaluate(agent, "tiltyard/Reacher-v5", episodes=1)


def test_a_vecnormalize_of_other_observations_is_refused() -> None:
    class Wide(gymnasium.ObservationWrapper[Any, Any, Any]):
        def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
            super().__init__(env)
            self.observation_space = Box(-np.inf, np.inf, (6,), np.float32)

        def observation(self, observation: Any) -> Any:
            return np.concatenate((observation, observation))

    env = VecNormalize(make_vec_env(PENDULUM, 1, wrapper_class=Wide))
    agent = make("ppo", env, seed=0, device="cpu", n_steps=8, batch_size=8)
    with pytest.raises(ValueError, match="this agent's VecNormalize is of observations Box.*6.*those of the environm"):
        benchmarks.evaluate(agent, PENDULUM, episodes=1)


def test_experts_of_environments_without_a_vector_of_their_own_are_evaluated() -> None:
    assert benchmarks.evaluate("expert", "tiltyard/Android-v0", episodes=2).scores == (1.0, 1.0)
