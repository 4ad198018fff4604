"""``tiltyard export`` and ``tiltyard import``: dataclasses as in :mod:`.cli`."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from .. import unknown


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
        kept = reported(self.runs, None if self.suite is None else find(self.suite))
        for path in FORMATS[self.format](kept, self.out):
            print(f"wrote {path}")
        return 0


@dataclass
class Import:
    """Shows results of other libraries in the same tables and plots: Stable-Baselines3, CleanRL, W&B, TensorBoard."""

    sources: tyro.conf.Positional[tuple[str, ...]]
    """files, each PATH or AGENT@TASK=PATH: evaluations.npz, Monitor or W&B CSV, event files, RL-zoo's benchmark.md; or
    the folder of one training's Monitor files"""
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
