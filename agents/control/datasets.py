"""Minari datasets as the flat, checked arrays that offline agents learn from."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Space

from ..archive import one_line
from .base import REWARD_LIMIT
from .hdf5 import check_hdf5

if TYPE_CHECKING:
    from minari import MinariDataset

Float32 = npt.NDArray[np.float32]
_KINDS: dict[str, type[np.generic]] = {
    **dict.fromkeys(("observations", "actions", "rewards", "next_observations", "terminations"), np.float32),
    "ends": np.bool_,
    "episodes": np.int64,
    "episode_returns": np.float64,
}
"""Of the arrays of transitions."""

ID = r"([-\w]+/)*[-\w]+-v\d+"
"""Of a dataset; it is also the path of its folder, so there are no dots in it."""
MOST_METADATA = 2**26
"""Bytes of metadata; bounds of spaces of 100,000 numbers are a few million."""
_TOO_LARGE = f"rewards beyond {REWARD_LIMIT:g} cannot be learnt from"
_ROUNDING = 1e-4
"""Of an action space's width: how far actions may lie outside it, as rounding carries them; they are clipped."""


@dataclass(frozen=True)
class Transitions:
    """N transitions of E episodes, in the order in which they happened; all arrays are contiguous.

    Attributes:
        observations: ``[N, obs]`` float32; observations of several dimensions are flattened.
        actions: ``[N, act]`` float32 in the environment's own units, inside its action space.
        rewards: ``[N]`` float32.
        next_observations: ``[N, obs]`` float32; at an episode's end its true last observation.
        terminations: ``[N]`` float32, 1 where the task itself ended: bootstrap with ``(1 - terminations) * value``.
        ends: ``[N]`` bool, the last step of each episode, for whatever reason (a time limit is no termination).
        episodes: ``[N]`` int64, the episode of each step, 0 ... E - 1.
        episode_returns: ``[E]`` float64, undiscounted.
    """

    observations: Float32
    actions: Float32
    rewards: Float32
    next_observations: Float32
    terminations: Float32
    ends: npt.NDArray[np.bool_]
    episodes: npt.NDArray[np.int64]
    episode_returns: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        """Makes arrays of another type, and lists, what is said above; choices (whole numbers) stay what they are."""
        for name, kind in _KINDS.items():
            array = np.asarray(getattr(self, name))
            if name != "actions" or array.dtype.kind == "f":
                with np.errstate(over="ignore"):  # infinity is refused in clearer words
                    array = np.ascontiguousarray(array, kind) if array.ndim else array
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        """Number of transitions, N."""
        return len(self.rewards)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Steps of each episode ``[E]``."""
        return np.bincount(self.episodes, minlength=len(self.episode_returns)).astype(np.int64)

    def returns(self, gamma: float) -> Float32:
        """The discounted return from each step on, ``[N]``: ``G_t = r_t + gamma (1 - terminations_t) G_{t+1}``.

        It goes to the end of the step's episode, or to a termination within it, as some recorders leave behind. A
        truncated episode's return holds what was seen of it: nothing is put in for what a time limit cut off.

        Raises:
            ValueError: ``gamma`` outside [0, 1].
        """
        if not 0 <= gamma <= 1:
            raise ValueError(f"gamma is between 0 and 1, got {gamma}")
        lengths, last = self.lengths, np.flatnonzero(self.ends)
        total, found = np.zeros(len(last)), np.empty_like(self.rewards)
        for back in range(int(lengths.max())):  # all episodes at once, each from its own end
            alive = lengths > back
            steps = last[alive] - back
            total[alive] = self.rewards[steps] + gamma * np.where(self.terminations[steps] > 0, 0, total[alive])
            found[steps] = total[alive]
        return found

    def check(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """Refuses what an agent with these (flat ``Box``) spaces cannot learn from; for arrays not read from Minari.

        Raises:
            ValueError: other shapes, no transitions, NaN, infinity, actions outside ``action_space``, terminations that
                are neither 0 nor 1, rewards beyond :data:`REWARD_LIMIT`, or episodes that do not follow ``ends``.
        """
        if not len(self):
            raise ValueError("these transitions are empty: an agent needs at least one episode to learn from")
        self._check_shapes(observation_space.shape or (), action_space.shape or ())
        for name in ("observations", "next_observations", "actions", "rewards", "terminations"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"these transitions hold NaN or infinity in their {name}")
        largest = float(np.abs(self.rewards).max())
        if largest > REWARD_LIMIT:
            raise ValueError(f"these transitions hold a reward of {largest:g}: {_TOO_LARGE}; scale them")
        if isinstance(action_space, Box) and (said := _outside(self.actions.reshape(len(self), -1), action_space)):
            raise ValueError(f"these transitions hold an action outside the agent's space: {said}")
        if (odd := ~np.isin(self.terminations, (0, 1))).any():
            worst = self.terminations[odd][0]
            raise ValueError(f"these transitions hold a termination of {worst:g}: it is 1 where the task ended, else 0")
        if not self.ends[-1]:
            raise ValueError("these transitions break off within an episode: the last of their ends must be True")
        if (self.episodes != np.cumsum(self.ends) - self.ends).any():
            raise ValueError("these transitions do not number their episodes 0, 1, ..., one more after each of ends")
        if self.episode_returns.shape != (count := (int(self.ends.sum()),)):
            raise ValueError(
                f"these transitions hold episode_returns of shape {self.episode_returns.shape}, their ends need {count}"
            )

    def _check_shapes(self, observation: tuple[int, ...], action: tuple[int, ...]) -> None:
        steps = len(self.observations) if self.observations.ndim else 0
        shapes = {"observations": observation, "next_observations": observation, "actions": action}
        for name in ("observations", "next_observations", "actions", "rewards", "terminations", "ends", "episodes"):
            array, wanted = getattr(self, name), (steps, *shapes.get(name, ()))
            if array.shape != wanted:
                raise ValueError(
                    f"these transitions hold {name} of shape {array.shape}, the agent needs {wanted} for {steps} steps"
                )

    @classmethod
    def from_minari(
        cls, dataset: "MinariDataset | str", observation_space: Space[Any], action_space: Space[Any]
    ) -> "Transitions":
        """Reads a whole dataset, checking it for an agent with these spaces.

        Args:
            dataset: a ``minari.MinariDataset``, or the id of a local one.
            observation_space: of the agent; a ``Box``.
            action_space: of the agent; a ``Box``.

        Raises:
            FileNotFoundError: no such local dataset.
            TypeError: neither a dataset nor an id, or a space (the agent's or the dataset's) that is not a ``Box``.
            ValueError: a dataset of another shape, an empty one, or one with NaN, infinity, actions outside
                ``action_space`` or rewards beyond :data:`REWARD_LIMIT`; the message names the episode.
        """
        dataset = load(dataset)
        for kind, own, agents in (
            ("observations", dataset.observation_space, observation_space),
            ("actions", dataset.action_space, action_space),
        ):
            _check_space(dataset.id, kind, own, agents)
        parts = [Episode(dataset.id, one).checked(observation_space, action_space) for one in episodes_of(dataset)]
        if not parts:
            raise ValueError(f"dataset {dataset.id} is empty: an agent needs at least one episode to learn from")
        return cls._joined(parts)

    @classmethod
    def _joined(cls, parts: Sequence[dict[str, npt.NDArray[Any]]], **rest: Any) -> Self:
        arrays: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        lengths = [len(part["rewards"]) for part in parts]
        ends = np.zeros(sum(lengths), np.bool_)
        ends[np.cumsum(lengths) - 1] = True
        return cls(
            **arrays,
            **rest,
            ends=ends,
            episodes=np.repeat(np.arange(len(parts)), lengths),
            episode_returns=np.array([part["rewards"].sum(dtype=np.float64) for part in parts]),
        )


def load(dataset: "MinariDataset | str") -> "MinariDataset":
    """The dataset itself, or the local one with this id.

    Raises:
        FileNotFoundError: no such local dataset.
        TypeError: neither a dataset nor an id.
        ValueError: not an id of Minari's form, ``namespace/name-v0``.
    """
    import minari  # late: it brings HDF5, which an agent that never sees data does not need
    from minari.storage import get_dataset_path

    if isinstance(dataset, minari.MinariDataset):
        with readable(dataset.id):
            _check_folder(Path(dataset.storage.data_path))
        return dataset
    if not isinstance(dataset, str):
        raise TypeError(f"a dataset is a minari.MinariDataset or the id of one, got {type(dataset).__name__}")
    if not re.fullmatch(ID, dataset):
        raise ValueError(f"a dataset's id is like tiltyard/hopper/medium-v0, got {dataset!r}")
    folder = Path(get_dataset_path(dataset)) / "data"
    if not folder.exists():
        raise FileNotFoundError(
            f"there is no local dataset {dataset}: make it with tiltyard dataset make, or fetch a published one with "
            f"minari download {dataset} (both look where MINARI_DATASETS_PATH says)"
        )
    with readable(dataset):
        _check_folder(folder)
        return minari.MinariDataset(folder)


@contextmanager
def readable(dataset: str) -> Iterator[None]:
    """Whatever Minari, HDF5 and we find wrong with the files of ``dataset`` becomes one ``ValueError``."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"dataset {dataset} cannot be read ({one_line(error)}): make it again, or fetch another copy of it"
        ) from error


