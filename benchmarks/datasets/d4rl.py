"""D4RL's HDF5 files as Minari datasets, without the unmaintained d4rl package.

A file holds flat arrays: ``observations``, ``actions``, ``rewards``, ``terminals``, from v1 on ``timeouts``, in some
tasks ``next_observations``, beside them ``infos/...`` a step and ``metadata/...``. An episode ends at a terminal or a
timeout; in a file without timeouts also when the environment's time limit is reached.

Where an episode's last observation comes from: ``next_observations`` has it. Without these, what a step led to is the
following observation, and the last step of an episode has none: after a terminal, where no learner looks at it, the
last observation stands twice; a step cut off by a timeout, or by the end of the file, is left out (as in D4RL's own
``qlearning_dataset``) and the one before it truncates. The unfinished episode at the end of a file is kept, truncated.

Format: d4rl/offline_env.py and scripts/generation/mujoco/collect_data.py of Farama-Foundation/D4RL (Fu et al. 2020).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...agents.archive import one_line
from ...agents.control.hdf5 import check_hdf5
from .. import provenance
from .d4rl_scores import SCORES, d4rl_normalise
from .episodes import Array, Episode
from .store import check_free, write

if TYPE_CHECKING:
    import h5py  # type: ignore[import-untyped]
    from minari import MinariDataset

    from ...envs.catalogue import Row

__all__ = ["d4rl_normalise", "import_d4rl", "read_d4rl"]

NEEDED = ("observations", "actions", "rewards", "terminals")


def import_d4rl(
    path: str | Path, env_id: str, *, task: str | None = None, dataset_id: str | None = None, force: bool = False
) -> "MinariDataset":
    """Reads a D4RL file and stores it as a Minari dataset.

    Args:
        path: of the file, as D4RL published it.
        env_id: the environment of ours with the same observations and actions; the dataset's environment from then on.
        task: D4RL's name, such as ``hopper-medium-v2``, for its reference scores; by default the file's name says it.
            Where D4RL has no scores, those of ``env_id`` are kept.
        dataset_id: ``d4rl/hopper/medium-v2`` for ``hopper-medium-v2`` by default.
        force: whether to overwrite a dataset of that id.

    Raises:
        FileExistsError: there is such a dataset, and no ``force``.
        FileNotFoundError: no such file.
        KeyError: no such environment, or a ``task`` without reference scores.
        ValueError: not a D4RL file, or one of another space, or with NaN in it.
    """
    from ...envs.catalogue import find_scored
    from .record import boxed

    row = find_scored(env_id)
    if task is not None:
        d4rl_normalise(task, 0.0)
    named = task or task_of(Path(path))
    dataset_id = dataset_id or _id(named)
    check_free(dataset_id, force)
    env = boxed(env_id)
    arrays, described = _arrays(Path(path))
    _check(Path(path), arrays, env)
    metadata = {
        "algorithm_name": str(described.get("algorithm", "unknown")),
        "description": f"{Path(path).name} of D4RL",
        **_references(named, row),
        "tiltyard": {
            "d4rl": {"file": Path(path).name, "task": named, "metadata": described},
            "env_id": env_id,
            "versions": provenance.versions(),
            "commit": provenance.commit(),
        },
    }
    episodes = list(_episodes(arrays, row.max_episode_steps))
    return write(dataset_id, episodes, env, metadata, force=force)


def _references(task: str, row: "Row") -> dict[str, float]:
    random, expert = SCORES.get(task, (row.random_score, row.expert_score))
    return {"ref_min_score": random, "ref_max_score": expert}


def read_d4rl(path: str | Path, max_episode_steps: int) -> list[Episode]:
    """The episodes of a file; see the module for how they are cut.

    Args:
        path: of the file.
        max_episode_steps: the time limit, used where the file has no timeouts.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a D4RL file.
    """
    arrays, _ = _arrays(Path(path))
    return list(_episodes(arrays, max_episode_steps))


def task_of(path: Path) -> str:
    """D4RL's name of a published file: ``hopper-medium-v2`` for ``hopper_medium-v2.hdf5``; v0 where none is given.

    >>> task_of(Path("walker2d_mixed.hdf5"))
    'walker2d-medium-replay-v0'
    """
    name = path.stem.lower().replace("_", "-").replace("-sparse", "").replace("-mixed", "-medium-replay")
    name = re.sub(r"^walker-", "walker2d-", name)
    return name if re.search(r"-v\d+$", name) else f"{name}-v0"


def _id(task: str) -> str:
    """``d4rl/hopper/medium-v2``; a name without a second part keeps its version alone."""
    name, _, rest = task.partition("-")
    return f"d4rl/{name}/{rest}" if not re.fullmatch(r"v\d+", rest) else f"d4rl/{task}"


def _arrays(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays a step, checked for their lengths, and the scalars of ``metadata``."""
    import h5py

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: D4RL's data sets are HDF5 files to be downloaded first")
    if not h5py.is_hdf5(path):
        raise ValueError(f"{path} is not an HDF5 file")
    try:
        with h5py.File(path, "r") as file:
            missing = [name for name in NEEDED if name not in set(file)]
            arrays, described = ({}, {}) if missing else _contents(file)
    except Exception as error:  # HDF5 has many kinds of errors for broken files
        raise ValueError(f"{path} is not a D4RL file, or is damaged ({one_line(error)}): download it again") from error
    if missing:
        raise ValueError(f"{path} is not a D4RL file: it lacks {', '.join(missing)}")
    steps = len(arrays["rewards"])
    for name in ("rewards", "terminals", "timeouts"):
        if name in arrays and arrays[name].shape == (steps, 1):
            arrays[name] = arrays[name][:, 0]
    flat = all(arrays[name].shape == (steps,) for name in ("rewards", "terminals"))
    if not steps or not flat or any(len(part) != steps for part in arrays.values()):
        found = ", ".join(f"{name} {part.shape}" for name, part in arrays.items())
        raise ValueError(f"{path} is not a D4RL file: its arrays are empty or not of one length ({found})")
    return arrays, described


