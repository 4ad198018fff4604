"""Networks that learn from one sample at a time: sparse, normalised, with the gradient of one sample compiled.

A network's weights are one vector, so that its optimiser makes four passes over contiguous memory a step. PyTorch
evaluates batches (``predict``); while learning, compiled code evaluates and differentiates single samples in the same
memory, without the overhead of autograd.

Paper: Elsayed, Vasan and Mahmood, Streaming Deep Reinforcement Learning Finally Works, 2024 (arXiv 2410.14606);
formulas and numbers as in the authors' code, github.com/mohmdelsayed/streaming-drl.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, Space
from numba import njit
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn
from torch.nn import functional as F

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

SLOPE = 0.01  # of LeakyReLU below zero
LAYER_EPSILON = 1e-5  # in layer normalisation
EPSILON = 1e-8  # in the normalisation of observations and rewards
MIN_STD = 1e-6  # of a Gaussian policy; the authors' code has no lower limit and fails at zero
_SUMS = {"reassoc", "contract"}  # sums in any order, so that they are vectorised; NaN stays NaN


def sparse_init(weight: Tensor, sparsity: float = 0.9) -> None:
    """Fills ``weight`` ``[out, in]`` with uniform numbers within 1/sqrt(in), ``sparsity`` of each row's with zero.

    Rounded up as in the authors' code: with fewer than ten inputs and the default sparsity all begin at zero, which
    layer normalisation lets a network learn from all the same.
    """
    n_out, n_in = weight.shape
    zeros = math.ceil(sparsity * n_in)
    with th.no_grad():
        weight.uniform_(-1 / math.sqrt(n_in), 1 / math.sqrt(n_in))
        dropped = th.rand(n_out, n_in).argsort(dim=1)[:, :zeros]
        weight.scatter_(1, dropped.to(weight.device), 0.0)


@njit(cache=True, fastmath=_SUMS)
def _evaluate(theta: Floats, widths: npt.NDArray[np.int64], units: Floats, normed: Floats, scales: Floats) -> None:
    """Fills ``units`` after its inputs, layer by layer, and keeps what :func:`_differentiate` needs."""
    at, first, last = 0, 0, len(widths) - 2
    for layer in range(last + 1):
        n_in, n_out = widths[layer], widths[layer + 1]
        x, y, hat = units[first : first + n_in], units[first + n_in :], normed[first + n_in :]
        for i in range(n_out):
            row = theta[at + i * n_in : at + (i + 1) * n_in]
            total = np.float32(0.0)
            for j in range(n_in):
                total += row[j] * x[j]
            y[i] = total + theta[at + n_out * n_in + i]
        if layer < last:
            mean = np.float32(0.0)
            for i in range(n_out):
                mean += y[i]
            mean /= np.float32(n_out)
            square = np.float32(0.0)
            for i in range(n_out):
                square += (y[i] - mean) * (y[i] - mean)
            scales[layer] = np.float32(1.0) / np.sqrt(square / np.float32(n_out) + np.float32(LAYER_EPSILON))
            for i in range(n_out):
                hat[i] = (y[i] - mean) * scales[layer]
                y[i] = hat[i] if hat[i] > 0 else np.float32(SLOPE) * hat[i]
        at += n_out * (n_in + 1)
        first += n_in


@njit(cache=True, fastmath=_SUMS)
def _differentiate(
    theta: Floats,
    widths: npt.NDArray[np.int64],
    units: Floats,
    normed: Floats,
    scales: Floats,
    head: Floats,
    grad: Floats,
) -> None:
    """The gradient of ``head . outputs`` by the weights, at the sample evaluated last."""
    at, first = len(theta), len(units) - widths[-1]
    d = head.copy()  # by the layer's sums
    for layer in range(len(widths) - 2, -1, -1):
        n_in, n_out = widths[layer], widths[layer + 1]
        at -= n_out * (n_in + 1)
        first -= n_in
        x, hat = units[first : first + n_in], normed[first : first + n_in]
        below = np.zeros(n_in, np.float32)
        for i in range(n_out):
            row, out = theta[at + i * n_in : at + (i + 1) * n_in], grad[at + i * n_in : at + (i + 1) * n_in]
            for j in range(n_in):
                out[j] = d[i] * x[j]
                below[j] += d[i] * row[j]
            grad[at + n_out * n_in + i] = d[i]
        if layer:
            mean, along = np.float32(0.0), np.float32(0.0)
            for j in range(n_in):
                below[j] = below[j] if hat[j] > 0 else np.float32(SLOPE) * below[j]
                mean += below[j]
                along += below[j] * hat[j]
            for j in range(n_in):
                below[j] = scales[layer - 1] * (below[j] - (mean + hat[j] * along) / np.float32(n_in))
        d = below


class StreamNetwork(nn.Module):
    """Linear layers, each but the last followed by layer normalisation (without affine part) and LeakyReLU.

    Args:
        widths: of inputs, hidden layers and outputs.
        sparsity: share of weights that begin at zero; biases all do.
    """

    def __init__(self, widths: Sequence[int], *, sparsity: float = 0.9) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.theta = nn.Parameter(th.zeros(sum(a * b + b for a, b in zip(widths[:-1], widths[1:], strict=True))))
        for weight, _ in self.layers():
            sparse_init(weight.detach(), sparsity)
        units = sum(widths)
        self._arrays = (
            np.array(widths),
            np.zeros(units, np.float32),
            np.zeros(units, np.float32),
            np.zeros(len(widths), np.float32),
        )

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Weights ``[out, in]`` and biases ``[out]`` of each layer, as views of :attr:`theta`."""
        parts: list[tuple[Tensor, Tensor]] = []
        at = 0
        for n_in, n_out in zip(self.widths[:-1], self.widths[1:], strict=True):
            end = at + n_in * n_out
            parts.append((self.theta[at:end].view(n_out, n_in), self.theta[end : end + n_out]))
            at = end + n_out
        return parts

    def forward(self, x: Tensor) -> Tensor:
        """Maps a batch ``[B, in]`` to ``[B, out]``."""
        *hidden, (weight, bias) = self.layers()
        for inner_weight, inner_bias in hidden:
            x = F.linear(x, inner_weight, inner_bias)
            x = F.leaky_relu(F.layer_norm(x, x.shape[-1:], eps=LAYER_EPSILON), SLOPE)
        return F.linear(x, weight, bias)

    def evaluate(self, x: Floats) -> Floats:
        """The outputs ``[out]`` for one sample ``[in]``."""
        _, units, _, _ = self._arrays
        units[: len(x)] = x
        _evaluate(self.theta.detach().numpy(), *self._arrays)
        return units[-self.widths[-1] :].copy()

    def differentiate(self, head: Floats) -> None:
        """Sets the gradient to that of ``head . outputs`` at the sample evaluated last."""
        if self.theta.grad is None:
            self.theta.grad = th.zeros_like(self.theta)
        _differentiate(self.theta.detach().numpy(), *self._arrays, head, self.theta.grad.numpy())


