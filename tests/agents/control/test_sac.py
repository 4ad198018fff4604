"""The fast SAC against a readable one of torch's own layers, and its settings."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stable_baselines3 as sb3
import torch as th
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import set_random_seed
from torch import nn
from torch.distributions import Normal

from tiltyard.agents import SAC, make
from tiltyard.agents.control.explicit import least
from tiltyard.agents.control.replay import Batch
from tiltyard.agents.control.soft import drawn_members
from tiltyard.agents.control.updates import Mlp
from tiltyard.agents.optimizers import FusedAdam

sys.path.insert(0, str(Path(__file__).parent))
from beside_sb3 import constant_noise, copy_networks

SMALL: dict[str, Any] = {"learning_starts": 20, "batch_size": 16, "buffer_size": 2000, "seed": 0}


def linear_layers(net: Mlp, member: int) -> nn.Sequential:
    weights = list(net.weights)
    layers: list[nn.Module] = []
    for weight, bias in zip(weights[::2], weights[1::2], strict=True):
        layer = nn.Linear(*weight.shape[1:])
        layer.weight.data, layer.bias.data = weight[member].detach().T.clone(), bias[member, 0].detach().clone()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class ReadableSAC:
    """The algorithm as a textbook has it: one network an object, autograd for everything, torch's own Adam."""

    def __init__(self, agent: SAC) -> None:
        self.actor = linear_layers(agent.actor.net, 0)
        self.critics = [linear_layers(agent.critic.net, i) for i in range(2)]
        self.targets = [linear_layers(agent.critic_target.net, i) for i in range(2)]
        self.log_alpha = agent.log_ent_coef.detach().clone().requires_grad_()
        critic_params = [param for critic in self.critics for param in critic.parameters()]
        eps = agent.actor.optimizer.param_groups[0]["eps"]
        self.actor_optimizer = th.optim.Adam(self.actor.parameters(), lr=3e-4, eps=eps)
        self.critic_optimizer = th.optim.Adam(critic_params, lr=3e-4, eps=eps)
        self.alpha_optimizer = th.optim.Adam([self.log_alpha], lr=3e-4)

    def act(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        mean, log_std = self.actor(observations).chunk(2, dim=1)
        std = log_std.clamp(-20, 2).exp()
        raw = mean + std * th.randn_like(mean)
        actions = raw.tanh()
        log_prob = Normal(mean, std).log_prob(raw) - th.log(1 - actions**2 + 1e-6)
        return actions, log_prob.sum(1)

    def update(self, batch: Batch) -> None:
        alpha = self.log_alpha.exp().detach()
        with th.no_grad():
            actions, log_prob = self.act(batch.next_observations)
            x = th.cat([batch.next_observations, actions], 1)
            value = th.min(*(target(x) for target in self.targets))[:, 0] - alpha * log_prob
            y = batch.rewards + batch.discounts * value
        x = th.cat([batch.observations, batch.actions], 1)
        loss = sum(0.5 * ((critic(x)[:, 0] - y) ** 2).mean() for critic in self.critics)
        self.critic_optimizer.zero_grad()
        loss.backward()  # type: ignore[union-attr]
        self.critic_optimizer.step()
        for critic, target in zip(self.critics, self.targets, strict=True):
            for param, slow in zip(critic.parameters(), target.parameters(), strict=True):
                slow.data += 0.005 * (param.data - slow.data)
        actions, log_prob = self.act(batch.observations)
        x = th.cat([batch.observations, actions], 1)
        q = th.min(*(critic(x) for critic in self.critics))[:, 0]
        self.actor_optimizer.zero_grad()
        (alpha * log_prob - q).mean().backward()
        self.actor_optimizer.step()
        self.alpha_optimizer.zero_grad()
        (-self.log_alpha * (log_prob.detach() - actions.shape[1]).mean()).backward()
        self.alpha_optimizer.step()


@pytest.mark.parametrize(
    ("dtype", "eps", "tolerance", "updates"), [(th.float32, 1e-4, 1e-5, 10), (th.float64, 1e-8, 1e-11, 100)]
)
def test_updates_equal_those_of_the_readable_one(dtype: th.dtype, eps: float, tolerance: float, updates: int) -> None:
    # With its default eps Adam takes a whole step along any gradient, even one that is nothing but rounding: in fp32 no
    # two orders of summation stay together then, so the comparison with the paper's eps is in fp64. Even with a larger
    # eps rounding grows from update to update, by how much depends on the processor: a hundred are for fp64 alone.
    settings: dict[str, Any] = {"learning_starts": 300, "seed": 0, "device": "cpu"}
    agent = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"optimizer_kwargs": {"eps": eps}}, **settings).learn(300)
    agent.policy.to(dtype)
    agent.log_ent_coef.data = agent.log_ent_coef.data.to(dtype)
    agent._pair_targets()
    th.set_default_dtype(dtype)  # of drawn noise
    readable = ReadableSAC(agent)
    for seed in range(updates):
        batch = as_type(agent.sample(256), dtype)
        for update in (agent.update, readable.update):
            set_random_seed(seed)
            update(batch)
    batch = as_type(agent.sample(256), dtype)
    x = th.cat([batch.observations, batch.actions], 1)
    for i in range(2):
        for fast, slow in ((agent.critic, readable.critics), (agent.critic_target, readable.targets)):
            assert_near(fast.net(x)[i], slow[i](x), tolerance)
    assert_near(agent.actor.out(batch.observations), readable.actor(batch.observations), tolerance)
    assert_near(agent.log_ent_coef, readable.log_alpha, tolerance)
    th.set_default_dtype(th.float32)
    moved = (agent.critic.net(x) - agent.critic_target.net(x)).abs().max()
    assert moved > updates / 1000  # there was something to get wrong


