from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete

from tiltyard.benchmarks.claims import harness, stream_x


class Growing(gymnasium.Env[Any, Any]):
    """Episodes of four steps; the n-th pays n."""

    observation_space = Box(-1, 1, (1,))
    action_space = Discrete(2)
    episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.t, self.episodes = 0, self.episodes + 1
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return np.zeros(1, np.float32), self.episodes / 4, self.t == 4, False, {}


def test_scores_are_normalised_by_hand() -> None:
    assert stream_x.normalized("CartPole-v1", 22.0) == 0
    assert stream_x.normalized("Acrobot-v1", -200.0) == pytest.approx(0.75)
    assert stream_x.normalized("InvertedPendulum-v5", 950.0) == 1


def test_the_lead_is_over_the_better_of_the_others() -> None:
    # Four runs of two tasks for each of three agents: IQMs 0.8, 0.5 and 0.1.
    scores = np.hstack([np.full((4, 2), value) for value in (0.8, 0.5, 0.1)])
    assert stream_x._lead(scores) == pytest.approx(0.3)
    assert stream_x._lead(scores[:, [0, 1, 4, 5, 2, 3]]) == pytest.approx(0.3)


def test_only_the_last_quarter_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Growing()
    monkeypatch.setattr(stream_x, "STEPS", 40)
    monkeypatch.setattr(stream_x, "sb3_env", lambda task, n, seed: stream_x.StreamAC._wrap_env(env))
    # Ten episodes of four steps pay 1, 2, ... 10; those that end after step 30 pay 8, 9 and 10.
    assert stream_x.final_return("stream-x", "CartPole-v1", 0) == pytest.approx((9 - 22) / (475 - 22))


def test_a_breakdown_counts_as_random_and_other_errors_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_x, "STEPS", 60)

    def broken(env: object, seed: int) -> stream_x.StreamAC:
        agent = stream_x.StreamAC("MlpPolicy", env, seed=seed)
        with th.no_grad():
            agent.policy.critic.theta.fill_(th.nan)
        return agent

    def wrong(env: object, seed: int) -> stream_x.StreamAC:
        raise ValueError("something else")

    monkeypatch.setattr(stream_x, "AGENTS", {"broken": broken, "wrong": wrong})
    assert stream_x.final_return("broken", "CartPole-v1", 0) == 0
    with pytest.raises(ValueError, match="something else"):
        stream_x.final_return("wrong", "CartPole-v1", 0)


def test_memory_is_constant() -> None:
    assert stream_x.kilobytes_gained(start=200, steps=300) < 20  # what 300 kept transitions would take, and more


def test_the_claim_is_measured_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_x, "STEPS", 600)
    monkeypatch.setattr(stream_x, "TASKS", {"CartPole-v1": stream_x.TASKS["CartPole-v1"]})
    monkeypatch.setattr(stream_x, "kilobytes_gained", lambda: 0.0)
    found = stream_x.measure(seeds=3)
    assert found.effect.low <= found.effect.estimate <= found.effect.high
    assert found.details["seeds"] == 3
    assert set(found.details["mean normalised return by task"]) == set(stream_x.AGENTS)
    claim, measure = harness.load("stream-x")
    assert claim.margin == 0
    assert measure is stream_x.measure
