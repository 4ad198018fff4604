"""Replay buffers as plain arrays and back: SB3's, with those of hindsight and those that store observations once."""

import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.her import HerReplayBuffer

from .replay import RowReplay

Arrays = dict[str, npt.NDArray[Any]]
HINDSIGHT = ("episode_start", "episode_length")
UNFINISHED = "steps_of_unfinished_episode"
"""``[n_envs]``: of a hindsight buffer, how many of the newest transitions are of an episode that has not ended."""


def arrays_of(buffer: ReplayBuffer) -> Arrays:
    """The arrays of a buffer, each ``[buffer_size, n_envs, ...]``, as views."""
    arrays: Arrays = {"actions": buffer.actions, "rewards": buffer.rewards, "dones": buffer.dones}
    arrays["timeouts"] = buffer.timeouts
    for name in ("returns", "terms"):
        if isinstance(own := getattr(buffer, name, None), np.ndarray):
            arrays[name] = own
    if isinstance(buffer, HerReplayBuffer):
        arrays |= dict(zip(HINDSIGHT, (buffer.ep_start, buffer.ep_length), strict=True))
    for name in ("observations",) if buffer.optimize_memory_usage else ("observations", "next_observations"):
        stored = getattr(buffer, name)
        if isinstance(buffer, DictReplayBuffer):
            arrays |= {f"{name}/{key}": part for key, part in stored.items()}
        else:
            arrays[name] = stored
    return arrays


def _whole(buffer: ReplayBuffer) -> Arrays:
    """Arrays of a buffer whose rows are no transitions in order of time."""
    found: Arrays = buffer.saved_whole() if hasattr(buffer, "saved_whole") else {}
    return found


def contents(buffer: ReplayBuffer) -> Arrays:
    """Everything that a buffer holds, oldest transition first.

    Of a buffer that stores observations once (``optimize_memory_usage``) there is one more of them than of the rest,
    unless it is full: then the oldest transition has lost its observation, as it has in the buffer itself.

    Raises:
        TypeError: a ``HerReplayBuffer`` that copies infos, which are no arrays.
    """
    if isinstance(buffer, HerReplayBuffer) and buffer.copy_info_dict:
        raise TypeError(
            "a HerReplayBuffer with copy_info_dict=True holds whatever the environment put into its infos, which "
            "cannot be saved as plain arrays: leave copy_info_dict out, or do not save the buffer"
        )
    found = {name: _oldest_first(buffer, stored) for name, stored in arrays_of(buffer).items()} | _whole(buffer)
    if buffer.optimize_memory_usage and not buffer.full:
        found["observations"] = buffer.observations[: buffer.pos + 1]
    if isinstance(buffer, HerReplayBuffer):
        if buffer.full:  # positions are counted from the oldest transition
            found["episode_start"] = (found["episode_start"] - buffer.pos) % buffer.buffer_size
        found[UNFINISHED] = (buffer.pos - buffer._current_ep_start) % buffer.buffer_size
    return found


def _oldest_first(buffer: ReplayBuffer, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.roll(stored, -buffer.pos, axis=0) if buffer.full else stored[: buffer.pos]


def check(archive: zipfile.ZipFile, buffer: ReplayBuffer) -> None:
    """Reads the sizes of stored arrays and nothing else.

    Raises:
        ValueError: they are not those of ``buffer``, or longer, or hold something else than numbers.
    """
    own, whole, shapes = arrays_of(buffer), _whole(buffer), _shapes(archive)
    known = {*own, *whole, *((UNFINISHED,) if isinstance(buffer, HerReplayBuffer) else ())}
    if shapes.keys() != known:
        raise ValueError(f"it holds {sorted(shapes)}, but this agent's replay buffer has {sorted(known)}")
    length = shapes["rewards"][:1]
    for name, array in own.items():
        shape, lengths = shapes[name], {length}
        if buffer.optimize_memory_usage and name == "observations" and length[0] < len(array):
            lengths = {(length[0] + 1,)}
        if shape[1:] != array.shape[1:] or shape[:1] not in lengths or shape[0] > len(array):
            raise ValueError(
                f"it holds {name} of shape {shape}, which does not fit this agent's {array.shape}: spaces and number "
                "of environments must be equal, buffer_size at least as large (and equal with optimize_memory_usage)"
            )
    for name, array in whole.items():
        if shapes[name] != array.shape:
            raise ValueError(f"it holds {name} of shape {shapes[name]}, not this agent's {array.shape}")
    if shapes.get(UNFINISHED, (buffer.n_envs,)) != (buffer.n_envs,):
        raise ValueError(f"it holds {UNFINISHED} of shape {shapes[UNFINISHED]}, not one number an environment")


def _shapes(archive: zipfile.ZipFile) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for info in archive.infolist():
        with archive.open(info) as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError(f"its {info.filename} is no plain array")
            found[info.filename.removesuffix(".npy")], _, dtype = np.lib.format.read_array_header_1_0(member)
        if dtype.kind not in "biuf":
            raise ValueError(f"its {info.filename} holds {dtype}, which are no numbers")
    return found


def fill(buffer: ReplayBuffer, stored: Arrays) -> None:
    """Puts what :func:`contents` gave into a buffer, for which :func:`check` has found that it fits.

    Raises:
        ValueError: episodes of a hindsight buffer that lie outside it.
    """
    filled = len(stored["rewards"])
    if isinstance(buffer, HerReplayBuffer):
        _check_episodes(stored, filled)
    for name, array in arrays_of(buffer).items():
        array[: len(stored[name])] = stored[name]
    for name, array in _whole(buffer).items():
        array[:] = stored[name]
    buffer.full = filled == buffer.buffer_size
    buffer.pos = filled % buffer.buffer_size
    if isinstance(buffer, RowReplay):
        buffer.forget_drawn()
    if isinstance(buffer, HerReplayBuffer):
        buffer._current_ep_start = (buffer.pos - stored[UNFINISHED]) % buffer.buffer_size


def _check_episodes(stored: Arrays, filled: int) -> None:
    """Raises ``ValueError`` unless every stored episode lies between the oldest and the newest transition."""
    start, length = (stored[name].astype(np.int64) for name in HINDSIGHT)
    whole = length > 0
    inside = (start >= 0) & (start < max(filled, 1)) & (length >= 0) & (length <= filled)
    if not inside.all() or (whole & (start + length > filled)).any():
        raise ValueError("its episodes lie outside of its transitions")
    if not ((stored[UNFINISHED] >= 0) & (stored[UNFINISHED] <= filled)).all():
        raise ValueError(f"its {UNFINISHED} is more than its transitions")
