"""Rewards of several signals: where agents keep and read transitions of which ``info["reward_terms"]`` are wanted.

Every environment of ours names the terms of its reward in ``info["reward_terms"]``; an agent that learns from some of
them one by one names those. Actions are one of several choices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, Space
from stable_baselines3.common.buffers import ReplayBuffer
from torch import Tensor

from .base import check_rewards
from .datasets import Episode, Float32, Transitions, episodes_of, load

if TYPE_CHECKING:
    from minari import MinariDataset

TERMS = "reward_terms"


class VectorBatch(NamedTuple):
    """Transitions whose rewards are several."""

    observations: Tensor  # [B, obs]
    actions: Tensor  # [B] int64
    rewards: Tensor  # [B] the environment's own
    terms: Tensor  # [B, m] of the signals, in the order of their names
    next_observations: Tensor  # [B, obs]
    going_on: Tensor  # [B] 0 where the episode terminated, else 1

    def at(self, rows: Tensor) -> "VectorBatch":
        """Those of some ``rows`` ``[n]``."""
        return VectorBatch(*(part[rows] for part in self))

    def to(self, device: th.device | str) -> "VectorBatch":
        """On a device."""
        return VectorBatch(*(part.to(device) for part in self))

    def beside(self, other: "VectorBatch") -> "VectorBatch":
        """These and then those of another."""
        return VectorBatch(*(th.cat(pair) for pair in zip(self, other, strict=True)))


def told(terms: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """The values of some terms, in the order of ``names``.

    Raises:
        ValueError: one that is not among them.
    """
    if absent := [name for name in names if name not in terms]:
        has = ", ".join(sorted(terms)) or "none"
        raise ValueError(f'there is no {absent[0]!r} among the reward_terms ({has}): name those in "auxiliary"')
    return [terms[name] for name in names]


class VectorReplay(ReplayBuffer):
    """SB3's replay buffer with ``terms`` ``[buffer_size, n_envs, m]`` of the environments' ``info["reward_terms"]``.

    Args:
        *args: as of SB3's.
        names: of the terms.
        **kwargs: as of SB3's.
    """

    def __init__(self, *args: Any, names: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = tuple(names)
        self.terms = np.zeros((self.buffer_size, self.n_envs, len(self.names)), np.float32)

    def add(self, *args: Any) -> None:
        """As in SB3.

        Raises:
            ValueError: a term that the environment does not tell, or one that no critic could learn from.
        """
        rows = np.array([told(info.get(TERMS, {}), self.names) for info in args[-1]], np.float64)
        check_rewards(rows)
        self.terms[self.pos] = rows.reshape(self.terms.shape[1:])
        super().add(*args)

    @property
    def transitions(self) -> int:
        """How many are stored."""
        return self.size() * self.n_envs

    def draw(self, n: int) -> VectorBatch:
        """``n`` transitions, each drawn from all stored, on the CPU."""
        drawn = th.randint(self.transitions, (n,)).numpy()
        at = drawn // self.n_envs, drawn % self.n_envs
        going_on = 1 - self.dones[at] * (1 - self.timeouts[at])  # one that a time limit cut off is bootstrapped
        floats = (self.observations[at], self.rewards[at], self.terms[at], self.next_observations[at], going_on)
        seen, rewards, terms, after, open_ = (th.from_numpy(np.asarray(part, np.float32)) for part in floats)
        return VectorBatch(seen, th.from_numpy(self.actions[at][:, 0]).long(), rewards, terms, after, open_)


@dataclass(frozen=True)
class VectorTransitions(Transitions):
    """Transitions of Discrete actions with the terms of their rewards.

    Attributes:
        actions: ``[N]`` whole numbers from 0 on.
        terms: ``[N, m]`` float32.
        names: of the m terms.
    """

    terms: Float32
    names: tuple[str, ...] = ()

    def check(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """As of :class:`~.datasets.Transitions`, and that actions are choices and terms finite numbers.

        Raises:
            ValueError: they do not fit, or cannot be learnt from.
        """
        super().check(observation_space, action_space)
        assert isinstance(action_space, Discrete)
        check_choices(self.actions, action_space, "these transitions hold")
        wanted = (len(self), len(self.names))
        if self.terms.shape != wanted:
            raise ValueError(f"these transitions hold terms of shape {self.terms.shape}, their names need {wanted}")
        check_rewards(self.terms)

    def batch(self, names: Sequence[str]) -> VectorBatch:
        """All of them, with the terms of ``names``.

        Raises:
            ValueError: a name that they do not have.
        """
        columns = told({name: i for i, name in enumerate(self.names)}, names)
        parts = (self.rewards, self.terms[:, columns], self.next_observations, 1 - self.terminations)
        rewards, terms, after, going_on = (th.from_numpy(np.array(part, np.float32)) for part in parts)
        actions = th.from_numpy(np.array(self.actions, np.int64))
        return VectorBatch(th.from_numpy(self.observations), actions, rewards, terms, after, going_on)

    @classmethod
    def from_minari(  # type: ignore[override]
        cls,
        dataset: "MinariDataset | str",
        observation_space: Space[Any],
        action_space: Space[Any],
        names: Sequence[str] = (),
    ) -> Self:
        """Reads a whole dataset, checking it for an agent with these spaces.

        Args:
            dataset: a ``minari.MinariDataset`` that holds infos, or the id of a local one. An episode of T steps has
                ``infos["reward_terms"][name]`` of T numbers, or of T + 1 where that of the reset is the first.
            observation_space: of the agent; a flat ``Box``.
            action_space: of the agent; ``Discrete``.
            names: of terms to read.

        Raises:
            FileNotFoundError: no such local dataset.
            TypeError: neither a dataset nor an id.
            ValueError: one that does not fit the agent, or an episode without one of the terms.
        """
        dataset = load(dataset)
        read = (VectorEpisode(dataset.id, one, names) for one in episodes_of(dataset))
        parts = [one.checked(observation_space, action_space) for one in read]
        if not parts:
            raise ValueError(f"dataset {dataset.id} is empty: an agent needs at least one episode to learn from")
        return cls._joined(parts, names=tuple(names))


class VectorEpisode(Episode):
    """One recorded episode, with the terms of ``names``."""

    def __init__(self, dataset: str, episode: Any, names: Sequence[str]) -> None:
        super().__init__(dataset, episode)
        self.names, self._infos = tuple(names), episode.infos or {}

    def actions(self, steps: int, space: Space[Any]) -> npt.NDArray[Any]:
        """As recorded, ``[T]``."""
        found = self.numbers("actions").reshape(-1)
        if found.shape != (steps,):
            raise ValueError(f"{self.where} holds {len(found)} actions for {steps} steps: one choice a step is needed")
        assert isinstance(space, Discrete)
        check_choices(found, space, f"{self.where} holds")
        return found.astype(np.int64)

    def checked(self, observation_space: Space[Any], action_space: Space[Any]) -> dict[str, npt.NDArray[Any]]:
        """Its arrays by :class:`VectorTransitions`' names."""
        parts = super().checked(observation_space, action_space)
        return parts | {"terms": self.terms(len(parts["rewards"]))}

    def terms(self, steps: int) -> Float32:
        """``[T, m]``, without that of the reset."""
        try:
            columns = [np.asarray(one, np.float64) for one in told(self._infos.get(TERMS, {}), self.names)]
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}") from error
        for name, column in zip(self.names, columns, strict=True):
            if column.shape not in ((steps,), (steps + 1,)):
                raise ValueError(f"{self.where} holds {name} of shape {column.shape}, not one number a step ({steps})")
        found = np.array([column[-steps:] for column in columns]).reshape(len(self.names), steps).T
        check_rewards(found)
        return np.ascontiguousarray(found, np.float32)


def check_choices(actions: npt.NDArray[Any], space: Discrete, what: str) -> None:
    """Raises ``ValueError`` unless all are whole numbers of the space."""
    wrong = (actions != np.floor(actions)) | (actions < space.start) | (actions >= space.start + space.n)
    if wrong.any():
        raise ValueError(
            f"{what} an action outside the agent's space: {actions[np.argmax(wrong)]:g}, allowed are whole numbers "
            f"from {space.start} to {space.start + space.n - 1}"
        )


def is_flat(observation_space: Space[Any], action_space: Space[Any]) -> bool:
    """Whether transitions of these spaces can be kept here: a flat ``Box`` of numbers, and ``Discrete`` from 0 on."""
    flat = isinstance(observation_space, Box) and len(observation_space.shape) == 1
    return flat and isinstance(action_space, Discrete) and int(action_space.start) == 0
