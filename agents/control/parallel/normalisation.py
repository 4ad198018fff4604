"""Observations and rewards normalised by what was seen, kept where checkpoints find it."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Space
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor

from ..on_policy.moments import EPSILON, RunningMoments


class NormalizedObservations(FlattenExtractor):
    """Flat observations, less their running mean and divided by their running standard deviation.

    Args:
        observation_space: of one environment, flat.
        clip_obs: limit of normalised observations, either way.
    """

    shift: Tensor  # [O]
    scale: Tensor  # [O]

    def __init__(self, observation_space: Space[Any], clip_obs: float = 10.0) -> None:
        super().__init__(observation_space)  # type: ignore[arg-type]
        self.limit = clip_obs
        self.moments = RunningMoments((self.features_dim,))
        self.register_buffer("shift", th.zeros(self.features_dim))
        self.register_buffer("scale", th.ones(self.features_dim))

    @th.no_grad()
    def update(self, observations: Tensor) -> None:
        """Takes in observations ``[n, O]``."""
        self.moments.update(observations)
        self.shift.copy_(self.moments.mean)
        self.scale.copy_((self.moments.var + EPSILON).rsqrt())

    def forward(self, observations: Tensor) -> Tensor:
        """``[B, O]``."""
        return ((observations.flatten(1) - self.shift) * self.scale).clamp(-self.limit, self.limit)


class ReturnScale(RunningMoments):
    """Divides rewards so that discounted returns have about unit variance and stay inside a range.

    With G <- gamma G + r in every environment, begun anew with each episode, rewards are divided by
    max(std(G), max |G| / limit).

    Paper: Lee et al., Hyperspherical Normalization for Scalable Deep Reinforcement Learning (SimbaV2), 2025; also the
    reward normaliser of FastTD3's code, which, unlike here, begins G anew one step early.

    Args:
        gamma: discount.
        limit: of returns.
    """

    peak: Tensor

    def __init__(self, gamma: float, limit: float) -> None:
        super().__init__()
        self.gamma, self.limit = gamma, limit
        self.register_buffer("peak", th.zeros((), dtype=th.float64))
        self._returns: npt.NDArray[np.float64] = np.zeros(0)

    def reset(self, num_envs: int) -> None:
        """Every environment begins an episode."""
        self._returns = np.zeros(num_envs)

    def step(self, rewards: npt.NDArray[Any], dones: npt.NDArray[np.bool_], valid: npt.NDArray[np.bool_]) -> None:
        """Takes in rewards ``[N]`` of a step: an episode's last where ``dones``, a reset where not ``valid``."""
        self._returns = np.where(valid, self.gamma * self._returns + rewards, self._returns)
        self.take_in(th.from_numpy(self._returns[valid]))
        self._returns[dones] = 0.0

    def take_in(self, returns: Tensor) -> None:
        """Takes in discounted returns ``[n]``."""
        self.update(returns)
        if len(returns):
            self.peak.copy_(th.maximum(self.peak, returns.abs().max()))

    @property
    def factor(self) -> float:
        """What rewards are multiplied by; 1 while nothing was seen."""
        return 1.0 / (max(math.sqrt(self.var), float(self.peak) / self.limit) + EPSILON)
