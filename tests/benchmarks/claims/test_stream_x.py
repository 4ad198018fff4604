from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete

from tiltyard.agents.control.stream_x import StreamAC
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.stream_x import CLAIM
from tiltyard.benchmarks.testbeds import stream
from tiltyard.benchmarks.testbeds.stream import TASKS, Streams, kilobytes_gained


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
    assert Streams(tasks=TASKS).normalised("CartPole-v1", 22.0) == 0
    assert Streams(tasks=TASKS).normalised("Acrobot-v1", -200.0) == pytest.approx(0.75)
    assert Streams(tasks=TASKS).normalised("InvertedPendulum-v5", 950.0) == 1


def test_every_task_is_a_part_against_both_others() -> None:
    bed = Streams(tasks=TASKS)
    scores = {"stream-x": 0.8, "A2C, batch 1": 0.5, "stream-x without ObGD": 0.1}
    runs = {name: [[score + 0.01 * i for i in range(len(TASKS))]] * 3 for name, score in scores.items()}
    outcomes: Any = {name: Outcome(None, 0.0, of) for name, of in runs.items()}
    parts = CLAIM.parts(Found(CLAIM, bed, outcomes, {}))
    assert len(parts) == 2 * len(TASKS)
    assert parts["Acrobot-v1, over A2C, batch 1"].sample.mean == pytest.approx(0.3)
    assert parts["Acrobot-v1, over stream-x without ObGD"].sample.mean == pytest.approx(0.7)


def test_only_the_last_quarter_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Growing()
    monkeypatch.setattr(stream, "sb3_env", lambda task, n, seed: StreamAC._wrap_env(env))
    # Ten episodes of four steps pay 1, 2, ... 10; those that end after step 30 pay 8, 9 and 10.
    found = Streams(tasks=TASKS, steps=40).final_return(CLAIM.conditions["stream-x"], "CartPole-v1", 1.0, 0)
    assert found == pytest.approx((9 - 22) / (475 - 22))


def test_a_breakdown_counts_as_random_and_other_errors_do_not() -> None:
    bed = Streams(tasks=TASKS, steps=60)

    def broken(env: object, rate: float, seed: int) -> StreamAC:
        agent = StreamAC("MlpPolicy", env, seed=seed)
        with th.no_grad():
            agent.policy.critic.theta.fill_(th.nan)
        return agent

    def wrong(env: object, rate: float, seed: int) -> StreamAC:
        raise ValueError("something else")

    assert bed.final_return(broken, "CartPole-v1", 1.0, 0) == 0
    with pytest.raises(ValueError, match="something else"):
        bed.final_return(wrong, "CartPole-v1", 1.0, 0)


@pytest.mark.parametrize("name", list(CLAIM.conditions))
def test_a_multiple_changes_how_far_each_condition_steps(name: str) -> None:
    def moved(rate: float) -> list[float]:
        agent = CLAIM.conditions[name](StreamAC._wrap_env(gymnasium.make("CartPole-v1")), rate, 0)
        weights = {key: of for key, of in agent.policy.named_parameters() if of.requires_grad}
        start = {key: of.detach().clone() for key, of in weights.items()}
        agent.learn(30)
        nets = ("actor", "critic") if "stream-x" in name else ("policy_net", "value_net")
        return [
            sum(float((weights[key].detach() - start[key]).abs().sum()) for key in weights if net in key)
            for net in nets
        ]

    for small, usual in zip(moved(0.01), moved(1.0), strict=True):
        assert 0 < small < 0.5 * usual


def test_the_premise_is_that_at_least_one_condition_learns_each_task() -> None:
    one, other = dict.fromkeys(TASKS, 0.1), dict.fromkeys(TASKS, 0.5)
    assert CLAIM.premise.missing({"mean normalised return by task": {"one": one, "other": one}})
    assert not CLAIM.premise.missing({"mean normalised return by task": {"one": one, "other": other}})
    partly = one | {next(iter(TASKS)): 0.5}
    assert CLAIM.premise.missing({"mean normalised return by task": {"one": one, "other": partly}})


def test_memory_is_constant() -> None:
    assert kilobytes_gained(start=200, steps=300) < 20  # what 300 kept transitions would take, and more
