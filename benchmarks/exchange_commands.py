"""``tiltyard export`` and ``tiltyard import``: dataclasses as in :mod:`.cli`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tyro

from .. import unknown

if TYPE_CHECKING:
    from .runs import FinishedRun


@dataclass
class Export:
    """Writes finished runs in a form that others read."""

    runs: tyro.conf.Positional[Path]
    """folder of run folders"""
    format: str = "csv"
    """csv, rliable (arrays of scores by agent) or hf (the folder of a Hugging Face data set)"""
    suite: str | None = None
    """runs of this suite alone"""
    out: Path = Path("export")
    """folder to write into"""

    def run(self) -> int:
        """Exports the runs that a leaderboard would show."""
        from .exports import FORMATS
        from .leaderboard_commands import reported
        from .suites import find

        if self.format not in FORMATS:
            raise ValueError(unknown("format", self.format, FORMATS))
        kept = _counted(reported(self.runs, None if self.suite is None else find(self.suite)), self.runs)
        for path in FORMATS[self.format](kept, self.out):
            print(f"wrote {path}")
        return 0


def _counted(runs: "Sequence[FinishedRun]", folder: Path) -> "list[FinishedRun]":
    """Those of ``runs`` that count on a leaderboard; the others are named.

    Raises:
        ValueError: there are none.
    """
    from .leaderboard import leaderboard

    board = leaderboard(runs, rng=np.random.default_rng(0), resamples=1)
    counted = {run.folder for result in board.results for run in result.runs}
    if left := [run.folder.name for run in runs if run.folder not in counted]:
        said = f"left out: {', '.join(left)}: they count on no leaderboard, and tiltyard leaderboard {folder} says why"
        print(said, file=sys.stderr)
    if not counted:
        raise ValueError(f"no run of {folder} counts on a leaderboard: there is nothing to export")
    return [run for run in runs if run.folder in counted]


@dataclass
class Import:
    """Shows results of other libraries in the same tables and plots: Stable-Baselines3, CleanRL, W&B, TensorBoard."""

    sources: tyro.conf.Positional[tuple[str, ...]]
    """files, each PATH or AGENT@TASK=PATH: evaluations.npz, Monitor or W&B CSV, event files, RL-zoo's benchmark.md; or
    the folder of one training's Monitor or event files"""
    tag: str | None = None
    """scalar or column of returns; by default the first usual name there is, such as charts/episodic_return"""
    out: Path = Path("site")
    """folder of the page"""

    def run(self) -> int:
        """Reads all, prints a board and writes its page."""
        from .imports import Source, read_runs
        from .leaderboard import print_leaderboard, write_page

        runs = read_runs(Source.parse(text, self.tag) for text in self.sources)
        print_leaderboard(runs)
        print(f"wrote {write_page(runs, self.out)}")
        return 0
