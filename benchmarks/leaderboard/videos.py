"""Videos of episodes for the site: those that lie in run folders, and those that are played for it."""

import shutil
import stat
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import gymnasium
import numpy as np

from ..play import FORMATS, play
from ..runs import CHECKPOINT, FinishedRun
from .rows import Board

FOLDER = "videos"
MOST_BYTES = 64 << 20
FAILURES = (ValueError, KeyError, TypeError, RuntimeError, ImportError, gymnasium.error.Error)
"""What loading a run's agent, or playing in its environment, may raise without a fault of the site's."""


def collected(runs: Iterable[FinishedRun], out: Path) -> dict[str, str]:
    """Copies the video in each run's folder, if there is one, into the site; where it is there, by name of the run."""
    found = {}
    for run in runs:
        if videos := [path for path in _files(run.folder) if path.suffix.lower() in FORMATS]:
            found[run.run.name] = _place(out, run, videos[0].suffix.lower())
            shutil.copyfile(videos[0], out / found[run.run.name])
    return found


def recorded(board: Board, out: Path, *, steps: int = 400, trust: bool = False) -> dict[str, str]:
    """Plays an episode of each agent on each task into the site: of its median run of those that have a checkpoint.

    A run that cannot be shown is named in a warning, with the reason: its environment draws no pictures, a package is
    missing, or it names a module that may not be imported.

    Args:
        board: whose agents play.
        out: folder of the site.
        steps: that an episode may have.
        trust: import what a run names as module:Class, which runs its code.
    """
    from ..commands import find_policy

    found = {}
    for result in board.results:
        run = _median(result.runs)
        if run is None:
            continue
        place = _place(out, run, ".mp4")
        try:
            policy = find_policy(str(run.folder), None, trust=trust)
            kept = {"deterministic": policy.deterministic, **policy.env_kwargs}
            play(policy.env_id, policy.agent, video=out / place, episodes=1, steps=steps, **kept)
        except FAILURES as error:
            reason = error.args[0] if isinstance(error, KeyError) and error.args else error
            warnings.warn(f"no video of {run.run.name}: {reason}", UserWarning, 2)
            continue
        found[run.run.name] = place
    return found


def _place(out: Path, run: FinishedRun, suffix: str) -> str:
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    return f"{FOLDER}/{run.run.name}{suffix}"


def _files(folder: Path) -> list[Path]:
    """Regular files of a believable size, by name."""
    if not folder.is_dir():
        return []
    known = [(path, path.lstat()) for path in sorted(folder.iterdir())]
    return [path for path, about in known if stat.S_ISREG(about.st_mode) and about.st_size <= MOST_BYTES]


def _median(runs: Sequence[FinishedRun]) -> FinishedRun | None:
    able = sorted((run for run in runs if (run.folder / CHECKPOINT).is_file()), key=lambda run: np.mean(run.scores))
    return able[(len(able) - 1) // 2] if able else None
