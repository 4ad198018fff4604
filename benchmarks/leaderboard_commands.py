"""``tiltyard leaderboard`` and ``tiltyard report``: dataclasses as in :mod:`.cli`."""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from .runs import RUN, FinishedRun
from .suites import Suite


@dataclass
class Leaderboard:
    """Prints who won, with intervals, and writes the page that shows it."""

    runs: tyro.conf.Positional[Path]
    """folder of run folders"""
    out: Path = Path("site")
    """folder of the page"""
    suite: str | None = None
    """count runs of this suite alone (and other agents on its tasks, by its rules); others are named and left out"""
    verified: Path | None = None
    """mark the rows of runs that this record has, as tiltyard verify --record writes it"""
    scale: Literal["expert", "published", "best"] = "expert"
    """what scores are normalised by: 1 is the scripted expert, D4RL's published expert, or the best known here; the
    site has all that there are numbers of"""
    videos: bool = False
    """play an episode of each agent on each task into the site, from its checkpoint"""
    trust: bool = False
    """for --videos, import what runs name as module:Class or module:id, which runs its code"""

    def run(self) -> int:
        """Shows the finished runs that may be pooled."""
        from .leaderboard import print_leaderboard, write_page
        from .leaderboard.scales import NAMES
        from .suites import find
        from .verified import verified_names

        kept = reported(self.runs, None if self.suite is None else find(self.suite))
        verified = frozenset() if self.verified is None else verified_names(self.verified, kept)
        print_leaderboard(kept, verified=verified, scale=self.scale)
        page = write_page(
            kept,
            self.out,
            verified=verified,
            scale=self.scale,
            scales=NAMES,
            record=self.videos,
            trust=self.trust,
        )
        print(f"wrote {page}")
        return 0


@dataclass
class Report:
    """Writes what a suite's race found: tables with intervals and odds, and learning curves, as a Markdown page."""

    suite: tyro.conf.Positional[str]
    """name of a suite that has comparisons, such as control-v2-hopper"""
    runs: Path = Path("runs")
    """folder of run folders"""
    out: Path = Path("report")
    """folder of the page and its figures"""
    tuning: Path | None = None
    """folder that tiltyard tune made for this suite: its cost and its noise are told too; by default the folders
    <suite>-tuning and <suite>-tuning-... beside --out, where there are any"""
    axis: Literal["samples", "wall-clock", "processor"] = "samples"
    """what learning curves are drawn along; times of evaluations that were not recorded are read off evenly"""
    scale: Literal["expert", "published", "best"] = "expert"
    """what scores are normalised by: 1 is the scripted expert, D4RL's published expert, or the best known here"""
    check: bool = False
    """write nothing: say whether the page in --out is what these runs give, byte for byte; exit status 1 if not"""

    def run(self) -> int:
        """Reads the finished runs, writes the page, and says which runs of the suite are still missing."""
        from .leaderboard.lost import diverged_of, missing
        from .rebuild import differing, rebuilt
        from .suites import find

        suite = find(self.suite)
        kept = reported(self.runs, suite)
        for task, count in missing(suite, kept, diverged_of(suite, kept)).items():
            print(f"not finished: {count} runs of {task}", file=sys.stderr)
        files = rebuilt(suite, kept, self.out, self.tuning, axis=self.axis, scale=self.scale, name=self.suite)
        if self.check:
            stale = differing(files, self.out)
            for name in stale:
                print(f"{self.out / name} is not what {self.runs} gives", file=sys.stderr)
            print(f"{len(files) - len(stale)} of {len(files)} files of {self.out} are what {self.runs} gives")
            return int(bool(stale))
        self.out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (self.out / name).write_bytes(content)
        print(f"wrote {self.out / 'README.md'}")
        return 0


def reported(folder: Path, suite: Suite | None = None) -> list[FinishedRun]:
    """The finished runs under ``folder``, but for those that must not be pooled, which are told.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: no run is left.
    """
    from .evaluation import is_tuning
    from .leaderboard.admission import of_suite
    from .loading import load_runs, one_version
    from .runs import VersionWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionWarning)
        runs = load_runs(folder)
    raced = [run for run in runs if not is_tuning(run.run.seed)]
    kept, others = one_version(raced)
    for run in others:
        told = ", ".join(f"{name} {version}" for name, version in run.versions.items())
        print(f"left out, of other versions: {run.folder} ({told})", file=sys.stderr)
    if len(raced) < len(runs):
        print(f"left out: {len(runs) - len(raced)} tuning runs (seeds from 10000 on)", file=sys.stderr)
    comparable = kept
    if suite is not None:
        kept, notes = of_suite(kept, suite)
        for note in notes:
            print(note, file=sys.stderr)
    if not kept:
        raise ValueError(f"{folder} holds no finished run to show{_instead(folder, len(runs), len(comparable), suite)}")
    return kept


def _instead(folder: Path, found: int, comparable: int, suite: Suite | None) -> str:
    """Why nothing of a folder can be shown, and what to do."""
    if comparable and suite is not None:
        return f": none of its {comparable} runs is of suite {suite.name}"
    if found:
        return f": its {found} runs are of tuning (seeds from 10000 on), which no board shows"
    if (folder / RUN).is_file():
        return f": it is a run itself, so give the folder that it lies in, {folder.absolute().parent}"
    name = "smoke" if suite is None else suite.name
    return f": give the folder of a race, or make one with tiltyard race {name} --out {folder}"
