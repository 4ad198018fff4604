from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents import BC, FDVL, IQL, make
from tiltyard.agents.control.iql import advantage_weight, expectile_loss
from tiltyard.agents.control.replay import Batch

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0}


def test_expectile_loss_by_hand() -> None:
    error = th.tensor([2.0, -2.0, 0.0])
    assert expectile_loss(error, 0.7).tolist() == pytest.approx([0.7 * 4, 0.3 * 4, 0])


def test_the_expectile_lies_between_mean_and_best() -> None:
    # Of 0 and 1, equally often: 0.9 (1 - v) = 0.1 v at v = 0.9.
    q, v = th.tensor([0.0, 1.0]), th.tensor(0.9, requires_grad=True)
    expectile_loss(q - v, 0.9).mean().backward()
    assert v.grad is not None
    assert v.grad.item() == pytest.approx(0, abs=1e-6)


def test_weights_by_hand() -> None:
    assert advantage_weight(th.tensor([0.0, 0.5, 9.0]), 2.0, 100.0).tolist() == pytest.approx([1, 2.71828, 100])


def constant(network: Any, *values: float) -> None:
    """Makes each member of an ensemble give one value everywhere."""
    with th.no_grad():
        for weight in network.net.weights:
            weight.zero_()
        network.net.weights[-1][:, 0, 0] = th.tensor(values)


def test_an_update_by_hand(match: Any) -> None:
    # Target critics 3 and 5, V 1: u = 3 - 1 = 2, L_V = 0.7 * 4. Critics 0 and 4 on r + 0.5 V(s') = 2.5 (V stays put,
    # at a learning rate of 0): (2.5^2 + 1.5^2) / 2. The actor's mean is 0 and its deviation 1:
    # log pi(0.5) = -0.5 * 0.25 - 0.5 log(2 pi) = -1.04394; its weight is min(exp(3 * 2), 100) = 100.
    agent = IQL("MlpPolicy", match.env(), **SMALL | {"learning_rate": 0.0})
    constant(agent.critic_target, 3.0, 5.0)
    constant(agent.critic, 0.0, 4.0)
    constant(agent.policy.value, 1.0)
    with th.no_grad():
        for weight in agent.actor.net.weights:
            weight.zero_()
    one = th.ones(1, 1)
    batch = Batch(one, 0.5 * one, th.tensor([2.0]), one, th.tensor([0.5]))
    found = {name: value.item() for name, value in agent.update(batch).items()}
    assert found["value_loss"] == pytest.approx(2.8)
    assert found["critic_loss"] == pytest.approx((2.5**2 + 1.5**2) / 2)
    assert found["actor_loss"] == pytest.approx(104.394, abs=1e-3)


@pytest.mark.parametrize("kind", [IQL, FDVL])
def test_shifted_rewards_are_of_single_steps(match: Any, kind: Any) -> None:
    with pytest.raises(ValueError, match="n_steps=3 adds up several steps as one: give n_steps=1, or reward_shift=0"):
        kind("MlpPolicy", match.env(), reward_shift=-1.0, n_steps=3, **SMALL)
    agent, data = kind("MlpPolicy", match.env(), n_steps=3, **SMALL), match.data()
    sparse = replace(data, rewards=(np.arange(len(data)) % 2).astype(np.float32))
    with pytest.raises(ValueError, match="give n_steps=1, or reward_shift=0"):
        agent.learn_offline(sparse, 0)
    assert agent.demonstrations is None
    agent.learn_offline(data, 0)


def test_settings_set_later_hold(match: Any) -> None:
    agent = IQL("MlpPolicy", match.env(), **SMALL).learn_offline(match.data(), 0)
    agent.beta, agent.weight_limit = 0.0, 0.5
    assert agent.update(agent.sample(8))["advantage_weight"].item() == 0.5  # of exp(0), cut to the limit


def test_finds_the_best_actions_of_the_data(match: Any) -> None:
    settings = SMALL | {"beta": 10.0}
    assert match.error(BC("MlpPolicy", match.env(), **SMALL).learn_offline(match.data(), 200)) > 0.25
    assert match.error(IQL("MlpPolicy", match.env(), **settings).learn_offline(match.data(), 400)) < 0.06


def test_goes_on_online_with_the_data_in_the_mix(match: Any) -> None:
    agent = IQL("MlpPolicy", match.env(), beta=10.0, learning_starts=50, offline_ratio=0.25, **SMALL)
    agent.learn_offline(match.data(), 100)
    before = match.error(agent)
    agent.learn(300)
    assert agent.num_timesteps == 300
    assert match.error(agent) < before
    known = {float(value) for value in agent.demonstrations.rows[:, 0]}  # type: ignore[union-attr]
    drawn = agent.sample(400).observations[:, 0].tolist()
    assert sum(value in known for value in drawn) == pytest.approx(100, abs=1)


