"""Pages of ``docs/results`` from their raw data: made anew in memory, and held against what is there, byte for byte.

A suite with comparisons has a page that is wholly made (:mod:`.leaderboard.report`). Of any other suite the page is
written by hand around its tables, which stand between two marks: :data:`START` and :data:`END`.
"""

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from .choices import TRIALS, Tuning, merged, read_tuning
from .leaderboard import print_leaderboard
from .leaderboard.bases import Beside
from .leaderboard.board import Axis
from .leaderboard.report import write_report
from .leaderboard.scales import ScaleName
from .leaderboard_commands import reported
from .race import command_of
from .runs import FinishedRun
from .suites import Suite, find

START, END = "<!-- tiltyard:board -->", "<!-- /tiltyard:board -->"
PAGE = "README.md"
WIDTH = 80
"""Columns of tables in a page."""


def rebuilt(
    suite: Suite,
    runs: Sequence[FinishedRun],
    folder: Path,
    tuning: Path | None = None,
    *,
    axis: Axis = "samples",
    scale: ScaleName = "expert",
    name: str | None = None,
) -> dict[str, bytes]:
    """Content of the page and its pictures by file name.

    Args:
        suite: whose race it shows.
        runs: the raw data.
        folder: where the page is.
        tuning: folder of the tuning behind the suite; by default those called ``<suite>-tuning`` and
            ``<suite>-tuning-...`` beside ``folder``, if there are any.
        axis: that learning curves are drawn along, in a suite with comparisons.
        scale: that scores are normalised by.
        name: what the command on the page races: the suite's name, or the path of its file.

    Raises:
        ValueError: a suite without comparisons whose page has no marks, or no run.
    """
    if suite.comparisons:
        with TemporaryDirectory() as made:
            command = command_of("race", name or suite.name, out=f"runs/{suite.name}")
            trials, beside = trials_of(suite, folder, tuning), beside_of(suite, folder)
            write_report(suite, runs, made, command=command, tuning=trials, axis=axis, scale=scale, beside=beside)
            return {path.name: path.read_bytes() for path in sorted(Path(made).iterdir())}
    text = (folder / PAGE).read_text(encoding="utf-8") if (folder / PAGE).is_file() else ""
    before, opened, rest = text.partition(START)
    _, closed, after = rest.partition(END)
    if not opened or not closed:
        raise ValueError(
            f"suite {suite.name} has nothing to report: it has no comparison, and {folder / PAGE} has no marks "
            f"{START} ... {END} for its tables"
        )
    return {PAGE: f"{before}{START}\n```\n{tables(runs, scale)}```\n{END}{after}".encode()}


def trials_of(suite: Suite, folder: Path, asked: Path | None) -> Tuning | None:
    """The tuning that was asked for, or those beside the page; None where there are none."""
    if asked is not None:
        return read_tuning(asked)
    beside = folder.absolute().parent
    found = [*beside.glob(f"{suite.name}-tuning/{TRIALS}"), *sorted(beside.glob(f"{suite.name}-tuning-*/{TRIALS}"))]
    return merged([read_tuning(path.parent) for path in found]) if found else None


def beside_of(suite: Suite, folder: Path) -> Beside | None:
    """The race that the suite repeats, whose page and runs are beside ``folder``; None where they are not there."""
    page = folder.absolute().parent / (suite.repeats or suite.name)
    if not suite.repeats or not (page / "runs").is_dir():
        return None
    other = find(suite.repeats)
    return Beside(other, reported(page / "runs", other), trials_of(other, page, None))


def tables(runs: Sequence[FinishedRun], scale: ScaleName = "expert") -> str:
    """What ``tiltyard leaderboard`` prints of ``runs``."""
    out = StringIO()
    print_leaderboard(runs, console=Console(file=out, width=WIDTH, color_system=None), scale=scale)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def differing(files: Mapping[str, bytes], folder: Path) -> list[str]:
    """Names of those files that ``folder`` does not hold with this content."""
    return [
        name
        for name, content in files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    ]