def as_type(batch: Batch, dtype: th.dtype) -> Batch:
    return Batch(*(None if part is None else part.to(dtype) for part in batch))


def assert_near(found: th.Tensor, expected: th.Tensor, tolerance: float) -> None:
    assert (found - expected).norm() < tolerance * expected.norm()


def test_drawn_actions_by_hand() -> None:
    # Mean 0.5, log std log 0.2, noise 1: tanh(0.7) = 0.604368; log N = -0.5 + log 5 - 0.918939 = 0.190499, minus
    # log(1 - 0.365260 + 1e-6) = -0.454541: 0.645040.
    agent = SAC("MlpPolicy", "Pendulum-v1", **SMALL)
    *_, weight, bias = agent.actor.net.weights
    weight.data.zero_()
    bias.data.copy_(th.tensor([[[0.5, np.log(0.2)]]]))
    action = th.tensor([[0.604368]])
    assert agent.actor.log_prob(th.zeros(1, 3), action).item() == pytest.approx(0.645040, abs=1e-4)
    assert agent.predict(np.zeros(3, np.float32), deterministic=True)[0] == pytest.approx(2 * np.tanh(0.5), abs=1e-6)
    th.manual_seed(0)
    drawn, log_prob = agent.actor.action_log_prob(th.zeros(1000, 3))
    th.testing.assert_close(log_prob, agent.actor.log_prob(th.zeros(1000, 3), drawn), rtol=1e-3, atol=1e-3)


def test_update_follows_the_order_of_sb3() -> None:
    """With equal networks and equal draws, our update is theirs."""
    theirs = sb3.SAC("MlpPolicy", "Pendulum-v1", learning_starts=300, seed=0, device="cpu")
    theirs.learn(300)
    ours = SAC("MlpPolicy", "Pendulum-v1", learning_starts=300, seed=0, device="cpu")
    copy_networks(theirs, ours)
    drawn = theirs.replay_buffer.sample(64)
    batch = Batch(
        drawn.observations, drawn.actions, drawn.rewards[:, 0], drawn.next_observations, 0.99 * (1 - drawn.dones[:, 0])
    )
    theirs.replay_buffer.sample = lambda *args, **kwargs: drawn
    theirs.set_logger(configure(None, []))
    noise = th.randn(2, 64, 1)
    with constant_noise(noise[0], noise[1]):  # they draw for the actor first
        theirs.train(1, 64)
    with constant_noise(noise[1], noise[0]):
        ours.update(batch)
    for critic, i in ((theirs.critic, 0), (theirs.critic, 1), (theirs.critic_target, 0)):
        expected = critic.q_networks[i](th.cat([drawn.observations, drawn.actions], 1))
        mine = (ours.critic if critic is theirs.critic else ours.critic_target).net
        found = mine(th.cat([drawn.observations, drawn.actions], 1))[i]
        th.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    mean, log_std, _ = theirs.actor.get_action_dist_params(drawn.observations)
    th.testing.assert_close(ours.actor.out(drawn.observations), th.cat([mean, log_std], 1), rtol=1e-4, atol=1e-5)
    th.testing.assert_close(ours.log_ent_coef, theirs.log_ent_coef)