def _contents(file: "h5py.File") -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays and scalars of a file that holds nothing else than files of D4RL do."""
    check_hdf5(file)
    arrays = {name: file[name][()] for name in (*NEEDED, "timeouts", "next_observations") if name in file}
    arrays |= {f"infos/{name}": part[()] for name, part in _leaves(file.get("infos"))}
    for name, array in arrays.items():
        if array.ndim < 1 or array.dtype.kind not in "biuf":
            raise ValueError(f"its {name} are no numbers a step")
    return arrays, {name: _scalar(part[()]) for name, part in _leaves(file.get("metadata")) if part.shape == ()}


def _leaves(group: "h5py.Group | None", prefix: str = "") -> "Iterator[tuple[str, h5py.Dataset]]":
    for name, part in () if group is None else group.items():
        if hasattr(part, "items"):
            yield from _leaves(part, f"{prefix}{name}/")
        else:
            yield prefix + name, part


def _scalar(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value.item()


def _check(path: Path, arrays: Mapping[str, Array], env: Any) -> None:
    for name, space in (("observations", env.observation_space), ("actions", env.action_space)):
        if arrays[name].shape[1:] != space.shape:
            raise ValueError(
                f"{path} is of another space: its {name} have shape {arrays[name].shape[1:]}, those of "
                f"{env.spec.id} {space.shape}"
            )


def _episodes(arrays: Mapping[str, Array], max_episode_steps: int) -> Iterator[Episode]:
    terminals = arrays["terminals"].astype(bool)
    timeouts = arrays["timeouts"].astype(bool) if "timeouts" in arrays else None
    start = 0
    for stop, terminated in _ends(terminals, timeouts, max_episode_steps):
        episode = _cut(arrays, start, stop, terminated)
        if len(episode):
            yield episode
        start = stop


def _ends(terminals: Array, timeouts: Array | None, limit: int) -> Iterator[tuple[int, bool]]:
    """For each episode the index after its last step, and whether a terminal ended it."""
    start = 0
    flagged = np.flatnonzero(terminals if timeouts is None else terminals | timeouts) + 1
    for stop in [*flagged.tolist(), len(terminals)]:
        if timeouts is None:
            while stop - start > limit:
                start += limit
                yield start, bool(terminals[start - 1])
        if stop > start:
            yield stop, bool(terminals[stop - 1])
            start = stop


def _cut(arrays: Mapping[str, Array], start: int, stop: int, terminated: bool) -> Episode:
    observations = arrays["observations"]
    if "next_observations" in arrays:
        states = np.concatenate((observations[start:stop], arrays["next_observations"][stop - 1 : stop]))
    elif terminated:
        states = np.concatenate((observations[start:stop], observations[stop - 1 : stop]))
    else:  # what its last step led to was not recorded
        states, stop = observations[start:stop], stop - 1
    infos = {name.partition("/")[2]: part[start:stop] for name, part in arrays.items() if name.startswith("infos/")}
    return Episode(
        states, arrays["actions"][start:stop], arrays["rewards"][start:stop], terminated, "d4rl", _nested(infos)
    )


def _nested(infos: Mapping[str, Array]) -> dict[str, Any]:
    """``{"a/b": x}`` as ``{"a": {"b": x}}``."""
    nested: dict[str, Any] = {}
    for name, part in infos.items():
        *folders, leaf = name.split("/")
        inner = nested
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[leaf] = part
    return nested
