"""What policies draw actions from, as functions of a network's outputs: fewer calls than ``torch.distributions``.

Each kind has the same formula as SB3's distribution of that action space.
"""

import math
from typing import Protocol

import torch as th
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from stable_baselines3.common.distributions import TanhBijector
from torch import Tensor
from torch.nn.functional import softplus

_CORRECTION = TanhBijector(1e-6)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
FORBIDDEN = -1e8
"""The logit of a masked action: its probability is 0 in single precision."""


class Distribution(Protocol):
    """Of actions, given the network's outputs ``[B, K]``."""

    def sample(self, outputs: Tensor, log_std: Tensor | None, deterministic: bool) -> Tensor:
        """Actions ``[B, ...]``."""

    def log_prob(self, outputs: Tensor, log_std: Tensor | None, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities ``[B]`` and entropies ``[B]`` (or one entropy for all, ``[]``)."""


class Gaussian:
    """Independent normal distributions with means from the network and one log standard deviation a dimension."""

    def sample(self, outputs: Tensor, log_std: Tensor | None, deterministic: bool) -> Tensor:
        """Means ``[B, K]``, with noise or without."""
        assert log_std is not None
        return outputs if deterministic else outputs + th.randn_like(outputs) * log_std.exp()

    def log_prob(self, outputs: Tensor, log_std: Tensor | None, actions: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`Distribution`; the entropy is one for all."""
        assert log_std is not None
        z = (actions - outputs) * (-log_std).exp()
        total = log_std.sum()
        size = outputs.shape[-1]
        logp = z.square().sum(-1) * -0.5 - (total + size * _HALF_LOG_2PI)
        return logp, total + size * (0.5 + _HALF_LOG_2PI)


class StateDependentGaussian:
    """Normal distributions whose deviations depend on the state: outputs are means and their logarithms, ``[B, 2 K]``.

    a = mu(s) + theta^T h(s) with theta ~ N(0, sigma^2), so that the deviation is sqrt(h(s)^2 sigma^2 + 1e-6). Drawing
    needs theta, which the policy keeps for many steps; drawn here, noise is independent at each step.

    Paper: Smooth Exploration for Robotic Reinforcement Learning (2021), eq. 7 to 9, called gSDE; as in SB3 with
    ``learn_features=False``, h(s) gets no gradient from the deviation.

    Args:
        squash: whether actions are tanh(a), in [-1, 1]; -log pi(a) then stands for the entropy, which has no formula.
    """

    def __init__(self, squash: bool = False) -> None:
        self.squash = squash

    def sample(self, outputs: Tensor, log_std: Tensor | None, deterministic: bool) -> Tensor:
        """Means ``[B, K]``, with noise or without."""
        means, scales = outputs.chunk(2, -1)
        return self.squashed(means if deterministic else means + th.randn_like(means) * scales.exp())

    def squashed(self, gaussian: Tensor) -> Tensor:
        """Actions of draws before the squashing, if there is one."""
        return gaussian.tanh() if self.squash else gaussian

    def log_prob(self, outputs: Tensor, log_std: Tensor | None, actions: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`Distribution`."""
        means, scales = outputs.chunk(2, -1)
        gaussian = TanhBijector.inverse(actions) if self.squash else actions
        z = (gaussian - means) * (-scales).exp()
        total = scales.sum(-1)
        size = means.shape[-1]
        logp = z.square().sum(-1) * -0.5 - (total + size * _HALF_LOG_2PI)
        if not self.squash:
            return logp, total + size * (0.5 + _HALF_LOG_2PI)
        logp = logp - _CORRECTION.log_prob_correction(gaussian).sum(-1)
        return logp, -logp

    @staticmethod
    def log_std(latent: Tensor, deviations: Tensor) -> Tensor:
        """``[B, K]``, of the hidden layer ``[B, H]`` and sigma ``[H, K]``."""
        return 0.5 * (latent.detach().square() @ deviations.square() + 1e-6).log()


class Categorical:
    """One choice of ``n``."""

    def sample(self, outputs: Tensor, log_std: Tensor | None, deterministic: bool) -> Tensor:
        """Choices ``[B]``; drawn by adding Gumbel noise to the logits and taking the largest."""
        if deterministic:
            return outputs.argmax(-1)
        return (outputs - th.empty_like(outputs).exponential_().log_()).argmax(-1)

    def log_prob(self, outputs: Tensor, log_std: Tensor | None, actions: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`Distribution`."""
        logp = outputs.log_softmax(-1)
        chosen = logp.gather(-1, actions.long().reshape(-1, 1)).squeeze(-1)
        return chosen, -(logp.exp() * logp).sum(-1)


class MultiCategorical:
    """Several independent choices.

    Args:
        sizes: how many options each has.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes, self.single = sizes, Categorical()

    def sample(self, outputs: Tensor, log_std: Tensor | None, deterministic: bool) -> Tensor:
        """Choices ``[B, len(sizes)]``."""
        parts = th.split(outputs, list(self.sizes), -1)
        return th.stack([self.single.sample(part, None, deterministic) for part in parts], -1)

    def log_prob(self, outputs: Tensor, log_std: Tensor | None, actions: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`Distribution`."""
        parts = zip(th.split(outputs, list(self.sizes), -1), actions.unbind(-1), strict=True)
        logp, entropy = zip(*(self.single.log_prob(part, None, chosen) for part, chosen in parts), strict=True)
        return th.stack(logp).sum(0), th.stack(entropy).sum(0)


class Bernoulli:
    """Several independent choices of yes (1) or no (0), given the logits of yes."""

    def sample(self, outputs: Tensor, log_std: Tensor | None, deterministic: bool) -> Tensor:
        """Choices ``[B, K]``; the likelier ones without noise, and 0 at a logit of 0."""
        return (outputs > 0).to(outputs) if deterministic else th.bernoulli(outputs.sigmoid())

    def log_prob(self, outputs: Tensor, log_std: Tensor | None, actions: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`Distribution`."""
        normaliser = softplus(outputs)
        return (outputs * actions - normaliser).sum(-1), (normaliser - outputs * outputs.sigmoid()).sum(-1)


def distribution_of(space: Space) -> Distribution:  # type: ignore[type-arg]
    """The distribution of actions in a space.

    Raises:
        TypeError: a space that is neither Box, Discrete, nor flat MultiDiscrete or MultiBinary.
    """
    if isinstance(space, Box):
        return Gaussian()
    if isinstance(space, Discrete):
        return Categorical()
    if isinstance(space, MultiDiscrete) and space.nvec.ndim == 1:
        return MultiCategorical(tuple(int(size) for size in space.nvec))
    if isinstance(space, MultiBinary) and len(space.shape) == 1:
        return Bernoulli()
    raise TypeError(f"actions are in Box, Discrete or flat MultiDiscrete or MultiBinary spaces, not in {space}")


def masked(outputs: Tensor, mask: Tensor) -> Tensor:
    """Logits with those of forbidden actions (mask 0) at :data:`FORBIDDEN`; both ``[B, K]``."""
    return outputs.masked_fill(mask < 0.5, FORBIDDEN)