def test_rlpd_settings_take_a_subset_of_layer_normed_critics() -> None:
    agent = make("serl", "Pendulum-v1", **SMALL)
    assert agent.critic.net.n == 10
    assert agent.critic.net.plan.layer_norm
    assert agent.offline_ratio == 0.5
    with th.no_grad():
        agent.critic_target.net.weights[-1].copy_(th.arange(10.0).view(10, 1, 1))
        agent.critic_target.net.weights[-2].zero_()
    subsets = [drawn_members(2, agent.critic) for _ in range(200)]
    values = {least(agent.critic_target, th.zeros(1, 3), th.zeros(1, 1), two).item() for two in subsets}
    assert values == set(range(9))  # the least of two drawn critics: any but the last


def test_bf16_learns_the_same_kind_of_numbers() -> None:
    exact, rough = (
        SAC("MlpPolicy", "Pendulum-v1", matmul_precision=name, **SMALL).learn(60) for name in ("fp32", "bf16")
    )
    x = exact.sample(64)
    one, other = exact.critic(x.observations, x.actions), rough.critic(x.observations, x.actions)
    assert not th.equal(one, other)
    assert (one - other).abs().mean() < 0.2 * one.abs().mean()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"actor_objective": "max"}, "unknown actor_objective 'max'; did you mean"),
        ({"policy_delay": 0}, "policy_delay must be a whole number of at least 1, got 0"),
        ({"critic_subset": 3}, "critic_subset must be between 1 and the 2 critics"),
        ({"matmul_precision": "fp8"}, "unknown matmul_precision 'fp8'"),
        ({"offline_ratio": 1.5}, "offline_ratio must be a number from 0 to 1 or None"),
        ({"policy_kwargs": {"critic_head": "hl-gaus"}}, "unknown critic_head 'hl-gaus'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SAC("MlpPolicy", "Pendulum-v1", **SMALL, **settings)


def test_actor_and_temperature_move_every_policy_delay_updates() -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", policy_delay=3, **SMALL).learn(22)
    assert agent._n_updates == 2
    assert agent.log_ent_coef.item() == 0
    agent.train(1, 16)
    assert agent.log_ent_coef.item() != 0


def test_training_goes_on_as_if_never_saved(tmp_path: Path) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", **SMALL).learn(41)
    agent.save(tmp_path / "agent")
    agent.save_replay_buffer(tmp_path / "buffer")
    loaded = SAC.load(tmp_path / "agent", env="Pendulum-v1")
    loaded.load_replay_buffer(tmp_path / "buffer")
    loaded.set_logger(agent.logger)
    for each in (agent, loaded):
        set_random_seed(7)
        each.train(gradient_steps=4, batch_size=16)
    for key, parameter in agent.policy.state_dict().items():
        assert th.equal(parameter, loaded.policy.state_dict()[key]), key
    assert isinstance(loaded.ent_coef_optimizer, FusedAdam)
    assert agent.log_ent_coef.item() == loaded.log_ent_coef.item()


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("offline_ratio", 5, "offline_ratio must be a number from 0 to 1 or None, got 5"),
        ("gamma", 5, "gamma must be a number from 0 to 1, got 5"),
        ("critic_subset", 50, "critic_subset must be between 1 and the 2 critics, got 50"),
        ("batch_size", "8", "batch_size must be a whole number of at least 1, got '8'"),
        ("sampler", "foo", "unknown sampler 'foo'"),
    ],
)
def test_a_setting_changed_later_is_checked(setting: str, value: Any, says: str) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", buffer_size=100, policy_kwargs={"net_arch": [8]})
    before = getattr(agent, setting)
    with pytest.raises(ValueError, match=says):
        setattr(agent, setting, value)
    assert getattr(agent, setting) == getattr(agent.settings, setting) == before


def test_a_setting_changed_later_holds() -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", buffer_size=100, policy_kwargs={"net_arch": [8]})
    agent.gamma, agent.offline_ratio = 0.5, None
    assert (agent.gamma, agent.settings.gamma, agent.settings.offline_ratio) == (0.5, 0.5, None)
