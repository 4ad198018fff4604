"""Chains of denoising steps: their densities, the SDE's marginals, and advantages over chunks of actions."""

import math
from typing import Any

import pytest
import torch as th
from torch import Tensor, nn

from tiltyard.agents.control.on_policy.flow import (
    FlowNetwork,
    NoiseChain,
    SDEChain,
    chunk_advantages,
    flow_matching_loss,
    follow_ode,
    sde_drift,
    sde_sigma,
)
from tiltyard.agents.control.on_policy.rollout import advantages_of

MEAN, STD = 0.8, 0.3  # of the normal data whose velocity is known


class Known(nn.Module):
    """The velocity E[x_1 - x_0 | x_t] of data ``N(MEAN, STD^2)``."""

    def forward(self, features: Tensor, x: Tensor, time: Tensor) -> Tensor:
        variance = (time * STD) ** 2 + (1 - time) ** 2
        return MEAN + (time * STD**2 - (1 - time)) / variance * (x - time * MEAN)


class Constant(nn.Module):
    """A velocity of 1."""

    def forward(self, features: Tensor, x: Tensor, time: Tensor) -> Tensor:
        return th.ones_like(x)


def network(noise_range: tuple[float, float] | None = None) -> FlowNetwork:
    th.manual_seed(0)
    return FlowNetwork(3, 2, [16], nn.SiLU, noise_range)


def test_a_step_of_the_sde_by_hand() -> None:
    """a = 0.5, K = 2. At t = 1/2 sigma is 0.5, the drift 1 - 0.25 / 1 (0.4 - 0.5) = 1.025 and the mean 0.4 + 0.5125.

    At t = 0 sigma^2 is 0.25 / 0.5, the drift 1 - 0.25 * 0.4 = 0.9 and the mean 0.4 + 0.45.
    """
    chain: Any = SDEChain(Constant(), 2, 0.5)  # type: ignore[arg-type]
    x, features = th.full((2, 1), 0.4), th.zeros(2, 3)
    mean, std = chain.step(features, x, th.tensor([1.0, 0.0]), th.tensor([True, True]))
    assert mean.flatten().tolist() == pytest.approx([0.9125, 0.85])
    assert std.flatten().tolist() == pytest.approx([0.5 * 0.5**0.5, 0.5**0.5 * 0.5**0.5])
    mean, std = chain.step(features, x, th.tensor([1.0, 0.0]), th.tensor([False, False]))
    assert mean.flatten().tolist() == pytest.approx([0.9, 0.9])
    assert std.flatten().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("k", range(4))
def test_the_sde_is_that_of_the_authors_code(k: int) -> None:
    """There time runs from 1 (noise) to 0, and a mean weighs the data and the noise that the velocity points to."""
    th.manual_seed(0)
    steps, level = 4, 0.7
    x, velocity = th.randn(5, 2), th.randn(5, 2)
    t, delta = 1 - k / steps, 1 / steps
    sigma = level * math.sqrt(t / (1 - (t if t < 1 else 1 - delta)))
    data, noise = x + velocity * t, x - velocity * (1 - t)
    wanted = data * (1 - (t - delta)) + noise * (t - delta - sigma**2 * delta / (2 * t))
    time = th.full((5, 1), k / steps)
    found = sde_sigma(time, delta, level)
    assert found.flatten().tolist() == pytest.approx([sigma] * 5)
    th.testing.assert_close(x + delta * sde_drift(x, velocity, time, found), wanted)


def test_the_log_probability_of_a_noise_chain_is_the_sum_of_its_gaussians() -> None:
    """Brute force: every step of every chain and dimension by torch's own density."""
    net, steps = network((0.1, 0.4)), 5
    chain, features = NoiseChain(net, steps), th.randn(6, 3)
    with th.no_grad():
        chains, _ = chain.sample(features, th.randn(6, 2))
        logp, entropy = chain.logp(features, chains, th.zeros(6, dtype=th.int64))
        assert chains.shape == (6, steps + 1, 2)
        for i in range(6):
            wanted, spread = 0.0, 0.0
            for k in range(steps):
                hidden = net.hidden(features[i : i + 1], chains[i : i + 1, k], th.full((1, 1), k / steps))
                std, velocity = net.noise_std(hidden)[0], net.velocity(hidden)[0]
                assert bool(((std > 0.1) & (std < 0.4)).all())
                for d in range(2):
                    step = th.distributions.Normal(chains[i, k, d] + velocity[d] / steps, std[d])
                    wanted += float(step.log_prob(chains[i, k + 1, d]))
                    spread += float(step.entropy())
            assert float(logp[i]) == pytest.approx(wanted, rel=1e-4)
            assert float(entropy[i]) == pytest.approx(spread, rel=1e-4)


def test_the_log_probability_of_an_sde_chain_is_that_of_its_noisy_step() -> None:
    net, steps, level = network(), 4, 0.6
    chain, features = SDEChain(net, steps, level), th.randn(200, 3)
    with th.no_grad():
        chains, noisy = chain.sample(features, th.randn(200, 2))
        logp, entropy = chain.logp(features, chains, noisy)
        assert sorted(set(noisy.tolist())) == [0, 1, 2, 3]
        assert entropy.tolist() == [0.0] * 200
        for i in range(200):
            for k in range(steps):
                x, time = chains[i : i + 1, k], th.full((1, 1), k / steps)
                euler = x + net(features[i : i + 1], x, time) / steps
                if k != noisy[i]:
                    th.testing.assert_close(chains[i, k + 1], euler[0])
                    continue
                sigma = sde_sigma(time, 1 / steps, level)
                drift = sde_drift(x, net(features[i : i + 1], x, time), time, sigma)
                step = th.distributions.Normal(x + drift / steps, sigma / steps**0.5)
                assert float(logp[i]) == pytest.approx(float(step.log_prob(chains[i, k + 1]).sum()), rel=1e-4)


