r"""A recurrent state-space model of vectors, its Gaussians, and lambda-returns: what Dreamer and RePo share.

Paper: Hafner, Lillicrap, Ba and Norouzi, Dream to Control: Learning Behaviors by Latent Imagination (2019); of the
model Hafner et al., Learning Latent Dynamics for Planning from Pixels (2018). "The authors' code" of RePo, whose sizes
and activations these are, is github.com/zchuning/repo, ``algorithms/repo/models/rssm.py``.
"""

from typing import NamedTuple

import torch as th
from torch import Tensor, nn
from torch.nn.functional import softplus

LEAST_STD = 0.1


def perceptron(n_in: int, widths: list[int], n_out: int) -> nn.Sequential:
    """Layers of those widths with ELU behind each, and a linear one."""
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Linear(n_in, width), nn.ELU()]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, n_out))


class Gaussian(NamedTuple):
    """Diagonal Gaussians."""

    mean: Tensor  # [..., D]
    std: Tensor  # [..., D]

    @classmethod
    def of(cls, out: Tensor) -> "Gaussian":
        """From ``[..., 2 D]`` of a network; standard deviations are at least 0.1."""
        mean, raw = out.chunk(2, dim=-1)
        return cls(mean, softplus(raw) + LEAST_STD)

    def sample(self) -> Tensor:
        """A draw ``[..., D]`` that gradients pass through."""
        return self.mean + self.std * th.randn_like(self.mean)

    def detached(self) -> "Gaussian":
        """The same without gradient."""
        return Gaussian(self.mean.detach(), self.std.detach())


def divergence(q: Gaussian, p: Gaussian) -> Tensor:
    r""":math:`KL(q \| p)` in nats, summed over dimensions, ``[...]``."""
    ratio = (q.std / p.std).square()
    return 0.5 * (ratio + ((q.mean - p.mean) / p.std).square() - 1 - ratio.log()).sum(dim=-1)


def balanced(posterior: Gaussian, prior: Gaussian, balance: float) -> Tensor:
    r""":math:`\alpha KL(\bar q \| p) + (1 - \alpha) KL(q \| \bar p)`, where bars stop gradients, ``[...]``.

    Its value is the divergence; its gradient moves the prior towards the posterior with the weight ``balance``, and the
    posterior towards the prior with the rest.
    """
    to_posterior = divergence(posterior.detached(), prior)
    return balance * to_posterior + (1 - balance) * divergence(posterior, prior.detached())


class Latent(NamedTuple):
    """The state of the model: what the recurrent network remembers, and the stochastic part."""

    belief: Tensor  # [..., H]
    stoch: Tensor  # [..., Z]

    @property
    def features(self) -> Tensor:
        """Both, as networks read them, ``[..., H + Z]``."""
        return th.cat(self, dim=-1)

    def detached(self) -> "Latent":
        """The same without gradient."""
        return Latent(self.belief.detach(), self.stoch.detach())


class Observed(NamedTuple):
    """What the model makes of sequences of T observations."""

    latents: Latent  # [B, T, ...]
    posterior: Gaussian  # [B, T, Z]
    prior: Gaussian  # [B, T, Z]


class RSSM(nn.Module):
    r"""Beliefs :math:`h_t = f(h_{t-1}, z_{t-1}, a_{t-1})` by a GRU, a prior :math:`p(z_t | h_t)`, a posterior
    :math:`q(z_t | h_t, e(o_t))`.

    Args:
        width: of an observation.
        actions: width of an action.
        belief_size: H.
        stoch_size: Z.
        hidden_size: of the layers between.
        embedding_size: of an encoded observation e(o).
    """  # noqa: D205

    def __init__(
        self, width: int, actions: int, belief_size: int, stoch_size: int, hidden_size: int, embedding_size: int
    ) -> None:
        super().__init__()
        self.belief_size, self.stoch_size, self.actions = belief_size, stoch_size, actions
        self.encoder = nn.Sequential(perceptron(width, [embedding_size], embedding_size), nn.ELU())
        self.read = nn.Sequential(nn.Linear(stoch_size + actions, belief_size), nn.ELU())
        self.memory = nn.GRUCell(belief_size, belief_size)
        self.prior_net = perceptron(belief_size, [hidden_size], 2 * stoch_size)
        self.posterior_net = perceptron(belief_size + embedding_size, [hidden_size], 2 * stoch_size)

    def initial(self, n: int) -> Latent:
        """Zeros, of which an episode begins, with an action of zeros."""
        weight = self.memory.weight_hh
        return Latent(weight.new_zeros(n, self.belief_size), weight.new_zeros(n, self.stoch_size))

    def believed(self, latent: Latent, actions: Tensor) -> Tensor:
        """The belief ``[B, H]`` after actions ``[B, A]``."""
        found: Tensor = self.memory(self.read(th.cat([latent.stoch, actions], dim=-1)), latent.belief)
        return found

    def prior(self, belief: Tensor) -> Gaussian:
        """Of the stochastic part, before its observation is seen."""
        return Gaussian.of(self.prior_net(belief))

    def posterior(self, belief: Tensor, embedded: Tensor) -> Gaussian:
        """Of the stochastic part, given its encoded observation too."""
        return Gaussian.of(self.posterior_net(th.cat([belief, embedded], dim=-1)))

    def imagined(self, latent: Latent, actions: Tensor) -> Latent:
        """The next state ``[B, ...]`` as the prior has it."""
        belief = self.believed(latent, actions)
        return Latent(belief, self.prior(belief).sample())

    def observe(self, observations: Tensor, actions: Tensor) -> Observed:
        """The states of sequences, as if an episode began with each.

        Args:
            observations: ``[B, T, width]``.
            actions: between them, ``[B, T - 1, A]``.
        """
        embedded = self.encoder(observations)
        none = actions.new_zeros(len(actions), 1, self.actions)
        before = th.cat([none, actions], dim=1).unbind(1)
        latent, beliefs, stochs, posteriors = self.initial(len(actions)), [], [], []
        for action, seen in zip(before, embedded.unbind(1), strict=True):
            belief = self.believed(latent, action)
            posterior = self.posterior(belief, seen)
            latent = Latent(belief, posterior.sample())
            beliefs.append(belief)
            stochs.append(latent.stoch)
            posteriors.append(posterior)
        all_beliefs = th.stack(beliefs, dim=1)
        means, stds = (th.stack(part, dim=1) for part in zip(*posteriors, strict=True))
        latents = Latent(all_beliefs, th.stack(stochs, dim=1))
        return Observed(latents, Gaussian(means, stds), self.prior(all_beliefs))


def lambda_returns(rewards: Tensor, discounts: Tensor, values: Tensor, td_lambda: float) -> Tensor:
    r""":math:`G_k = r_{k+1} + \gamma_{k+1} ((1 - \lambda) V_{k+1} + \lambda G_{k+1})`, with :math:`G_K = V_K`.

    Args:
        rewards: of arriving in states 1 to K, ``[K, B]``.
        discounts: of what follows there, ``[K, B]``.
        values: of the same states, ``[K, B]``.
        td_lambda: lambda.

    Returns:
        Of states 0 to K - 1, ``[K, B]``.
    """
    following, found = values[-1], []
    for reward, discount, value in zip(*(part.flip(0).unbind(0) for part in (rewards, discounts, values)), strict=True):
        following = reward + discount * ((1 - td_lambda) * value + td_lambda * following)
        found.append(following)
    return th.stack(found[::-1])