@njit(cache=True)
def _observe(x: Doubles, mean: Doubles, squares: Doubles, count: Doubles) -> None:
    count[0] += 1
    for i in range(len(x)):
        before = x[i] - mean[i]
        mean[i] += before / count[0]
        squares[i] += before * (x[i] - mean[i])


@njit(cache=True)
def _normalize(x: Doubles, mean: Doubles, squares: Doubles, count: Doubles) -> Floats:
    out = np.empty(len(x), np.float32)
    for i in range(len(x)):
        variance = squares[i] / (count[0] - 1) if count[0] > 1 else 1.0
        out[i] = (x[i] - mean[i]) / np.sqrt(variance + EPSILON)
    return out


class StreamMoments(nn.Module):
    """Mean and variance of all samples seen so far, in constant memory (Welford's recurrence, in double precision).

    Args:
        size: of a sample.
    """

    mean: Tensor  # [size]
    squares: Tensor  # [size] sums of squared deviations
    count: Tensor  # [1]

    def __init__(self, size: int) -> None:
        super().__init__()
        for name, length in (("mean", size), ("squares", size), ("count", 1)):
            self.register_buffer(name, th.zeros(length, dtype=th.float64))

    @property
    def variance(self) -> Tensor:
        """Unbiased variance ``[size]``; 1 before the second sample."""
        return self.squares / (self.count - 1) if self.count > 1 else th.ones_like(self.squares)

    def forward(self, x: Tensor) -> Tensor:
        """``(x - mean) / sqrt(variance + 1e-8)`` of a batch ``[B, size]``, in single precision; learns nothing."""
        return ((x.double() - self.mean) / (self.variance + EPSILON).sqrt()).float()

    def observe(self, x: Doubles) -> None:
        """Counts one more sample ``[size]``."""
        _observe(x, self.mean.numpy(), self.squares.numpy(), self.count.numpy())

    def normalize(self, x: Doubles) -> Floats:
        """:meth:`forward` of one sample ``[size]``."""
        normalized: Floats = _normalize(x, self.mean.numpy(), self.squares.numpy(), self.count.numpy())
        return normalized

    @property
    def scale(self) -> float:
        """Standard deviation of a stream of single numbers."""
        count = self.count.item()
        return math.sqrt((self.squares.item() / (count - 1) if count > 1 else 1.0) + EPSILON)


