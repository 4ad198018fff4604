from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tiltyard.agents import DSACT, SAC
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.dsac_t import CLAIM
from tiltyard.benchmarks.testbeds.bias import Bias, soft_returns
from tiltyard.benchmarks.testbeds.bias import bias as bias_of
from tiltyard.benchmarks.testbeds.control import Trained
from tiltyard.benchmarks.testbeds.noisy_rewards import LARGEST, NoisyRewards, deviations


def test_soft_returns_by_hand() -> None:
    # gamma 0.5, alpha 2; two environments of three steps; the second's episode ends at its first step.
    rewards = np.array([[1.0, 1.0], [2.0, 4.0], [3.0, 8.0]])
    log_probs = np.array([[9.0, 9.0], [0.5, 0.5], [1.0, -1.0]])
    ended = np.array([[False, True], [False, False], [False, False]])
    returns = soft_returns(rewards, log_probs, ended, 0.5, 2.0)
    # the first: 3; 2 + (3 - 2) / 2 = 2.5; 1 + (2.5 - 1) / 2 = 1.75. The second: 8; 4 + (8 + 2) / 2 = 9; 1.
    assert returns.tolist() == [[1.75, 1.0], [2.5, 9.0], [3.0, 8.0]]


class Constant(gymnasium.Env[Any, Any]):
    """Pays 1 for ever."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(-2, 2, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 1.0, False, False, {}


@pytest.mark.parametrize("agent_class", [SAC, DSACT])
def test_bias_of_a_known_value_is_found(agent_class: Any) -> None:
    agent = agent_class("MlpPolicy", Constant(), gamma=0.9, ent_coef=1e-12, buffer_size=10, device="cpu")
    with th.no_grad():
        *_, weight, bias = agent.critic.net.weights
        weight.zero_()
        bias[:, 0, 0] = th.tensor([12.0, 13.0])
    env = SyncVectorEnv([Constant] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    found = bias_of(agent, env, horizon=210, tail=200, seed=0)
    assert found.estimate == pytest.approx(12.0)
    assert found.truth == pytest.approx(10.0)  # 1 / (1 - 0.9)
    assert found.percent(10.0) == pytest.approx(20.0)


def test_rewards_of_the_noisy_task_by_hand() -> None:
    env = NoisyRewards(quiet=0.0, loud=2.0)
    env.reset(seed=3)
    env.x = np.array([-0.2, 0.0, 0.0, 0.0])
    best = -0.2 * np.random.default_rng(7).normal(0, 0.5, (6, 4))[:, 0]
    assert env.step(best)[1] == pytest.approx(1.0)
    env.x = np.zeros(4)
    assert env.step(np.full(6, 0.5))[1] == pytest.approx(0.75)  # 1 - 0.5^2
    found = []
    for _ in range(2000):
        env.x = np.array([0.3, 0.0, 0.0, 0.0])
        *_, info = step = env.step(np.zeros(6))
        found.append(step[1] - info["mean"])
    assert np.std(found) == pytest.approx(2.0, rel=0.1)
    assert np.mean(found) == pytest.approx(0.0, abs=0.15)


def test_only_gaussian_critics_know_deviations() -> None:
    small: Any = CLAIM.testbed.smallest()
    found = {name: small.run(CLAIM.conditions[name], 0.0, 1).at_end for name in ("sac", "dsac-t")}
    assert found["sac"] == {}
    assert set(found["dsac-t"]) == {"loud", "quiet"}
    assert min(found["dsac-t"].values()) > 0
    assert deviations(small.agent(CLAIM.conditions["sac"], 1)) == {}


def test_over_estimation_is_what_lies_above_the_truth_by_hand() -> None:
    # In units of the largest value, at both moments; under-estimation by DSAC-T is no further gain.
    biases = {"sac": (0.5, 0.7), "dsac-t": (-0.4, 0.0), "no delay": (0.0, 0.0)}
    outcomes: Any = {
        name: Outcome(
            None, 0.0, [Trained([Bias((bias + 0.1 * seed) * LARGEST, 0.0) for bias in both]) for seed in (0, 1, 2)]
        )
        for name, both in biases.items()
    }
    (effect,) = CLAIM.parts(Found(CLAIM, CLAIM.testbed, outcomes, {}, (0, 1, 2))).values()
    assert effect.values == pytest.approx((60.0, 70.0, 80.0))  # DSAC-T at -20, -10 and 0 percent
    assert effect.highest == pytest.approx(70.0)


def test_the_premise_is_that_sac_over_estimates() -> None:
    def biases(low: float) -> dict[str, dict[str, float]]:
        return {"SAC, a": {"low": -9.0}, "SAC, b": {"low": low}, "DSAC-T, a": {"low": 3.0}}

    assert CLAIM.premise.missing({"bias in percent": biases(-1.0)})
    assert not CLAIM.premise.missing({"bias in percent": biases(1.0)})
