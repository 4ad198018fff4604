"""Flow-matching policies as chains of Gaussian steps, whose log-probabilities are known.

A chain goes from noise at time 0 to an action (or a chunk of several) at time 1 in K steps of ``dt = 1 / K``, along a
learnt velocity v. On the straight paths ``x_t = t x_1 + (1 - t) x_0`` with ``x_0 ~ N(0, I)`` that flow matching learns
from, the score of x_t is ``-(x_t - t v) / (1 - t)``.

Papers: Lipman et al., Flow Matching for Generative Modeling (2022), for the loss; Liu et al., Flow-GRPO (2025), and
Chen et al., pi_RL (2025), for the stochastic differential equation with the marginals of the flow; ``flow_sde`` and
``flow_noise`` of the latter's code (RLinf, ``openpi_action_model.py``), whose time runs the other way.
"""

import math
from collections.abc import Sequence

import torch as th
from torch import Tensor, nn

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_TIME = 5
"""Numbers by which networks read a time."""


def sde_sigma(time: Tensor, dt: float, noise_level: float) -> Tensor:
    """``a sqrt((1 - t) / t)``, with dt in place of t where t is 0, as in the authors' code."""
    return noise_level * ((1 - time) / time.clamp_min(dt)).sqrt()


def sde_drift(x: Tensor, velocity: Tensor, time: Tensor, sigma: Tensor) -> Tensor:
    r"""Drift of ``dx = drift dt + sigma dw`` that has the marginals of ``dx = v dt``.

    .. math:: v + \frac{\sigma^2}{2} \nabla \log p_t(x) = v - \frac{\sigma^2}{2 (1 - t)} (x - t v)

    Args:
        x: ``[..., D]``.
        velocity: v at x ``[..., D]``.
        time: t, below 1, ``[..., 1]``.
        sigma: ``[..., 1]``; 0 gives v itself.
    """
    return velocity - sigma.square() / (2 * (1 - time)) * (x - time * velocity)


