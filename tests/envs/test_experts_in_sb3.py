"""Every expert under Stable-Baselines3's ``evaluate_policy``."""

import gymnasium
import pytest
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from tiltyard.wrappers import sb3_env, to_sb3


@pytest.mark.parametrize("env_id", ["tiltyard/PointMaze-v0", "tiltyard/Highway-v0", "tiltyard/PegInsertion-v0"])
def test_a_single_environment_as_it_is_or_under_a_monitor(env_id: str) -> None:
    env = gymnasium.make(env_id)
    env.reset(seed=3)
    with pytest.warns(UserWarning, match="not wrapped with a ``Monitor``"):
        assert evaluate_policy(env.unwrapped.expert(), env, n_eval_episodes=1)[0] > 0.8
    assert evaluate_policy(env.unwrapped.expert(), Monitor(env), n_eval_episodes=1)[0] > 0.8


@pytest.mark.parametrize("env_id", ["tiltyard/PointMaze-v0", "tiltyard/Countdown-v0", "tiltyard/Phone-v0"])
def test_native_vectors(env_id: str) -> None:
    native = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode="vector_entry_point")
    assert evaluate_policy(native.unwrapped.expert(), to_sb3(native), 3, warn=False)[0] > 0.9
    ready = sb3_env(env_id, 2, strings=True)
    assert evaluate_policy(ready.unwrapped.env.unwrapped.expert(), ready, 3)[0] > 0.9


def test_a_batch_is_answered_by_a_batch_and_an_observation_by_an_action() -> None:
    env = gymnasium.make("tiltyard/PointMaze-v0")
    observation, _ = env.reset(seed=0)
    expert = env.unwrapped.expert()
    single, state = expert.predict(observation, state="kept")
    batch, _ = expert.predict(observation[None])
    assert state == "kept"
    assert (single.shape, batch.shape) == ((2,), (1, 2))
    assert (batch[0] == single).all()
    text = gymnasium.make("tiltyard/Countdown-v0")
    question, _ = text.reset(seed=0)
    answer, _ = text.unwrapped.expert().predict(question)
    assert text.unwrapped.expert().predict([question])[0] == (answer,)