def test_taught_agents_begin_online_without_random_actions(match: Any) -> None:
    taught, untaught = (
        IQL("MlpPolicy", match.env(), learning_starts=40, **SMALL).learn_offline(match.data(), updates)
        for updates in (400, 0)
    )
    for agent in (taught, untaught):
        agent.actor.log_std_range = (-5.0, -5.0)  # all but deterministic
        agent.learn(30)
    rewards = [agent.replay_buffer.rewards[:30].mean() for agent in (taught, untaught)]
    assert rewards[0] > rewards[1] + 0.2


def test_rewards_are_scaled_by_the_datas_range_of_returns(match: Any, tmp_path: Path) -> None:
    data = match.data(500)
    data.episode_returns[:] = 0
    data.episode_returns[3] = 25.0
    agent = IQL("MlpPolicy", match.env(), reward_scale="auto", **SMALL).learn_offline(data, 1)
    assert agent.reward_factor.item() == 40.0  # 1000 / 25
    agent.save(tmp_path / "agent")
    assert IQL.load(tmp_path / "agent").reward_factor.item() == 40.0
    for returns, factor in ((8.0, 125.0), (0.0, 1.0)):  # all equal: 1000 / 8, not 1000 / 0
        data.episode_returns[:] = returns
        assert agent.learn_offline(data, 0).reward_factor.item() == factor
    data.episode_returns[:2] = -10, 30
    assert agent.learn_offline(data, 0).reward_factor.item() == 25.0  # 1000 / 40


def test_sparse_rewards_are_shifted_by_minus_one_and_not_scaled(match: Any, tmp_path: Path) -> None:
    data = match.data(40)
    data.rewards[:], data.episode_returns[:] = 0, 0
    data.rewards[:4] = data.episode_returns[:4] = 1
    agent = IQL("MlpPolicy", match.env(), reward_scale="auto", **SMALL).learn_offline(data, 0)
    assert (agent.reward_offset.item(), agent.reward_factor.item()) == (-1.0, 1.0)
    agent.save(tmp_path / "agent")
    assert IQL.load(tmp_path / "agent").reward_offset.item() == -1.0
    data.rewards[0] = 0.5  # not sparse any more
    assert agent.learn_offline(data, 0).reward_offset.item() == 0.0
    data.rewards[:] = 1  # all alike: nothing says success
    assert agent.learn_offline(data, 0).reward_offset.item() == 0.0
    chosen = IQL("MlpPolicy", match.env(), reward_shift=-0.25, **SMALL).learn_offline(data, 0)
    assert chosen.reward_offset.item() == -0.25


def test_values_of_shifted_rewards_by_hand(match: Any) -> None:
    data = match.data(64)
    data.rewards[:] = np.arange(64) % 2  # 0 or 1, an episode a step: a shifted Q is -1 or 0
    agent = IQL("MlpPolicy", match.env(), **{**SMALL, "learning_rate": 1e-2}).learn_offline(data, 300)
    batch = agent.demonstrated(64)
    with th.no_grad():
        error = agent.critic(batch.observations, batch.actions) - (batch.rewards - 1)
        unshifted = agent.critic(batch.observations, batch.actions) - batch.rewards
    assert error.square().mean() < 0.5 < unshifted.square().mean()


def test_layers_begin_orthogonally(match: Any) -> None:
    agent = IQL("MlpPolicy", match.env(), **SMALL)
    for net in (agent.actor.net, agent.critic.net, agent.policy.value.net):
        *hidden, last, bias = net.weights
        assert not bias.any()
        assert not hidden[1].any()
        assert last[0].norm().item() == pytest.approx(2**0.5, rel=1e-5)  # one column of length sqrt(2)
        product = (hidden[0][0] @ hidden[0][0].T).detach()
        th.testing.assert_close(product, 2 * th.eye(len(product)))


def test_cosine_schedule_is_the_actors_offline_alone(match: Any) -> None:
    agent = IQL("MlpPolicy", match.env(), **SMALL)
    rates: list[tuple[float, float]] = []

    def note(*_: Any) -> bool:
        rates.append(tuple(network.optimizer.param_groups[0]["lr"] for network in (agent.actor, agent.critic)))  # type: ignore[arg-type]
        return True

    agent.learn_offline(match.data(100), 4, callback=note)
    assert [actor / critic for actor, critic in rates] == pytest.approx([1, 0.853553, 0.5, 0.146447], abs=1e-5)
    agent.learn(120, callback=note)
    assert rates[-1][0] == rates[-1][1] == 3e-3


def test_the_row_of_trajectory_weighting_is_iql_with_its_sampler() -> None:
    agent = make("trajectory-weighting", "tiltyard/Hopper-v5", buffer_size=10, n_envs=1)
    assert (type(agent), agent.sampler, agent.reward_scale) == (IQL, "advantage-weighting", "auto")  # type: ignore[attr-defined]


@pytest.mark.parametrize("bad", [{"expectile": 1.0}, {"reward_scale": "best"}, {"reward_scale": -1.0}])
def test_bad_settings_are_refused(match: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        IQL("MlpPolicy", match.env(), **bad)
