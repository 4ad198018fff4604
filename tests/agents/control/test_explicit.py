"""What is written out has the gradients that autograd finds, in every agent that takes its steps so."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from tiltyard.agents import SAC, TD3
from tiltyard.agents.control.explicit import least
from tiltyard.agents.control.heads import make_head
from tiltyard.agents.control.networks import Network

sys.path.insert(0, str(Path(__file__).parent))
from written_out import AGENTS, KINDS, RANGE, batches, made

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    th.set_default_dtype(th.float64)
    yield
    th.set_default_dtype(th.float32)


def graphs(agent: Any) -> Any:
    """The agent, with autograd left on."""
    for network in agent.networks:
        network.learns_features = True
    return agent


def test_sac_and_its_relatives_take_this_path() -> None:
    assert {"SAC", "TD3", "TD3BC", "IQL", "FDVL", "AWAC", "CQL", "CalQL", "DSACT"} <= AGENTS.keys()


@each_kind
def test_gradients_are_autograds(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, checked = graphs(made(kind)), []

    def descend(self: Network, loss: Tensor, gradients: list[Tensor]) -> Tensor:
        parameters = self.optimizer.param_groups[0]["params"]
        expected = th.autograd.grad(loss, parameters)
        for found, wanted in zip(gradients, expected, strict=True):
            th.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)
        assert all(wanted.any() for wanted in expected)
        checked.append(self)
        self.optimizer.apply([wanted.detach() for wanted in expected])  # type: ignore[operator]
        return loss.detach()

    monkeypatch.setattr(Network, "descend", descend)
    for batch in batches(agent, 4):
        agent.update(batch)
    assert {id(network) for network in checked} == {id(network) for network in agent.networks}


@each_kind
def test_steps_are_those_of_autograd(kind: str) -> None:
    one, other = made(kind), graphs(made(kind))
    before = {name: parameter.clone() for name, parameter in one.policy.state_dict().items()}
    th.manual_seed(3)
    drawn = list(batches(one, 12))
    one._n_updates = 0
    for agent in (one, other):
        for seed, batch in enumerate(drawn):
            th.manual_seed(seed)
            metrics = agent.update(batch)
            agent._n_updates += 1
            assert all(th.isfinite(value).all() for value in metrics.values())
    for name, parameter in one.policy.state_dict().items():
        th.testing.assert_close(parameter, other.policy.state_dict()[name], rtol=1e-8, atol=1e-9, msg=name)
    assert not th.equal(before["actor.net.weights.0"], one.actor.net.weights[0])


@each_kind
def test_no_graph_is_built(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def backward(self: Tensor, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("autograd has run")

    monkeypatch.setattr(Tensor, "backward", backward)
    agent = made(kind)
    for batch in batches(agent, 2):
        assert not any(value.requires_grad for value in agent.update(batch).values())


def test_a_targets_members_alone_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = made("RLPD")
    batch, members = next(iter(batches(agent, 1))), th.tensor([3, 1])
    with th.no_grad():
        every = agent.critic_target(batch.next_observations, batch.actions)
        th.testing.assert_close(least(agent.critic_target, batch.next_observations, batch.actions), every.amin(0))
    sizes, value = [], agent.critic_target.head.value

    def seen(out: Tensor) -> Tensor:
        sizes.append(len(out))
        return value(out)

    monkeypatch.setattr(agent.critic_target.head, "value", seen)
    found = least(agent.critic_target, batch.next_observations, batch.actions, members)
    th.testing.assert_close(found, every[members].amin(0))
    assert not th.equal(found, every[:2].amin(0))
    assert sizes == [2]


@pytest.mark.parametrize("name", ["mse", "gaussian", "two-hot", "hl-gauss", "quantile"])
def test_slopes_of_heads_are_autograds(name: str) -> None:
    head = make_head(name, 2, **(RANGE if name in ("two-hot", "hl-gauss") else {})).double()
    out, target = th.randn(2, 5, head.n_out, requires_grad=True), 5 * th.randn(5)
    for value, slope in (
        (head.value(out), head.value_slope(out)),
        (head.loss(out, target), head.loss_slope(out, target)),
    ):
        (expected,) = th.autograd.grad(value.sum(), out)
        th.testing.assert_close(slope, expected, rtol=1e-10, atol=1e-12)


def test_other_optimisers_step_along_the_same_gradients() -> None:
    ours, theirs = (made("SAC"), made("SAC"))
    for network in theirs.networks:
        network.optimizer = th.optim.Adam(network.optimizer.param_groups[0]["params"], lr=3e-4)
    for agent in (ours, theirs):
        agent.demonstrations.rows = ours.demonstrations.rows
        th.manual_seed(0)
        for batch in batches(agent, 5):
            agent.update(batch)
    for name, parameter in ours.policy.state_dict().items():
        th.testing.assert_close(parameter, theirs.policy.state_dict()[name], rtol=1e-8, atol=1e-10, msg=name)


class Linear(BaseFeaturesExtractor):
    """Features that learn."""

    def __init__(self, observation_space: Box) -> None:
        super().__init__(observation_space, 4)
        self.layer = nn.Linear(3, 4)

    def forward(self, observations: Tensor) -> Tensor:
        return self.layer(observations)


@pytest.mark.parametrize("made_class", [SAC, TD3])
def test_an_extractor_that_learns_gets_autograds_gradients(made_class: Any) -> None:
    th.set_default_dtype(th.float32)
    kwargs = {"features_extractor_class": Linear, "net_arch": [16]}
    agent = made_class("MlpPolicy", "Pendulum-v1", policy_kwargs=kwargs, learning_starts=20, seed=0).learn(20)
    before = [network.features_extractor.layer.weight.clone() for network in (agent.actor, agent.critic)]
    for _ in range(2):
        agent.update(agent.sample(16))
        agent._n_updates += 1
    for network, weight in zip((agent.actor, agent.critic), before, strict=True):
        assert not th.equal(network.features_extractor.layer.weight, weight)
    with pytest.raises(ValueError, match="without an extractor"):
        made_class("MlpPolicy", "Pendulum-v1", policy_kwargs=kwargs, compiled=True)