class StreamPolicy(BasePolicy):
    """What all stream-x policies share: running statistics of observations and of the discounted return.

    Args:
        observation_space: of the environment; flattened.
        action_space: of the environment.
        lr_schedule: for SB3's signature; optimisers belong to the agents.
        net_arch: widths of the hidden layers; as in the authors' code, 128 and 128 for Box actions, else 32 and 32.
        sparsity: share of weights that begin at zero.
    """

    def __init__(
        self,
        observation_space: Box,
        action_space: Space[Any],
        lr_schedule: Schedule | None = None,
        *,
        net_arch: Sequence[int] | None = None,
        sparsity: float = 0.9,
    ) -> None:
        super().__init__(observation_space, action_space)
        size = math.prod(observation_space.shape)
        self.net_arch = list(net_arch or ([128, 128] if isinstance(action_space, Box) else [32, 32]))
        self.sparsity = sparsity
        self.observations = StreamMoments(size)
        self.returns = StreamMoments(1)

    def features(self, observations: Tensor) -> Tensor:
        """Normalised observations ``[B, size]``, by the statistics as they are."""
        normalized: Tensor = self.observations(observations.flatten(start_dim=1))
        return normalized

    def _network(self, outputs: int) -> StreamNetwork:
        return StreamNetwork([len(self.observations.mean), *self.net_arch, outputs], sparsity=self.sparsity)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {"net_arch": self.net_arch, "sparsity": self.sparsity}
        return {"observation_space": self.observation_space, "action_space": self.action_space, **own}


class ActorCriticStreamPolicy(StreamPolicy):
    """A policy (Gaussian for Box actions, softmax for Discrete ones) and a state value."""

    def __init__(self, observation_space: Box, action_space: Space[Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(observation_space, action_space, *args, **kwargs)
        choices = action_space.n if isinstance(action_space, Discrete) else 2 * math.prod(action_space.shape or ())
        self.actor = self._network(int(choices))
        self.critic = self._network(1)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        outputs: Tensor = self.actor(self.features(observation))
        if isinstance(self.action_space, Discrete):
            if deterministic:
                return outputs.argmax(dim=1)
            return th.multinomial(outputs.softmax(dim=1), 1).squeeze(1)
        mean, raw = outputs.chunk(2, dim=1)
        return mean if deterministic else th.normal(mean, F.softplus(raw).clamp(min=MIN_STD))


class ValueStreamPolicy(StreamPolicy):
    """The value of each of Discrete actions; the best is chosen."""

    def __init__(self, observation_space: Box, action_space: Discrete, *args: Any, **kwargs: Any) -> None:
        super().__init__(observation_space, action_space, *args, **kwargs)
        self.critic = self._network(int(action_space.n))

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        values: Tensor = self.critic(self.features(observation))
        return values.argmax(dim=1)


class PredictionStreamPolicy(StreamPolicy):
    """A state value alone; its actions are uniformly random."""

    def __init__(self, observation_space: Box, action_space: Space[Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(observation_space, action_space, *args, **kwargs)
        self.critic = self._network(1)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        return th.as_tensor(np.stack([self.action_space.sample() for _ in range(len(observation))]))