def _check_folder(folder: Path) -> None:
    """Refuses a dataset that could make Minari run code or take memory without end.

    Minari asks the environment for spaces that are not in the metadata, and would import whatever these name as the
    environment's class.
    """
    if (size := (folder / "metadata.json").stat().st_size) > MOST_METADATA:
        raise ValueError(f"its metadata have {size:,} bytes, and {MOST_METADATA:,} are the most that are read")
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    for name in ("observation_space", "action_space", "dataset_id", "data_format", "minari_version"):
        if not isinstance(metadata, dict) or not isinstance(metadata.get(name), str):
            raise ValueError(f"its metadata do not say its {name}, and nobody else is asked")
    if not re.fullmatch(ID, metadata["dataset_id"]):
        raise ValueError(f"its metadata call it {metadata['dataset_id']!r:.50}")
    if metadata["data_format"] == "hdf5":
        import h5py  # type: ignore[import-untyped]

        with h5py.File(folder / "main_data.hdf5", "r") as file:
            check_hdf5(file)
            if metadata.get("total_episodes") != len(file):
                raise ValueError(
                    f"it says that it has {metadata.get('total_episodes')!r:.50} episodes, not {len(file)}"
                )


def episodes_of(dataset: "MinariDataset") -> "Iterator[Any]":
    """The episodes."""
    episodes = iter(dataset)
    while True:
        with readable(dataset.id):
            episode = next(episodes, None)
        if episode is None:
            return
        yield episode


