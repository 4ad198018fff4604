"""A catalogue of small datasets, each made by one command, with a digest of what it holds: D5RL's kinds, in the house.

Three tasks (a ball in a maze, a legged robot in a maze, an arm at a cabinet) times three ways of coming by data, and
one of these in the ball's smallest maze:
``expert`` is the environment's scripted expert, ``scripted`` the same with noise and slips, ``play`` the expert that
follows goals of its own (:mod:`.play`). Rewards are of the task's goal, 1 on reaching it; agents are evaluated in the
environment as it is, whatever the recording has changed (shorter episodes, starts nearer to the goal).

A dataset is the same, bit for bit, wherever the processor's kind and the versions of what computes are. Elsewhere
the last bits of a simulation may differ, and contacts make that other episodes: so the digest of the arrays is kept in
the dataset and verified at each loading, the catalogue's must be met where :data:`REFERENCE` is, and elsewhere the
share of solved episodes is compared (:meth:`Dataset.tolerance`).

Paper: D5RL: Diverse Datasets for Data-Driven Deep Reinforcement Learning (Rafailov et al. 2024). Departures: states
instead of images; our tasks in place of the A1, the WidowX and the Franka kitchens; scripts that play, where people
teleoperate; tens of thousands of transitions.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from ... import unknown
from ...envs.catalogue import find_scored
from ...envs.seeding import generator
from .. import provenance
from .episodes import Array, Episode
from .make import Bar, silent

if TYPE_CHECKING:
    from minari import MinariDataset

DECISIVE = ("tiltyard", "numpy", "gymnasium", "mujoco")
"""Versions that what is recorded hangs on: no network acts."""
REFERENCE: Mapping[str, str] = {
    "processor": "AMD EPYC 25/17 avx avx2 fma avx512f",
    "tiltyard": "0.1.0",
    "numpy": "2.4.6",
    "gymnasium": "1.4.0",
    "mujoco": "3.11.0",
}
"""The processor and the versions with which the digests below were made."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A row.

    Attributes:
        id: of the dataset.
        env_id: the task.
        policy: who acts.
        episodes: how many.
        seed: that the episodes' own are drawn by.
        noise: on its actions, see :func:`.record.record`.
        recording: the environment's keywords while it is recorded, and then no more.
        sha256: of all arrays (:func:`digest`), made with :data:`REFERENCE`.
        steps: transitions, made likewise, as is what follows.
        success: share of the episodes in which the task was solved; as rewards are 1 then and else 0, the mean return.
    """

    id: str
    env_id: str
    policy: str
    episodes: int
    seed: int = 0
    noise: float = 0.0
    recording: Mapping[str, Any] = field(default_factory=dict)
    sha256: str
    steps: int
    success: float

    @property
    def command(self) -> str:
        """That makes it."""
        return f"tiltyard dataset catalogue --make {self.id}"

    @property
    def tolerance(self) -> float:
        """How far the share of solved episodes may be from the row's on other processors and versions.

        Four standard errors of a difference of two shares of E episodes each, ``4 sqrt(2 p (1 - p) / E)``, with p kept
        1 / E away from 0 and 1: more than chance does once in ten thousand times.
        """
        p = min(max(self.success, 1 / self.episodes), 1 - 1 / self.episodes)
        return 4 * math.sqrt(2 * p * (1 - p) / self.episodes)

    def record(self, seed: int | None = None, episodes: int | None = None, bar: Bar = silent) -> list[Episode]:
        """The episodes, in order; those of another seed, or the first of them, if asked."""
        from .record import record

        count = self.episodes if episodes is None else episodes
        rng = generator(self.seed if seed is None else seed, crc32(self.policy.encode()))
        seeds = rng.integers(2**31, size=count).tolist()
        with bar(f"recording {self.id}", count) as progress:
            return record(
                self.env_id,
                self.policy,
                seeds,
                env_kwargs=self.recording,
                noise=self.noise,
                progress=progress,
            )


MAZES, CABINET = {"min_path": 1, "max_episode_steps": 100}, {"max_episode_steps": 60}
SMALLEST = {"min_path": 1, "max_episode_steps": 40}
"""While playing: any start and goal, and episodes that are too short for a whole solution, or for most."""

ROWS: tuple[Dataset, ...] = (
    Dataset(
        id="tiltyard/d5rl/point-maze-expert-v0",
        env_id="tiltyard/PointMazeMedium-v0",
        policy="expert",
        episodes=60,
        sha256="5939acd255230d1d475214816a1d5b6ef008ac8bc8b87e27ef70d04549db8433",
        steps=10271,
        success=1.0,
    ),
    Dataset(
        id="tiltyard/d5rl/point-maze-scripted-v0",
        env_id="tiltyard/PointMazeMedium-v0",
        policy="scripted",
        episodes=60,
        noise=0.3,
        sha256="e2c134fbc625be617de7080a878839abccce4294c09e783fa7f9aa15e86a3433",
        steps=11651,
        success=1.0,
    ),
    Dataset(
        id="tiltyard/d5rl/point-maze-play-v0",
        env_id="tiltyard/PointMazeMedium-v0",
        policy="play",
        episodes=200,
        noise=0.3,
        recording=MAZES,
        sha256="b5d2fd5eeb7b3c0f3d3698e427c2975256be6cf0b8b31856d0d724b3ffa200f9",
        steps=18814,
        success=0.11,
    ),
    Dataset(
        id="tiltyard/d5rl/point-umaze-play-v0",
        env_id="tiltyard/PointMaze-v0",
        policy="play",
        episodes=300,
        noise=0.3,
        recording=SMALLEST,
        sha256="9de29e8f10e4c66535f8cee003014b648011df3c3ee4af7bcb32d408540a5d8d",
        steps=11107,
        success=0.1967,
    ),
    Dataset(
        id="tiltyard/d5rl/ant-maze-expert-v0",
        env_id="tiltyard/AntMaze-v0",
        policy="expert",
        episodes=40,
        sha256="0862a51775c60567203d8e4ee1c947e010afe8632fe12745e758c22593f90a82",
        steps=10475,
        success=0.95,
    ),
    Dataset(
        id="tiltyard/d5rl/ant-maze-scripted-v0",
        env_id="tiltyard/AntMaze-v0",
        policy="scripted",
        episodes=40,
        noise=0.1,
        sha256="05345036cce763ef4e1913f189cb76a4304e8331d5b8a4f0799d9b9da9029231",
        steps=23202,
        success=0.425,
    ),
    Dataset(
        id="tiltyard/d5rl/ant-maze-play-v0",
        env_id="tiltyard/AntMaze-v0",
        policy="play",
        episodes=100,
        noise=0.1,
        recording=MAZES,
        sha256="634f066be419bf11498fe2161a525cf337f449b6b21cee8c5a9ca9a239991936",
        steps=9846,
        success=0.05,
    ),
    Dataset(
        id="tiltyard/d5rl/drawer-door-expert-v0",
        env_id="tiltyard/DrawerDoor-v0",
        policy="expert",
        episodes=100,
        sha256="2d85aa19eeaacc2f5cdf38da4dba6a719cb05e86c1810630d24c975fc5292d66",
        steps=3068,
        success=1.0,
    ),
    Dataset(
        id="tiltyard/d5rl/drawer-door-scripted-v0",
        env_id="tiltyard/DrawerDoor-v0",
        policy="scripted",
        episodes=100,
        noise=0.2,
        sha256="bc0e2d6e5c8b5afac7d6b03f2fb8b7a9987cbf3c5b1f579cb9edbe37fc7805e2",
        steps=6008,
        success=0.87,
    ),
    Dataset(
        id="tiltyard/d5rl/drawer-door-play-v0",
        env_id="tiltyard/DrawerDoor-v0",
        policy="play",
        episodes=200,
        noise=0.2,
        recording=CABINET,
        sha256="e843aee630053d78cdf7d4bd0f5f2265f94aa0214651a7c8e2e00801fa4df83c",
        steps=11174,
        success=0.16,
    ),
)


def find(dataset_id: str) -> Dataset:
    """The row of an id.

    Raises:
        KeyError: there is none.
    """
    for row in ROWS:
        if row.id == dataset_id:
            return row
    raise KeyError(unknown("dataset", dataset_id, [row.id for row in ROWS]))


def digest(episodes: Iterable[Any]) -> str:
    """SHA-256 over all that is recorded of steps: ours or Minari's episodes give the same.

    For each episode and each of observations ``[T + 1, ...]``, actions, rewards and terminations ``[T, ...]``: name,
    type, shape and the numbers in the order of their indices, all little-endian.
    """
    found = sha256()
    for episode in episodes:
        for name, array in _arrays(episode).items():
            little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
            found.update(f"{name} {little.dtype.str} {little.shape}".encode())
            found.update(little.tobytes())
    return found.hexdigest()


def _arrays(episode: Any) -> dict[str, Array]:
    source = episode.buffer() if isinstance(episode, Episode) else episode
    names = ("observations", "actions", "rewards", "terminations")
    return {name: np.asarray(getattr(source, name)) for name in names}


def solved(episodes: Iterable[Any]) -> float:
    """The share of episodes that were rewarded."""
    return float(np.mean([np.sum(episode.rewards) > 0 for episode in episodes]))


def here() -> dict[str, str]:
    """The processor, and the versions that decide."""
    versions = provenance.versions()
    return {"processor": provenance.processor_kind(), **{name: versions[name] for name in DECISIVE}}


def measured(row: Dataset, episodes: Sequence[Episode]) -> Dataset:
    """The row with the digest, the steps and the success of episodes just recorded: for who adds or changes one."""
    steps = sum(len(episode) for episode in episodes)
    return replace(row, sha256=digest(episodes), steps=steps, success=round(solved(episodes), 4))


def make(dataset_id: str, *, force: bool = False, bar: Bar = silent) -> "MinariDataset":
    """Records a row of the catalogue, verifies it, and stores it where Minari keeps datasets.

    Raises:
        FileExistsError: there is such a dataset, and no ``force``.
        KeyError: no such row.
        ValueError: what was recorded is not what the row says.
    """
    from .record import boxed
    from .store import check_free, write

    row = find(dataset_id)
    check_free(row.id, force)
    episodes = row.record(bar=bar)
    found = digest(episodes)
    compare(row, found, solved(episodes), here())
    return write(row.id, episodes, boxed(row.env_id), _metadata(row, episodes, found), force=force)


def _metadata(row: Dataset, episodes: Sequence[Episode], found: str) -> dict[str, Any]:
    scored = find_scored(row.env_id)
    return {
        "algorithm_name": row.policy,
        "description": f"{len(episodes)} episodes of {row.policy} in {row.env_id}",
        "ref_min_score": scored.random_score,
        "ref_max_score": scored.expert_score,
        "requirements": [f"tiltyard>={provenance.versions()['tiltyard']}"],
        "tiltyard": {
            "command": row.command,
            "env_id": row.env_id,
            "env_kwargs": {},
            "recording": dict(row.recording),
            "policies": {row.policy: 1.0},
            "noise": row.noise,
            "seed": row.seed,
            "sha256": found,
            "success": solved(episodes),
            "made with": here(),
            "versions": provenance.versions(),
            "commit": provenance.commit(),
            "hardware": provenance.hardware(),
        },
    }


def verify(dataset: "MinariDataset") -> None:
    """Compares a dataset with the digest it was stored with, and then with its row of the catalogue, if it has one.

    Warns:
        UserWarning: it was made on another processor or with other versions than the catalogue's and differs in bits.

    Raises:
        ValueError: it was changed after it was made, or is not what the row says.
    """
    from ...agents.control.datasets import episodes_of
    from .store import recorded

    rows = {row.id: row for row in ROWS}
    if (row := rows.get(dataset.id)) is None:
        return
    episodes = list(episodes_of(dataset))
    found, said = digest(episodes), recorded(dataset)
    if found != said.get("sha256"):
        raise ValueError(
            f"the arrays of {row.id} are not those it was stored with: make it again with {row.command} --force"
        )
    compare(row, found, solved(episodes), dict(said.get("made with", {})))


def compare(row: Dataset, found: str, success: float, made: Mapping[str, str]) -> None:
    """Compares a digest and a share of solved episodes with those of a row, given what they were made with.

    Warns:
        UserWarning: other bits, of another processor or other versions.

    Raises:
        ValueError: other bits of the same processor and versions, or another share than chance explains.
    """
    if found == row.sha256:
        return
    others = [f"{name} {made.get(name, 'unrecorded')}" for name, is_ in REFERENCE.items() if made.get(name) != is_]
    if not others:
        raise ValueError(
            f"{row.id} has the digest {found:.12} and not the catalogue's {row.sha256:.12}, though it was made on the "
            f"same processor with the same versions: install Tiltyard anew, then {row.command} --force"
        )
    if abs(success - row.success) > row.tolerance:
        raise ValueError(
            f"{row.id} solves its task in {success:.3f} of its episodes, the catalogue's in {row.success:.3f}, which "
            f"another processor does not explain ({', '.join(others)}): install the catalogue's versions, then "
            f"{row.command} --force"
        )
    warnings.warn(
        f"{row.id} differs from the catalogue's in bits, as it was made with other than its processor and versions "
        f"({', '.join(others)}), but solves its task as often ({success:.3f}): use it, and name its digest {found:.12}",
        stacklevel=3,
    )
