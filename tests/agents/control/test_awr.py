from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tiltyard.agents import AWR
from tiltyard.agents.control.awr import advantage_weights, td_lambda

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0}


def test_td_lambda_by_hand() -> None:
    # Two stretches, of three steps (terminated) and of two (cut off); gamma 0.5, lambda 0.5, V(s') 4 everywhere.
    rewards = np.array([1, 2, 3, 10, 20], np.float32)
    discounts = np.array([0.5, 0.5, 0, 0.5, 0.5], np.float32)
    ends = np.array([False, False, True, False, True])
    found = td_lambda(rewards, discounts, np.full(5, 4, np.float32), ends, 0.5)
    # 3; 2 + (4 + 3) / 4 = 3.75; 1 + (4 + 3.75) / 4 = 2.9375. And 20 + 4 / 2 = 22; 10 + (4 + 22) / 4 = 16.5.
    assert found.tolist() == [2.9375, 3.75, 3.0, 16.5, 22.0]


def test_lambda_spans_one_step_targets_to_whole_returns() -> None:
    rewards, discounts = np.ones(3, np.float32), np.full(3, 0.5, np.float32)
    ends, values = np.array([False, False, True]), np.array([8, 4, 2], np.float32)
    assert td_lambda(rewards, discounts, values, ends, 0.0).tolist() == [5, 3, 2]
    assert td_lambda(rewards, discounts, values, ends, 1.0).tolist() == [2, 2, 2]  # 1 + (1 + (1 + 2 / 2) / 2) / 2


def test_weights_by_hand() -> None:
    # 1 and 3 are -1 and 1 deviation from their mean.
    assert advantage_weights(th.tensor([1.0, 3.0]), 0.5, 7.0).tolist() == pytest.approx([np.exp(-2), 7], rel=1e-4)