def _check_space(name: str, kind: str, own: Space[Any], agents: Space[Any]) -> None:
    if not isinstance(agents, Box):
        raise TypeError(f"learning from a dataset needs Box {kind}, but those of this agent are {agents}")
    if not isinstance(own, Box):
        raise TypeError(f"dataset {name} holds {kind} of {own}: only Box {kind} can be learnt from")
    if own.shape != agents.shape:
        raise ValueError(
            f"dataset {name} is of another space: its {kind} have shape {own.shape}, the agent's {agents.shape}"
        )


class Episode:
    """One recorded episode of T steps, on its way into arrays."""

    def __init__(self, dataset: str, episode: Any) -> None:
        self.where = f"dataset {dataset}: episode {episode.id}"
        self._episode = episode

    def checked(self, observation_space: Space[Any], action_space: Space[Any]) -> dict[str, npt.NDArray[Any]]:
        """Its arrays by :class:`Transitions`' names."""
        rewards, terminations = self.numbers("rewards"), self.numbers("terminations")
        steps = len(rewards)
        if not steps:
            raise ValueError(f"{self.where} has no steps")
        if terminations.shape != (steps,) or rewards.shape != (steps,):
            raise ValueError(f"{self.where} does not hold one reward and one termination flag a step")
        observations = self.floats("observations", steps + 1, observation_space)
        return {
            "observations": observations[:-1],
            "actions": self.actions(steps, action_space),
            "rewards": self.rewards(),
            "next_observations": observations[1:],
            "terminations": terminations.astype(np.float32),
        }

    def actions(self, steps: int, space: Space[Any]) -> npt.NDArray[Any]:
        """``[steps, size]`` float32, inside the space."""
        return self._inside(self.floats("actions", steps, space), space)

    def numbers(self, kind: str) -> npt.NDArray[Any]:
        """One field as it is, if it is of numbers."""
        values = np.atleast_1d(np.asarray(getattr(self._episode, kind)))
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{self.where} holds {kind} that are no numbers")
        return values

    def floats(self, kind: str, steps: int, space: Space[Any]) -> Float32:
        """One field as ``[steps, size]`` float32, all of it finite."""
        values = self.numbers(kind)
        if values.shape != (steps, *(space.shape or ())):
            raise ValueError(f"{self.where} holds {kind} of shape {values.shape}, not {(steps, *(space.shape or ()))}")
        with np.errstate(over="ignore"):
            found = values.reshape(steps, -1).astype(np.float32)
        if not np.isfinite(found).all():
            raise ValueError(f"{self.where} holds NaN or infinity in its {kind}")
        return found

    def rewards(self) -> Float32:
        """``[steps]`` float32, none of them too large."""
        rewards = self.numbers("rewards").astype(np.float64)
        if not np.isfinite(rewards).all():
            raise ValueError(f"{self.where} holds NaN or infinity in its rewards")
        largest = rewards[np.abs(rewards).argmax()]
        if abs(largest) > REWARD_LIMIT:
            raise ValueError(
                f"{self.where} holds a reward of {largest:g}: {_TOO_LARGE}; scale them or drop the episode"
            )
        return rewards.astype(np.float32)

    def _inside(self, actions: Float32, space: Space[Any]) -> Float32:
        assert isinstance(space, Box)
        if said := _outside(actions, space):
            raise ValueError(f"{self.where} holds an action outside the agent's space: {said}")
        return np.clip(actions, space.low.reshape(-1), space.high.reshape(-1)).astype(np.float32)


def _outside(actions: npt.NDArray[Any], space: Box) -> str:
    """The first of ``actions`` ``[N, size]`` that lies outside, by more than rounding, in words; "" if none does."""
    low, high = space.low.reshape(-1), space.high.reshape(-1)
    margin = np.nan_to_num(_ROUNDING * (high - low), posinf=0.0)
    outside = (actions < low - margin) | (actions > high + margin)
    if not outside.any():
        return ""
    step, entry = np.argwhere(outside)[0]
    found = f"{actions[step, entry]:g}, allowed are {low[entry]:g} to {high[entry]:g}"
    return f"entry {entry} of step {step} is {found}"
