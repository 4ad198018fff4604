"""Whole episodes of dict observations and actions of several parts: how they are kept, read and laid end to end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Dict, Space
from torch import Tensor

from .datasets import load

if TYPE_CHECKING:
    from minari import MinariDataset

Array = npt.NDArray[Any]
SUCCESS = 0.5
"""A return above this is a success, where nothing else says whether an episode was one."""


@dataclass(frozen=True)
class Trajectory:
    """One episode of T steps.

    Attributes:
        observations: by name ``[T + 1, ...]``, the last one included.
        actions: ``[T, parts]``.
        rewards: ``[T]``.
        terminated: whether the task itself ended; else a time limit cut it off.
        success: whether it fulfilled its goal: the outcome r(s_H), 0 or 1, that critics learn.
    """

    observations: Mapping[str, Array]
    actions: Array
    rewards: Array
    terminated: bool
    success: bool

    def __len__(self) -> int:
        """Number of steps, T."""
        return len(self.rewards)


class Running:
    """An episode that is being taken down."""

    def __init__(self, observation: Mapping[str, Array]) -> None:
        self._observations, self._actions, self._rewards = [dict(observation)], [], []  # type: ignore[var-annotated]

    def add(self, action: Array, reward: float, observation: Mapping[str, Array]) -> None:
        """A step and what was seen after it."""
        self._actions.append(np.array(action))
        self._rewards.append(float(reward))
        self._observations.append(dict(observation))

    def ended(self, *, terminated: bool, success: bool | None) -> Trajectory:
        """All of it; None: its return says whether it was a success."""
        seen = {name: np.stack([one[name] for one in self._observations]) for name in self._observations[0]}
        rewards = np.array(self._rewards)
        won = rewards.sum() > SUCCESS if success is None else success
        return Trajectory(seen, np.stack(self._actions), rewards, terminated, bool(won))


class Pool:
    """Trajectories laid end to end: N steps of E episodes, drawn in batches.

    Attributes:
        outcome: success of each episode ``[E]``, 0.0 or 1.0.
        episode: of each step ``[N]``.
        left: steps of the episode after this one, H - h ``[N]``.
        terminal: whether the task ended with this step ``[N]``.
        first: the first step of each episode ``[E]``.
    """

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        if not trajectories:
            raise ValueError("there is nothing to learn from: no episode was given")
        lengths = np.array([len(one) for one in trajectories])
        names = trajectories[0].observations
        self._seen = {name: np.concatenate([one.observations[name] for one in trajectories]) for name in names}
        self.actions = np.concatenate([one.actions for one in trajectories])
        self.outcome = np.array([one.success for one in trajectories], np.float64)
        self.episode = np.repeat(np.arange(len(lengths)), lengths)
        within = np.concatenate([np.arange(n) for n in lengths])
        self.left = lengths[self.episode] - 1 - within
        self.terminal = (self.left == 0) & np.array([one.terminated for one in trajectories])[self.episode]
        self.first = np.flatnonzero(within == 0)
        self._at = np.arange(len(within)) + self.episode  # each episode has one observation more than steps
        self._size = sum((seen != 0).reshape(len(seen), -1).sum(1) for seen in self._seen.values())

    def __len__(self) -> int:
        """Number of steps, N."""
        return len(self.episode)

    def observations(self, steps: Array, device: th.device | str, *, after: bool = False) -> dict[str, Tensor]:
        """What was seen at these steps, or after them."""
        places = self._at[steps] + after
        return {name: th.as_tensor(seen[places], device=device) for name, seen in self._seen.items()}

    def alike(self, steps: Array, parts: int) -> list[Array]:
        """Places in ``steps``, in so many parts, those with the least in their observations first.

        What a network pads to the longest of its batch costs less in such parts.
        """
        return np.array_split(np.argsort(self._size[self._at[steps]], kind="stable"), parts)

    def taken(self, steps: Array, device: th.device | str) -> Tensor:
        """The actions at these steps."""
        return th.as_tensor(self.actions[steps], device=device).long()


def read(
    dataset: "MinariDataset | str | Sequence[Trajectory]", observation_space: Space[Any], action_space: Space[Any]
) -> list[Trajectory]:
    """The episodes of a Minari dataset (or the id of a local one), or those that were given.

    Raises:
        FileNotFoundError: no such dataset.
        ValueError: other spaces than the agent's, no episodes, or actions outside their space.
    """
    if isinstance(dataset, Sequence) and not isinstance(dataset, str):
        found, name = list(dataset), "the trajectories"
        if not found:
            raise ValueError("the trajectories are empty: an agent needs at least one episode to learn from")
    else:
        found, name = _from_minari(dataset, observation_space, action_space)
    for number, one in enumerate(found):
        _check(f"{name}, episode {number}", one, observation_space, action_space)
    return found


def _from_minari(
    dataset: "MinariDataset | str", observation_space: Space[Any], action_space: Space[Any]
) -> tuple[list[Trajectory], str]:
    if isinstance(dataset, str):
        dataset = load(dataset)
    name = f"dataset {dataset.id}"
    for kind, own, agents in (
        ("observations", dataset.observation_space, observation_space),
        ("actions", dataset.action_space, action_space),
    ):
        if own != agents:
            raise ValueError(f"{name} is of another space: its {kind} are {own}, the agent's {agents}")
    return [_episode(one) for one in dataset], name


def _episode(one: Any) -> Trajectory:
    success = (one.infos or {}).get("success")
    won = one.rewards.sum() > SUCCESS if success is None else success[-1]
    return Trajectory(dict(one.observations), one.actions, one.rewards, bool(one.terminations[-1]), bool(won))


def _check(where: str, one: Trajectory, observation_space: Space[Any], action_space: Space[Any]) -> None:
    assert isinstance(observation_space, Dict)
    if not len(one):
        raise ValueError(f"{where} is empty")
    for name, space in observation_space.items():
        wanted = (len(one) + 1, *(space.shape or ()))
        if name not in one.observations or one.observations[name].shape != wanted:
            raise ValueError(f"{where} holds no {name} of shape {wanted}")
    if one.actions.shape != (len(one), *(action_space.shape or ())):
        raise ValueError(f"{where} holds actions of shape {one.actions.shape}, one a step of {action_space} is needed")
    if not np.isfinite(one.rewards).all():
        raise ValueError(f"{where} holds NaN or infinity in its rewards")
    nvec: Any = action_space.nvec  # type: ignore[attr-defined]
    if not ((one.actions >= 0) & (one.actions < nvec)).all():
        raise ValueError(f"{where} holds an action outside {action_space}")
