"""Episodes on their way into a dataset: cut from steps of a vector, packed into flat arrays and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from minari.data_collector import EpisodeBuffer

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Episode:
    """One recorded episode of T steps.

    Attributes:
        observations: ``[T + 1, ...]``, the last one included; or a dict of such arrays.
        actions: ``[T, ...]`` in the environment's own units.
        rewards: ``[T]``.
        terminated: whether the task itself ended; otherwise a time limit, or the end of the recording, cut it off.
        policy: who acted.
        infos: named arrays; ``success`` ``[T + 1]`` (false before the first step, as Minari counts infos from the
            reset on) where the environment says so.
        seed: of the reset that began it, where it had its own.
    """

    observations: Any
    actions: Array
    rewards: Array
    terminated: bool
    policy: str
    infos: Mapping[str, Array] = field(default_factory=dict)
    seed: int | None = None

    def __len__(self) -> int:
        """Number of steps, T."""
        return len(self.rewards)

    def buffer(self) -> "EpisodeBuffer":
        """The episode as Minari takes it; whatever did not end by itself ends in a truncation."""
        from minari.data_collector import EpisodeBuffer

        last = np.arange(len(self)) == len(self) - 1
        buffer: EpisodeBuffer = EpisodeBuffer(
            seed=self.seed,
            observations=self.observations,
            actions=self.actions,
            rewards=self.rewards,
            terminations=last & self.terminated,
            truncations=last & (not self.terminated),
            infos=dict(self.infos),
        )
        return buffer


@dataclass
class _Running:
    observations: list[Any]
    seed: int | None
    actions: list[Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    successes: list[bool] = field(default_factory=lambda: [False])


class Tape:
    """Cuts what environments do, step by step, into episodes of one policy."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._running: dict[int, _Running] = {}

    def begin(self, index: int, observation: Any, seed: int | None = None) -> None:
        """An episode begins on ``index``; one that was running there and was not cut is forgotten."""
        self._running[index] = _Running([observation], seed)

    def add(self, index: int, action: Array, reward: float, observation: Any, success: bool) -> None:
        """A step of ``index`` and what it led to."""
        running = self._running[index]
        running.actions.append(action)
        running.rewards.append(reward)
        running.observations.append(observation)
        running.successes.append(success)

    def cut(self, index: int, *, terminated: bool) -> Episode:
        """The episode of ``index``, which is over."""
        done = self._running.pop(index)
        return Episode(
            _stacked(done.observations),
            np.stack(done.actions),
            np.array(done.rewards),
            terminated,
            self._policy,
            {"success": np.array(done.successes)},
            done.seed,
        )

    def cut_all(self) -> list[Episode]:
        """What still runs, as truncated episodes, by environment; those without a step are forgotten."""
        begun = sorted(index for index, running in self._running.items() if running.actions)
        return [self.cut(index, terminated=False) for index in begun]


def _stacked(observations: Sequence[Any]) -> Any:
    if isinstance(observations[0], Mapping):
        return {name: np.stack([one[name] for one in observations]) for name in observations[0]}
    return np.stack(observations)


def packed(episodes: Sequence[Episode]) -> dict[str, Array]:
    """Episodes of one policy as flat arrays, for ``np.savez``."""
    names = ("observations", "actions", "rewards")
    arrays = {name: np.concatenate([getattr(episode, name) for episode in episodes]) for name in names}
    return arrays | {
        "success": np.concatenate([episode.infos["success"] for episode in episodes]),
        "lengths": np.array([len(episode) for episode in episodes]),
        "terminated": np.array([episode.terminated for episode in episodes]),
    }


def unpacked(arrays: Mapping[str, Array], policy: str) -> list[Episode]:
    """What :func:`packed` packed."""
    lengths = arrays["lengths"]
    steps, states = np.cumsum(lengths)[:-1], np.cumsum(lengths + 1)[:-1]
    columns = (
        np.split(arrays["observations"], states),
        np.split(arrays["actions"], steps),
        np.split(arrays["rewards"], steps),
        np.split(arrays["success"], states),
        arrays["terminated"],
    )
    return [
        Episode(observations, actions, rewards, bool(terminated), policy, {"success": success})
        for observations, actions, rewards, success, terminated in zip(*columns, strict=True)
    ]
