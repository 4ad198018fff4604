from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.h2o import H2O, Discriminators, weighted_excess
from tiltyard.agents.control.replay import DATASET

SMALL: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [32]},
    "discriminator_width": 32,
    "batch_size": 64,
    "buffer_size": 2000,
    "learning_starts": 20,
    "seed": 0,
}


class Slide(gymnasium.Env[Any, Any]):
    """A simulator of s' = s + 0.1 a that slips down by 1 wherever s > 0."""

    observation_space = Box(-5, 5, (1,))
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = self.np_random.uniform(-1, 1, 1)
        return self.at.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        after = self.at + 0.1 * action - (self.at > 0)
        return after.astype(np.float32), 0.0, True, False, {}


def reality(n: int = 500) -> Transitions:
    rng = np.random.default_rng(0)
    observations, actions = (rng.uniform(-1, 1, (n, 1)).astype(np.float32) for _ in range(2))
    return Transitions(
        observations=observations,
        actions=actions,
        rewards=np.zeros(n, np.float32),
        next_observations=observations + 0.1 * actions,
        terminations=np.ones(n, np.float32),
        ends=np.ones(n, bool),
        episodes=np.arange(n),
        episode_returns=np.zeros(n),
    )


def test_weighted_excess_by_hand() -> None:
    # weights 1/4 and 3/4: log(e / 4 + 3 e^2 / 4) = 1.827988, minus the real mean 0.5
    found = weighted_excess(th.tensor([[1.0, 2.0]]), th.tensor([1.0, 3.0]), th.tensor([[0.0, 1.0]]))
    assert found.item() == pytest.approx(1.327988, abs=1e-5)


def test_discriminators_that_know_nothing_by_hand() -> None:
    made = Discriminators(2, 1, 8)
    with th.no_grad():
        for param in made.parameters():
            param.zero_()
    parts = (th.randn(6, 2), th.randn(6, 1), th.randn(6, 2))
    assert made.loss(parts, th.arange(6) < 2).item() == pytest.approx(4 * np.log(2))  # two of them on either kind
    with th.no_grad():
        list(made.following.parameters())[-1].copy_(th.tensor([0.5, -0.5]))
    # 2 tanh(0.5) - 2 tanh(-0.5) = 4 * 0.46212
    assert made.log_ratio(*parts).tolist() == pytest.approx([1.848469] * 6, abs=1e-5)


def test_batches_say_what_is_real() -> None:
    agent = H2O("MlpPolicy", Slide(), offline_ratio=0.25, **SMALL)
    data = reality()
    agent.learn_offline(data, 0)
    assert agent.n_real(64) == 64  # nothing is simulated yet
    agent.learn(19)
    batch = agent.sample(64)
    real = batch.is_from(DATASET)
    assert real.sum() == agent.n_real(64) == 16
    gap = (batch.next_observations - batch.observations - 0.1 * batch.actions)[:, 0]
    assert gap[real].abs().max() < 1e-5
    assert gap[~real].min() == pytest.approx(-1, abs=1e-5)


@pytest.mark.slow
def test_the_simulator_is_trusted_where_it_is_right() -> None:
    agent = H2O("MlpPolicy", Slide(), learning_rate=3e-3, next_state_scale=0.1, **SMALL)
    agent.learn_offline(reality(), 0).learn(500)
    simulated = agent.replayed(1000)
    with th.no_grad():
        transitions = (simulated.observations, simulated.actions, simulated.next_observations)
        log_ratio, gap = agent.discriminators.log_ratio(*transitions), agent.dynamics_gap(*transitions)
    wrong = simulated.observations[:, 0] > 0
    assert gap.shape == wrong.shape
    assert gap[wrong].mean() > gap[~wrong].mean() + 1
    assert log_ratio[wrong].mean() < log_ratio[~wrong].mean() - 1


@pytest.mark.parametrize(("sure", "trust"), [(5.0, 1.0), (0.0, 1.0), (-5.0, np.exp(-4))])
def test_no_simulated_step_counts_more_than_a_real_one(sure: float, trust: float) -> None:
    agent = H2O("MlpPolicy", Slide(), **SMALL)
    agent.learn_offline(reality(), 0).learn(30)
    *_, weight, bias = agent.discriminators.following.weights
    with th.no_grad():
        weight.zero_()
        bias[..., 0], bias[..., 1] = sure, -sure  # a log-ratio of 4 tanh(sure)
    agent.discriminator_optimizer.param_groups[0]["lr"] = 0.0
    assert agent.update(agent.sample(64))["trust"].item() == pytest.approx(trust, rel=1e-3)


class Wish(Slide):
    """A simulator that pays for going up where it is right, and ten times as much, wrongly, where it is not."""

    def step(self, action: Any) -> Any:
        after, _, ended, cut_off, info = super().step(action)
        return after, float(np.where(self.at[0] > 0, 10.0, action[0])), ended, cut_off, info


@pytest.mark.slow
def test_penalty_and_weights_keep_values_of_wrong_states_down() -> None:
    def value(**settings: Any) -> float:
        agent = H2O("MlpPolicy", Wish(), learning_rate=3e-3, next_state_scale=0.1, **settings, **SMALL)
        agent.learn_offline(reality(), 0).learn(400)
        with th.no_grad():
            observations = th.linspace(0.2, 1, 20).view(-1, 1)
            return float(agent.critic(observations, agent.actor(observations, True)).mean())

    weighted, penalised = value(beta=0.0), value(beta=1.0)
    assert weighted < 2.5  # averaging both kinds of transition as they are would make 5 of 10 and 0
    assert penalised < weighted - 0.2


def test_learns_from_data_alone_until_simulation_begins(tmp_path: Path) -> None:
    agent = H2O("MlpPolicy", Slide(), **SMALL)
    before = [param.clone() for param in agent.discriminators.parameters()]
    agent.learn_offline(reality(), 3)
    assert all(one.equal(two) for one, two in zip(before, agent.discriminators.parameters(), strict=True))
    agent.learn(40)
    assert not any(one.equal(two) for one, two in zip(before, agent.discriminators.parameters(), strict=True))
    agent.save(tmp_path / "agent")
    loaded = H2O.load(tmp_path / "agent", env=Slide())
    for one, two in zip(agent.discriminators.parameters(), loaded.discriminators.parameters(), strict=True):
        assert one.equal(two)
    with pytest.raises(ValueError, match="H2O learns from data"):
        loaded.learn(5)
    with pytest.raises(ValueError, match="H2O has no real data"):
        loaded.sample(8)
    loaded.learn_offline(reality(), 0).learn(30)


@pytest.mark.parametrize("setting", [{"beta": -1.0}, {"n_next_states": 0}, {"next_state_scale": -0.1}])
def test_bad_settings_are_refused(setting: Any) -> None:
    with pytest.raises(ValueError, match=f"H2O: {next(iter(setting))} must be"):
        H2O("MlpPolicy", Slide(), **SMALL, **setting)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_both_kinds_of_transition_are_needed(ratio: float) -> None:
    with pytest.raises(ValueError, match="compares real and simulated transitions"):
        H2O("MlpPolicy", Slide(), offline_ratio=ratio, **SMALL)


def test_returns_of_several_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="leave n_steps at 1"):
        H2O("MlpPolicy", Slide(), n_steps=3, **SMALL)
