from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.agents import make
from tiltyard.agents.control.fastrlap import SLOW, slow_laps
from tiltyard.wrappers.laps import LapPractice


@pytest.mark.slow
def test_slow_laps_are_slow_whole_and_learnt_from() -> None:
    env: Any = LapPractice(gymnasium.make("tiltyard/RaceTrack-v0"))
    laps = slow_laps(env, laps=1, seed=0, speed=5.0)
    speeds = 50.0 * laps.observations[:, -1]
    assert speeds[60:].max() < 5.0 + 0.2 * 3.0  # a step of throttle beyond; it begins faster, and rolls out
    assert np.median(speeds) > 4.0
    assert laps.ends.sum() == 1
    assert laps.ends[-1]
    assert laps.terminations.sum() == 0  # driving goes on after a lap
    length = float(env.unwrapped.batched.episodes["length"][0])
    assert laps.episode_returns[0] == pytest.approx(length / (0.2 * 20.0), rel=0.01)
    agent = make("fastrlap", env, seed=0, device="cpu", learning_starts=4, batch_size=16, buffer_size=50)
    agent.learn_offline(laps, 0).learn(8)
    assert agent.sample(16).is_from(1).sum() == 8


@pytest.mark.slow
def test_after_eight_minutes_of_practice_it_drives_faster_than_its_prior_laps() -> None:
    seed = 1
    env: Any = LapPractice(gymnasium.make("tiltyard/RaceTrack-v0"))
    small = {"gradient_steps": 4, "policy_delay": 4, "policy_kwargs": {"n_critics": 3, "critic_layer_norm": True}}
    agent: Any = make("fastrlap", env, seed=seed, device="cpu", buffer_size=3000, **small)
    agent.learn_offline(slow_laps(env, laps=3, seed=seed), 0)
    agent.env.seed(seed)
    agent.learn(2000)
    recoveries = env.recoveries
    speeds: list[float] = []

    def note(told: dict[str, Any], _: dict[str, Any]) -> bool:
        speeds.append(float(told["new_obs"][0, -1]) * 50.0)
        return True

    agent.learn(500, callback=note)
    assert len(speeds) == 500
    assert np.mean(speeds) > SLOW
    assert env.recoveries - recoveries < 10


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        slow_laps(None, laps=0, seed=0)
