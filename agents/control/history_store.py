"""Whole episodes as histories: padded stretches of observations and actions that recurrent agents learn from."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Discrete, Space
from torch import Tensor

from .datasets import Transitions
from .vector_rewards import check_choices

Ints = npt.NDArray[np.int64]


class Histories(NamedTuple):
    """B stretches of at most L steps; what lies beyond a stretch's last step is 0.

    Where L steps are too few for an episode, it is several stretches, of which each begins with an empty memory.
    """

    observations: Tensor  # [B, L + 1, obs] the last one belongs to no action
    actions: Tensor  # [B, L] int64
    rewards: Tensor  # [B, L]
    going_on: Tensor  # [B, L] 0 where a step terminated, else 1
    valid: Tensor  # [B, L] bool

    def to(self, device: th.device | str) -> "Histories":
        """On a device."""
        return Histories(*(part.to(device) for part in self))

    def beside(self, other: "Histories") -> "Histories":
        """These and then those of another, of the same L."""
        return Histories(*(th.cat(pair) for pair in zip(self, other, strict=True)))

    def before(self, none: int) -> Tensor:
        """The action before each observation, ``[B, L + 1]``; ``none`` before the first."""
        return th.cat([th.full_like(self.actions[:, :1], none), self.actions], dim=1)


class HistoryStore:
    """Keeps stretches; the oldest go as these become too many.

    Args:
        capacity: stretches kept.
        length: L, steps of a stretch.
        width: of an observation.
    """

    def __init__(self, capacity: int, length: int, width: int) -> None:
        self.capacity, self.length = capacity, length
        self.count = self.place = 0
        self._of = Histories(
            th.zeros(capacity, length + 1, width),
            th.zeros(capacity, length, dtype=th.int64),
            th.zeros(capacity, length),
            th.zeros(capacity, length),
            th.zeros(capacity, length, dtype=th.bool),
        )

    def __len__(self) -> int:
        """Stretches that are kept."""
        return self.count

    def add(
        self, observations: npt.ArrayLike, actions: npt.ArrayLike, rewards: npt.ArrayLike, ended: npt.ArrayLike
    ) -> None:
        """Adds an episode of T steps.

        Args:
            observations: ``[T + 1, obs]``, the last of them included.
            actions: ``[T]`` counted from 0.
            rewards: ``[T]``.
            ended: whether it terminated, or whether each step did ``[T]``; a time limit is no termination.
        """
        seen, rewarded = (th.as_tensor(np.asarray(part, np.float32)) for part in (observations, rewards))
        taken = th.as_tensor(np.asarray(actions, np.int64))
        going_on = th.ones(len(taken))
        going_on[slice(None) if np.ndim(ended) else slice(-1, None)] -= th.as_tensor(np.asarray(ended, np.float32))
        for first in range(0, len(taken), self.length):
            steps = min(self.length, len(taken) - first)
            for part in self._of:
                part[self.place] = 0
            kept = Histories(*(part[self.place] for part in self._of))
            kept.observations[: steps + 1] = seen[first : first + steps + 1]
            kept.actions[:steps], kept.rewards[:steps] = taken[first : first + steps], rewarded[first : first + steps]
            kept.going_on[:steps], kept.valid[:steps] = going_on[first : first + steps], True
            self.count, self.place = max(self.count, self.place + 1), (self.place + 1) % self.capacity

    def at(self, places: Tensor) -> Histories:
        """Those at some places ``[B]``."""
        return Histories(*(part[places] for part in self._of))

    def all(self) -> Histories:
        """All that are kept."""
        return self.at(th.arange(self.count))

    @classmethod
    def of(cls, data: Transitions, length: int) -> Self:
        """A dataset's episodes.

        Args:
            data: with Discrete actions ``[N]``.
            length: of a stretch.
        """
        lasts = np.flatnonzero(data.ends)
        firsts = lasts + 1 - data.lengths
        made = cls(int((-(-data.lengths // length)).sum()), length, data.observations.shape[1])
        for first, last in zip(firsts, lasts, strict=True):
            steps = slice(first, last + 1)
            seen = np.concatenate([data.observations[steps], data.next_observations[last : last + 1]])
            made.add(seen, data.actions[steps], data.rewards[steps], data.terminations[steps])
        return made


def check_histories(data: Transitions, observation_space: Space[object], action_space: Space[object]) -> None:
    """Refuses transitions that do not fit an agent of flat observations and Discrete actions.

    Raises:
        ValueError: they do not fit, or cannot be learnt from.
    """
    assert isinstance(action_space, Discrete)
    data.check(observation_space, action_space)
    check_choices(data.actions, action_space, "these transitions hold")
