"""Running mean and variance of observations, and of discounted returns, kept where checkpoints find them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor, nn

EPSILON = 1e-8


class RunningMoments(nn.Module):
    """Mean and variance of all samples seen, in double precision; no gradients.

    Batches are merged by Chan's parallel formula, as in SB3's ``RunningMeanStd``; it begins from mean 0 and variance 1
    with the weight of 1e-4 samples.

    Args:
        shape: of one sample.
    """

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.register_buffer("mean", th.zeros(shape, dtype=th.float64))
        self.register_buffer("var", th.ones(shape, dtype=th.float64))
        self.register_buffer("count", th.full((), 1e-4, dtype=th.float64))
        self._affine: tuple[Tensor, Tensor] | None = None

    @th.no_grad()
    def update(self, samples: Tensor) -> None:
        """Takes in samples ``[n, *shape]``; none change nothing."""
        number = len(samples)
        if not number:
            return
        samples = samples.to(self.mean.device, th.float64)
        mean, var = samples.mean(0), samples.var(0, correction=0)
        total = self.count + number
        delta = mean - self.mean
        spread = self.var * self.count + var * number + delta.square() * self.count * number / total
        self.mean += delta * number / total
        self.var.copy_(spread / total)
        self.count.copy_(total)
        self._affine = None

    def forward(self, values: Tensor, limit: float) -> Tensor:
        """``(values - mean) / sqrt(var + 1e-8)`` in single precision, clipped to +- ``limit``."""
        if self._affine is None:
            self._affine = self.mean.float(), (self.var + EPSILON).rsqrt().float()
        mean, scale = self._affine
        return ((values - mean) * scale).clamp_(-limit, limit)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._affine = None

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self._affine = None  # on another device, or of another type
        return super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]


class RewardScale(RunningMoments):
    """Divides rewards by the standard deviation of the discounted return, as SB3's ``VecNormalize`` does.

    The return of environment i is R <- gamma R + r, and begins anew with each episode.

    Args:
        gamma: discount.
        limit: of scaled rewards, either way.
    """

    def __init__(self, gamma: float, limit: float) -> None:
        super().__init__()
        self.gamma, self.limit = gamma, limit
        self._returns: npt.NDArray[np.float64] = np.zeros(0)

    def reset(self, num_envs: int) -> None:
        """Every environment begins an episode."""
        self._returns = np.zeros(num_envs)

    def scaled(self, rewards: Tensor, dones: Tensor, valid: Tensor) -> Tensor:
        """Takes in the rewards of a rollout and returns them scaled; all ``[T, N]``.

        Args:
            rewards: as the environment gave them.
            dones: whether the step ended an episode.
            valid: False where the step was a reset, which is no sample.
        """
        seen = np.empty(rewards.shape)
        given, last = rewards.numpy(), self._returns
        for step, ended in enumerate(dones.numpy()):
            last = self.gamma * last + given[step]
            seen[step] = last
            last = np.where(ended, 0.0, last)
        self._returns = last
        self.update(th.from_numpy(seen)[valid])
        scaled: Tensor = rewards / float(self.var + EPSILON) ** 0.5
        return scaled.clamp_(-self.limit, self.limit)
