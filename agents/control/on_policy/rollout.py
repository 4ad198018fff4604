"""What a rollout holds, in tensors allocated once, and generalised advantage estimation over it."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Dict, Space
from torch import Tensor

Observations = Tensor | dict[str, Tensor]
Arrays = npt.NDArray[Any]


def advantages_of(
    rewards: Tensor, values: Tensor, next_values: Tensor, dones: Tensor, gamma: float, gae_lambda: float
) -> Tensor:
    """Generalised advantage estimation; all ``[T, N]``.

    delta_t = r_t + gamma V'_t - V_t,  A_t = delta_t + gamma lambda (1 - done_t) A_{t+1}

    V'_t is the value of the state that step t led to: 0 where the episode terminated, that of its *last* observation
    where it was truncated, V_{t+1} otherwise. No advantage reaches over the end of an episode, of either kind.

    Paper: High-Dimensional Continuous Control Using Generalized Advantage Estimation (2015), eq. 16.

    Args:
        rewards: r_t.
        values: V_t.
        next_values: V'_t.
        dones: whether step t ended an episode.
        gamma: discount.
        gae_lambda: lambda.
    """
    advantages = rewards + gamma * next_values - values
    carried = gamma * gae_lambda * (~dones).float()
    for step in range(len(rewards) - 2, -1, -1):
        advantages[step].addcmul_(carried[step], advantages[step + 1])
    return advantages


def empty_like_space(space: Space[Any], *sizes: int) -> Observations:
    """Zeros ``[*sizes, *shape]`` for a space: bytes stay bytes, all other numbers are single precision."""
    if isinstance(space, Dict):
        parts = {key: empty_like_space(part, *sizes) for key, part in space.items()}
        return {key: part for key, part in parts.items() if isinstance(part, Tensor)}
    kind = th.uint8 if isinstance(space, Box) and space.dtype == np.uint8 else th.float32
    return th.zeros((*sizes, *(space.shape or ())), dtype=kind)


def part_of(observations: Observations, index: Any) -> Observations:
    """``observations[index]``, in each part of them."""
    if isinstance(observations, dict):
        return {key: part[index] for key, part in observations.items()}
    return observations[index]


def put(target: Observations, observations: Any) -> None:
    """Copies a batch of an environment's observations into a tensor of its shape."""
    if isinstance(target, dict):
        for key, part in target.items():
            put(part, observations[key])
    else:
        np.copyto(target.numpy(), observations, casting="unsafe")


def stacked(space: Space[Any], observations: list[Any]) -> Observations:
    """Single observations as a batch."""
    batch = empty_like_space(space, len(observations))
    for index, one in enumerate(observations):
        put(part_of(batch, index), one)
    return batch


def flat(observations: Observations) -> Observations:
    """``[T, N, ...]`` as ``[T N, ...]``, without a copy."""
    if isinstance(observations, dict):
        return {key: part.flatten(0, 1) for key, part in observations.items()}
    return observations.flatten(0, 1)