class Count(gymnasium.Env[Any, Any]):
    """Shows how many steps were taken in all, pays that number; episodes are of three steps, ended by a time limit."""

    observation_space = Box(-np.inf, np.inf, (1,))
    action_space = Box(-1, 1, (1,))
    total = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.full(1, self.total, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.total += 1
        return np.full(1, self.total, np.float32), float(self.total), False, self.steps == 3, {}


def test_experience_gets_its_targets_in_the_order_of_time_across_the_rings_seam() -> None:
    env = DummyVecEnv([Count, Count])
    agent = AWR("MlpPolicy", env, gamma=0.5, td_lambda=1.0, buffer_size=20, train_freq=14, gradient_steps=1, **SMALL)
    # 14 steps per environment into a ring of 10: the oldest kept is the fifth, the second of its episode
    agent.learn(28)
    with th.no_grad():
        for weight in agent.policy.value.parameters():  # type: ignore[union-attr]
            weight.zero_()
    agent.refresh()
    order, ends = agent._ordered.in_order()
    rows = agent._ordered.rows(order)
    stored = agent.replay_buffer.size()
    assert stored == 10
    rewards = rows[:, agent._columns().reward].reshape(2, stored).tolist()
    assert rewards[0] == rewards[1] == list(range(5, 15))
    np.testing.assert_array_equal(ends.reshape(2, stored)[0], [r % 3 == 0 or r == rewards[0][-1] for r in rewards[0]])
    returns = agent.replay_buffer.returns.reshape(-1)[order].reshape(2, stored)[0]  # type: ignore[attr-defined]
    for step, reward in enumerate(rewards[0]):
        left = min(int(-reward % 3), stored - 1 - step)  # steps to the end of the episode, or to now
        assert returns[step] == pytest.approx(sum(0.5**k * (reward + k) for k in range(left + 1)))


def test_a_reset_ends_a_stretch() -> None:
    agent = AWR("MlpPolicy", Count(), train_freq=1000, buffer_size=100, learning_starts=0, **SMALL)
    buffer = agent._ordered
    for before, after in ((0.0, 1.0), (1.0, 2.0), (7.0, 8.0)):
        args = np.full((1, 1), before, np.float32), np.full((1, 1), after, np.float32), np.zeros((1, 1), np.float32)
        buffer.add(*args, np.ones(1), np.zeros(1), [{}])
    assert buffer.in_order()[1].tolist() == [False, True, True]


def test_finds_the_best_actions_of_the_data(match: Any) -> None:
    agent = AWR("MlpPolicy", match.env(), temperature=0.3, refresh_interval=100, **SMALL)
    assert match.error(agent.learn_offline(match.data(), 400)) < 0.06


def test_learns_online(match: Any) -> None:
    agent = AWR("MlpPolicy", match.env(), temperature=0.3, train_freq=100, gradient_steps=100, **SMALL)
    before = match.error(agent)
    agent.learn(500)
    assert match.error(agent) < min(before, 0.1)


def test_targets_follow_the_values(match: Any) -> None:
    data = match.data(50)
    data.terminations[:] = 0  # each cut off after one step, so that V(s') is part of its target
    agent = AWR("MlpPolicy", match.env(), gamma=0.5, refresh_interval=2, **SMALL).learn_offline(data, 0)
    with th.no_grad():
        for weight in agent.policy.value.parameters():  # type: ignore[union-attr]
            weight.zero_()
        agent.policy.value.net.weights[-1].fill_(3.0)  # type: ignore[union-attr]
    batch = agent.sample(50)
    assert batch.returns is not None
    th.testing.assert_close(batch.returns, batch.rewards + 0.5 * 3.0 * 2)  # outputs count 1 / (1 - 0.5)


def test_advantages_are_returns_beyond_values_by_hand(match: Any) -> None:
    agent = AWR("MlpPolicy", match.env(), gamma=0.9, **SMALL).learn_offline(match.data(50), 0)
    batch = agent.sample(3)._replace(observations=th.tensor([[-1.0], [0.0], [1.0]]))
    hidden, hidden_bias, out, out_bias = agent.policy.value.net.weights  # type: ignore[union-attr]
    with th.no_grad():
        for weight in (hidden, hidden_bias, out, out_bias):
            weight.zero_()
        hidden[0, 0, 0], hidden_bias[..., 0], out[0, 0, 0], out_bias[...] = 1.0, 2.0, 0.5, -1.0  # 0.5 (s + 2) - 1
    # Outputs count 1 / (1 - 0.9), so V is -5, 0, 5 and A 0, 0, 3: its mean 1, its deviation sqrt(2).
    metrics = agent.update(batch._replace(returns=th.tensor([-5.0, 0.0, 8.0])))
    by_hand = (2 * np.exp(-1 / np.sqrt(2)) + np.exp(2 / np.sqrt(2))) / 3
    assert float(metrics["advantage_weight"]) == pytest.approx(by_hand, rel=1e-4)


def test_experience_that_fills_the_whole_ring_gets_new_targets() -> None:
    settings = {"gamma": 0.5, "buffer_size": 6, "train_freq": 6, "gradient_steps": 1, **SMALL}
    agent = AWR("MlpPolicy", Count(), td_lambda=1.0, learning_starts=0, **settings).learn(12)
    with th.no_grad():
        last = agent.policy.value(th.tensor([[9.0], [12.0]]))[0].numpy() * agent._scale
    # The ring was written twice from its beginning; V has moved a little since the targets of 12, 11 + 12 / 2, ...
    ends = np.array([9.0, 12.0]) + 0.5 * last
    assert agent.replay_buffer.returns[[2, 5], 0] == pytest.approx(ends, abs=1.0)


def test_deviation_is_fixed(match: Any) -> None:
    agent = AWR("MlpPolicy", match.env(), action_std=0.25, **SMALL).learn_offline(match.data(), 20)
    _, log_prob = agent.actor.action_log_prob(th.zeros(2000, 1))
    assert agent.actor._log_std().exp().item() == pytest.approx(0.25)
    assert log_prob.mean().item() == pytest.approx(-0.5 - np.log(0.25) - 0.918939, abs=0.1)


def test_what_has_no_order_of_time_is_refused(match: Any) -> None:
    with pytest.raises(TypeError, match="in the order of time"):
        AWR("MlpPolicy", match.env(), n_steps=3)


@pytest.mark.parametrize(
    "bad", [{"td_lambda": 1.5}, {"refresh_interval": 0}, {"temperature": 0.0}, {"action_std": -1.0}]
)
def test_bad_settings_are_refused(match: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        AWR("MlpPolicy", match.env(), **bad)


def test_what_keeps_it_from_learning_is_said(match: Any, tmp_path: Path) -> None:
    class Bytes(match.env):  # type: ignore[misc]
        observation_space = Box(0, 255, (6,), np.uint8)

    for env, settings, says in (
        (match.env(), {"n_steps": 3}, "leave replay_buffer_class and n_steps out"),
        (VecNormalize(DummyVecEnv([match.env])), {}, "take VecNormalize off the environment"),
        (Bytes(), {}, "not whole numbers such as those of .*: make them floats"),
    ):
        with pytest.raises(TypeError, match=says):
            AWR("MlpPolicy", env, **settings)
    agent, normalised = AWR("MlpPolicy", match.env(), **SMALL), VecNormalize(DummyVecEnv([match.env]))
    agent.save(tmp_path / "agent")
    for given_later in (agent.set_env, lambda env: AWR.load(tmp_path / "agent", env=env)):
        with pytest.raises(TypeError, match="take VecNormalize off the environment"):
            given_later(normalised)
