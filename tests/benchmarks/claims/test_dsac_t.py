from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tiltyard.agents import DSACT, SAC
from tiltyard.benchmarks.claims.dsac_t import CLAIM
from tiltyard.benchmarks.testbeds.bias import OVER_ESTIMATION, soft_returns
from tiltyard.benchmarks.testbeds.bias import bias as bias_of


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
    assert found.percent == pytest.approx(20.0)


def test_every_task_is_a_part() -> None:
    found = CLAIM.smallest().measure()
    bias = found.details["bias in percent"]
    gaps = {
        task: bias[f"SAC, {task}"]["estimate"] - bias[f"DSAC-T, {task}"]["estimate"] for task in OVER_ESTIMATION.tasks
    }
    assert found.means == pytest.approx(gaps)


def test_the_premise_is_that_sac_over_estimates() -> None:
    def biases(low: float) -> dict[str, dict[str, float]]:
        return {"SAC, a": {"low": -9.0}, "SAC, b": {"low": low}, "DSAC-T, a": {"low": 3.0}}

    assert CLAIM.premise.missing({"bias in percent": biases(-1.0)})
    assert not CLAIM.premise.missing({"bias in percent": biases(1.0)})