def gaussian_logp(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Log-density ``[...]`` of independent normal numbers, summed over the last dimension; all ``[..., D]``."""
    return (-0.5 * ((x - mean) / std).square() - std.log() - _HALF_LOG_2PI).sum(-1)


class FlowNetwork(nn.Module):
    """Velocities of a chain and, with a noise head, the standard deviations of its steps.

    The noise head reads what the velocity's last layer reads; its outputs lie between both limits on a logarithmic
    scale, ``log std = low + (high - low) (tanh(h) + 1) / 2``.

    Args:
        n_features: of an observation.
        size: D, of a chain's states.
        net_arch: widths of the hidden layers.
        activation: between them.
        noise_range: least and largest standard deviation, or None for no noise head.
    """

    def __init__(
        self,
        n_features: int,
        size: int,
        net_arch: Sequence[int],
        activation: type[nn.Module],
        noise_range: tuple[float, float] | None,
    ) -> None:
        super().__init__()
        widths = [n_features + size + _TIME, *net_arch]
        layers = [(nn.Linear(n, m), activation()) for n, m in zip(widths, widths[1:], strict=False)]
        self.body = nn.Sequential(*(part for pair in layers for part in pair))
        self.velocity = nn.Linear(widths[-1], size)
        self.noise = None if noise_range is None else nn.Linear(widths[-1], size)
        self.log_range = noise_range and (math.log(noise_range[0]), math.log(noise_range[1]))

    def hidden(self, features: Tensor, x: Tensor, time: Tensor) -> Tensor:
        """What the heads read; of features ``[B, F]``, states ``[B, D]`` and times ``[B, 1]``."""
        angle = math.pi * time
        told = (time, angle.sin(), angle.cos(), (2 * angle).sin(), (2 * angle).cos())
        found: Tensor = self.body(th.cat([features, x, *told], dim=-1))
        return found

    def forward(self, features: Tensor, x: Tensor, time: Tensor) -> Tensor:
        """Velocities ``[B, D]``."""
        found: Tensor = self.velocity(self.hidden(features, x, time))
        return found

    def noise_std(self, hidden: Tensor) -> Tensor:
        """Standard deviations ``[B, D]`` of what :meth:`hidden` has found."""
        assert self.noise is not None
        assert self.log_range is not None
        low, high = self.log_range
        found: Tensor = (low + (high - low) * (self.noise(hidden).tanh() + 1) / 2).exp()
        return found


def flow_matching_loss(network: FlowNetwork, features: Tensor, targets: Tensor) -> Tensor:
    r""":math:`E|v(x_t, t) - (x_1 - x_0)|^2`, mean over batch and dimensions, with uniform t and normal x_0.

    Args:
        network: v.
        features: ``[B, F]``.
        targets: x_1 ``[B, D]``.
    """
    start = th.randn_like(targets)
    time = th.rand(len(targets), 1, device=targets.device)
    x = time * targets + (1 - time) * start
    loss: Tensor = (network(features, x, time) - (targets - start)).square().mean()
    return loss


class NoiseChain:
    """Flow-Noise: every step is Gaussian around the Euler step, with a learnt deviation.

    ``x_{k+1} ~ N(x_k + v dt, s(x_k, k)^2)``. Its log-probability is exact: the sum over all steps, and that of the
    noise that it began from, which is the same for all policies and left out.

    Args:
        network: with a noise head.
        steps: K.
    """

    def __init__(self, network: FlowNetwork, steps: int) -> None:
        self.network, self.steps = network, steps

    def step(self, features: Tensor, x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation ``[B, D]`` of what follows on ``x`` ``[B, D]`` at steps ``k`` ``[B]``."""
        hidden = self.network.hidden(features, x, k.unsqueeze(-1) / self.steps)
        return x + self.network.velocity(hidden) / self.steps, self.network.noise_std(hidden)

    def sample(self, features: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        """Chains ``[B, K + 1, D]`` from ``start`` ``[B, D]``, and zeros ``[B]``: there is no step apart."""
        chain = [start]
        for k in range(self.steps):
            mean, std = self.step(features, chain[-1], start.new_full((len(start),), k))
            chain.append(mean + std * th.randn_like(std))
        return th.stack(chain, dim=1), th.zeros(len(start), dtype=th.int64, device=start.device)

    def logp(self, features: Tensor, chains: Tensor, noisy: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities ``[B]`` of chains ``[B, K + 1, D]``, and the sum of their steps' entropies ``[B]``."""
        number = len(chains)
        each = features.repeat_interleave(self.steps, dim=0)
        k = th.arange(self.steps, device=chains.device, dtype=chains.dtype).repeat(number)
        mean, std = self.step(each, chains[:, :-1].flatten(0, 1), k)
        logp = gaussian_logp(chains[:, 1:].flatten(0, 1), mean, std)
        entropy = (std.log() + 0.5 + _HALF_LOG_2PI).sum(-1)
        return logp.view(number, -1).sum(1), entropy.view(number, -1).sum(1)


class SDEChain:
    """Flow-SDE in the authors' hybrid form: one step, drawn at random, follows the SDE, and all others the ODE.

    The step is an action of an inner decision process, whose other steps are part of its dynamics; the log-probability
    of a chain is that of this step alone, so an update asks the network once a chain, where Flow-Noise asks K times.

    Args:
        network: without a noise head.
        steps: K.
        noise_level: a of :func:`sde_sigma`.
    """

    def __init__(self, network: FlowNetwork, steps: int, noise_level: float) -> None:
        self.network, self.steps, self.noise_level = network, steps, noise_level

    def step(self, features: Tensor, x: Tensor, k: Tensor, noisy: Tensor) -> tuple[Tensor, Tensor]:
        """Mean ``[B, D]`` and standard deviation ``[B, 1]`` of what follows at steps ``k`` ``[B]``.

        Args:
            features: ``[B, F]``.
            x: ``[B, D]``.
            k: as floats.
            noisy: ``[B]``, whether the step follows the SDE; where not its deviation is 0.
        """
        time, dt = k.unsqueeze(-1) / self.steps, 1 / self.steps
        sigma = sde_sigma(time, dt, self.noise_level) * noisy.unsqueeze(-1)
        drift = sde_drift(x, self.network(features, x, time), time, sigma)
        return x + drift * dt, sigma * math.sqrt(dt)

    def sample(self, features: Tensor, start: Tensor, noisy: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Chains ``[B, K + 1, D]`` from ``start`` ``[B, D]``, and the step ``[B]`` of each that was noisy.

        Args:
            features: ``[B, F]``.
            start: normal noise.
            noisy: ``[B, K]``, which steps follow the SDE; one of each chain, drawn here, if not given.
        """
        drawn = th.randint(self.steps, (len(start),), device=start.device)
        if noisy is None:
            noisy = nn.functional.one_hot(drawn, self.steps).bool()
        chain = [start]
        for k in range(self.steps):
            mean, std = self.step(features, chain[-1], start.new_full((len(start),), k), noisy[:, k])
            chain.append(mean + std * th.randn_like(mean))
        return th.stack(chain, dim=1), drawn

    def logp(self, features: Tensor, chains: Tensor, noisy: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities ``[B]`` of the steps ``noisy`` ``[B]`` of chains, and entropy 0: noise is not learnt."""
        rows = th.arange(len(chains), device=chains.device)
        always = th.ones_like(noisy, dtype=th.bool)
        mean, std = self.step(features, chains[rows, noisy], noisy.to(chains.dtype), always)
        logp = gaussian_logp(chains[rows, noisy + 1], mean, std.expand_as(mean))
        return logp, th.zeros_like(logp)


def follow_ode(network: FlowNetwork, features: Tensor, start: Tensor, steps: int) -> Tensor:
    """Where ``K = steps`` Euler steps along the velocity lead from ``start`` ``[B, D]``."""
    x = start
    for k in range(steps):
        x = x + network(features, x, start.new_full((len(start), 1), k / steps)) / steps
    return x


def chunk_advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    dones: Tensor,
    decided: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimation over chunks of actions; all ``[T, N]``, of a meaning where a chunk begins.

    delta = (sum of the chunk's rewards) + gamma V' - V,  A = delta + gamma lambda (1 - done) A'

    V' and A' are those of the next chunk's beginning; no advantage reaches over the end of an episode or the rollout.

    Paper: High-Dimensional Continuous Control Using Generalized Advantage Estimation (2015), eq. 16, with a chunk for a
    step, as in the code of Chen et al., pi_RL (2025): gamma is a chunk's, and rewards within one are added up.

    Args:
        rewards: of environment steps.
        values: V of their observations.
        next_values: V of what each step led to; 0 where the episode terminated.
        dones: whether a step ended an episode.
        decided: whether a chunk begins with a step.
        gamma: discount of a chunk.
        gae_lambda: lambda.
    """
    found = th.zeros_like(rewards)
    ends = th.cat([dones[:-1] | decided[1:], th.ones_like(dones[:1])])
    total, following, carried = (th.zeros_like(rewards[0]) for _ in range(3))
    for step in range(len(rewards) - 1, -1, -1):
        end = ends[step]
        later = th.zeros_like(carried) if step + 1 == len(rewards) else found[step + 1] * ~dones[step]
        total = rewards[step] + th.where(end, 0.0, total)
        following = th.where(end, next_values[step], following)
        carried = th.where(end, later, carried)
        found[step] = total + gamma * following - values[step] + gamma * gae_lambda * carried
    return found