class Rollout:
    """``n_steps`` of ``n_envs`` environments. Built with the arguments that SB3 gives its rollout buffers.

    Attributes:
        observations: ``[T + 1, N, ...]``, the last one what the next rollout begins from.
        actions: ``[T, N, ...]``, before they are clipped to the space; those in a Box are flat.
        rewards: ``[T, N]``.
        values: ``[T + 1, N]``, of the observations.
        logp: ``[T, N]``, of the actions.
        terminated: ``[T, N]``.
        truncated: ``[T, N]``.
        valid: ``[T, N]``, False where the environment spent the step on its reset.
        last_observations: (step, environment, observation) of episodes that were truncated, where the next row of
            observations does not hold it.
        next_values: ``[T, N]``, V' of :func:`advantages_of`, once :meth:`finish` has been called.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: Space[Any],
        action_space: Space[Any],
        device: th.device | str = "cpu",
        gae_lambda: float = 0.95,
        gamma: float = 0.99,
        n_envs: int = 1,
    ) -> None:
        self.n_steps, self.n_envs = buffer_size, n_envs
        self.observation_space, self.action_space = observation_space, action_space
        self.gae_lambda, self.gamma = gae_lambda, gamma
        self.last_observations: list[tuple[int, int, Any]] = []
        self._allocated = False

    def begin(self, observations: Any, n_envs: int) -> None:
        """Begins a rollout at ``observations``; allocates where it has not, or for another number of environments."""
        if not self._allocated or n_envs != self.n_envs:
            self._allocate(n_envs)
        self.last_observations.clear()
        put(part_of(self.observations, 0), observations)

    def _allocate(self, n_envs: int) -> None:
        size = (self.n_steps, n_envs)
        self.n_envs, self._allocated = n_envs, True
        self.observations = empty_like_space(self.observation_space, self.n_steps + 1, n_envs)
        shape = self.action_space.shape or ()
        if isinstance(self.action_space, Box):
            self.actions = th.zeros(*size, int(np.prod(shape)))
        else:
            self.actions = th.zeros((*size, *shape), dtype=th.int64)
        self.rewards, self.logp = th.zeros(size), th.zeros(size)
        self.values = th.zeros(self.n_steps + 1, n_envs)
        self.terminated, self.truncated, self.valid = (th.zeros(size, dtype=th.bool) for _ in range(3))

    def finish(self, of_last: Tensor) -> None:
        """Works out :attr:`next_values`, once all steps and values are there.

        Args:
            of_last: values of :attr:`last_observations`, in their order.
        """
        self.next_values = self.values[1:].clone()
        if self.last_observations:
            steps, envs, _ = zip(*self.last_observations, strict=True)
            self.next_values[th.tensor(steps), th.tensor(envs)] = of_last.cpu()
        self.next_values[self.terminated] = 0.0

    def advantages(self, rewards: Tensor) -> Tensor:
        """``[T, N]``, of rewards ``[T, N]`` as they are learnt from."""
        dones = self.terminated | self.truncated
        return advantages_of(rewards, self.values[:-1], self.next_values, dones, self.gamma, self.gae_lambda)

    def samples(self, rewards: Tensor, observations: Observations) -> "Samples":
        """What to learn from: the valid steps, flat, with advantages and returns.

        Args:
            rewards: ``[T, N]``, as they are learnt from.
            observations: ``[T N, ...]``, as networks read them.
        """
        values, advantages = self.values[:-1], self.advantages(rewards)
        parts = (self.logp, values, advantages, advantages + values)
        found = Samples(observations, self.actions.flatten(0, 1), *(part.flatten(0, 1) for part in parts))
        return found if bool(self.valid.all()) else found.taken(self.valid.flatten().nonzero().squeeze(1))


@dataclass(frozen=True)
class Samples:
    """What an update learns from, flat.

    Attributes:
        observations: ``[B, ...]``.
        actions: ``[B, ...]``.
        logp_old: ``[B]``, under the policy that acted.
        values_old: ``[B]``.
        advantages: ``[B]``.
        returns: ``[B]``, advantages + values.
    """

    observations: Observations
    actions: Tensor
    logp_old: Tensor
    values_old: Tensor
    advantages: Tensor
    returns: Tensor

    def __len__(self) -> int:
        return len(self.advantages)

    def taken(self, index: Tensor) -> Self:
        """The samples at ``index``, each part copied once."""
        return self._each(lambda part: part.index_select(0, index))

    def between(self, start: int, stop: int) -> Self:
        """The samples from ``start`` to ``stop``, as views."""
        return self._each(lambda part: part[start:stop])

    def to(self, device: th.device) -> Self:
        """On another device; themselves if they are there."""
        return self._each(lambda part: part.to(device))

    def _each(self, change: Any) -> Self:
        def changed(part: Any) -> Any:
            return {key: change(one) for key, one in part.items()} if isinstance(part, dict) else change(part)

        return replace(self, **{one.name: changed(getattr(self, one.name)) for one in fields(self)})