def sde_samples(chain: SDEChain, number: int, drift: Any = sde_drift) -> Tensor:
    """Samples of the SDE at every step, written out, with any drift."""
    x = th.randn(number, 1, dtype=th.float64)
    for k in range(chain.steps):
        time = th.full((number, 1), k / chain.steps, dtype=th.float64)
        sigma = sde_sigma(time, 1 / chain.steps, chain.noise_level)
        velocity = chain.network(th.zeros(number, 0), x, time)
        x = x + drift(x, velocity, time, sigma) / chain.steps + sigma / chain.steps**0.5 * th.randn_like(x)
    return x


def gap(one: Tensor, other: Tensor) -> float:
    """By how many of the bounds means or deviations differ: 4 standard errors and 0.01 for Euler's steps."""
    n = len(one)
    of_mean, of_std = 4 * STD * (2 / n) ** 0.5 + 0.01, 4 * STD / n**0.5 + 0.01
    return max(abs(float(one.mean() - other.mean())) / of_mean, abs(float(one.std() - other.std())) / of_std)


def test_the_sde_has_the_odes_marginals_and_other_drifts_have_not() -> None:
    th.manual_seed(0)
    number, steps = 40_000, 128
    chain = SDEChain(Known(), steps, 0.5)  # type: ignore[arg-type]
    start, nothing = th.randn(number, 1, dtype=th.float64), th.zeros(number, 0)
    ode = follow_ode(chain.network, nothing, start, steps)
    assert float(ode.mean()) == pytest.approx(MEAN, abs=0.02)
    assert float(ode.std()) == pytest.approx(STD, abs=0.02)
    every = th.ones(number, steps, dtype=th.bool)
    chains, _ = chain.sample(nothing, start, every)
    assert gap(chains[:, -1], ode) < 1
    assert gap(sde_samples(chain, number), ode) < 1
    hybrid, _ = chain.sample(nothing, start)
    assert gap(hybrid[:, -1], ode) < 1
    wrong = {
        "none": lambda x, v, t, sigma: v,
        "opposite": lambda x, v, t, sigma: 2 * v - sde_drift(x, v, t, sigma),
        "twice": lambda x, v, t, sigma: 2 * sde_drift(x, v, t, sigma) - v,
        "towards 0": lambda x, v, t, sigma: v - sigma.square() / (2 * (1 - t)) * x,
    }
    for name, drift in wrong.items():
        assert gap(sde_samples(chain, number, drift), ode) > 3, name


def test_cloning_learns_the_velocity_of_the_data() -> None:
    """Targets at -0.6 or 0.6: samples lie near one of both, half of them at each, where their mean 0 is none."""
    th.manual_seed(0)
    net = FlowNetwork(1, 1, [64, 64], nn.SiLU, None)
    optimizer, features = th.optim.Adam(net.parameters(), lr=3e-3), th.zeros(256, 1)
    for _ in range(600):
        targets = 0.6 * th.randint(2, (256, 1)).mul(2).sub(1).float()
        optimizer.zero_grad()
        flow_matching_loss(net, features, targets).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with th.no_grad():
        found = follow_ode(net, th.zeros(2000, 1), th.randn(2000, 1), 16)
    assert float(((found.abs() - 0.6).abs() < 0.25).float().mean()) > 0.85
    assert float((found > 0).float().mean()) == pytest.approx(0.5, abs=0.1)


def test_advantages_of_chunks_by_hand() -> None:
    """Two chunks of two steps, gamma 0.5, lambda 0.5; then the second ends its episode after one.

    The last: 3 + 4 + 0.5 * 10 - 6 = 6, the first: 1 + 2 + 0.5 * 6 - 4 + 0.25 * 6 = 3.5; and where step 2 terminates
    3 - 6 = -3 and 1 + 2 + 3 - 4 - 0.75 = 1.25, before a chunk of its own, 4 + 0.5 * 10 - 8 = 1.
    """
    rewards = th.tensor([[1.0], [2.0], [3.0], [4.0]]).expand(4, 2)
    values = th.tensor([[4.0], [99.0], [6.0], [8.0]]).expand(4, 2)
    following = th.tensor([[99.0, 99.0], [6.0, 6.0], [8.0, 0.0], [10.0, 10.0]])
    decided = th.tensor([[1, 1], [0, 0], [1, 1], [0, 1]]).bool()
    dones = th.tensor([[0, 0], [0, 0], [0, 1], [0, 0]]).bool()
    found = chunk_advantages(rewards, values, following, dones, decided, 0.5, 0.5)
    assert found[0].tolist() == [3.5, 1.25]
    assert found[2].tolist() == [6.0, -3.0]
    assert found[3, 1].item() == 1.0


def test_advantages_of_chunks_of_one_are_those_of_steps() -> None:
    th.manual_seed(0)
    rewards, values, following = (th.randn(9, 4) for _ in range(3))
    dones = th.rand(9, 4) < 0.3
    found = chunk_advantages(rewards, values, following, dones, th.ones_like(dones), 0.9, 0.8)
    th.testing.assert_close(found, advantages_of(rewards, values, following, dones, 0.9, 0.8))
