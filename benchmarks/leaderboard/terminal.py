"""The leaderboard in a terminal."""

from collections.abc import Collection, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Literal

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..overshoot import length_of
from ..runs import FinishedRun
from .board import Board, Metric, Result, Section, Standing, leaderboard
from .groups import short
from .scales import ScaleName

LARGE = 100.0
"""Returns from here on are shown without decimals."""
PADDING, LEAST = 3, 8
"""Characters beside a column's own, and the least of an agent's name that is kept on one line."""
VERIFIED = " ✓"
"""After the name of an agent each of whose runs was verified."""


def print_leaderboard(
    runs: Iterable[FinishedRun],
    *,
    rng: np.random.Generator | None = None,
    console: Console | None = None,
    verified: Collection[str] = (),
    scale: ScaleName = "expert",
) -> Board:
    """Prints one table a domain and one a task, and returns the board they show.

    Args:
        runs: finished runs.
        rng: decides the bootstrap; by default the same one each time, so that the same runs print the same intervals.
        console: where to print.
        verified: names of runs that were verified; their rows get a mark.
        scale: what scores are normalised by (:mod:`.scales`).
    """
    board = leaderboard(runs, rng=rng or np.random.default_rng(0), verified=verified, scale=scale)
    console = console or Console()
    for section in board.sections:
        console.print(_section(section, board.level))
        for standing in section.standings:
            for flag in standing.flags:
                console.print(Text(f"{standing.agent}: {flag}."))
        if section.note:
            console.print(Text(f"{section.note}."))
    console.print(Text("Every task, in its own returns", style="bold"), end="\n\n")
    for table in _results(board, console.width):
        console.print(table)
    for result in board.results:
        if result.score.why:
            console.print(Text(f"{short(result.task)}, {result.agent}, mean return: {result.score.why}."))
    for note in board.notes:
        console.print(Text(f"Note: {note}."))
    if verified:
        console.print(f"{VERIFIED.strip()}: each run's checkpoint was played again and scored what is stored.")
    scores = "Scores are raw returns" if board.raw else f"Normalised scores: {board.scale.words}"
    console.print(
        f"{scores}. Brackets: {board.level:.0%} stratified bootstrap intervals over runs.",
        style="dim",
    )
    return board


def _table(title: str, *columns: str) -> Table:
    """Columns whose name starts with ``>`` hold numbers: aligned to the right and never cut, whatever the width."""
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        number = name.startswith(">")
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(Text(name.lstrip(">")), justify=justify, no_wrap=number, overflow="fold")
    return table


def _section(section: Section, level: float) -> Table:
    tasks = ", ".join(map(short, section.tasks))
    columns = ">#", "agent", f">IQM [{level:.0%}]", ">mean", ">gap", ">beats next", ">runs"
    table = _table(f"{section.title}: {tasks}", *columns)
    for standing in section.standings:
        table.add_row(*map(Text, _standing(standing)))
    return table


def _standing(standing: Standing) -> list[str]:
    metrics = standing.metrics
    return [
        str(standing.rank or "-"),
        standing.agent + VERIFIED * standing.verified,
        format(metrics["iqm"].brief, _digits(metrics["iqm"], 3)),
        *(format(Metric(metrics[name].value, None), _digits(metrics[name], 2)) for name in ("mean", "optimality_gap")),
        f"{standing.beats_next:.0%}" if standing.beats_next else "",
        str(standing.runs),
    ]


def _digits(metric: Metric, decimals: int) -> str:
    """How a number is written: large ones whole, so that names beside them have room."""
    return ",.0f" if abs(metric.value) >= LARGE else f",.{decimals}f"


def _results(board: Board, width: int) -> list[Table]:
    """A table for each task, with columns alike in all, so that they can be read as one."""
    columns = "agent", ">mean return", ">success", ">steps", ">runs"
    rows = [(short(result.task), _result(result)) for result in board.results]
    heads = [name.lstrip(">") for name in columns]
    wide = [
        max(len(line) for cell in cells for line in cell.splitlines())
        for cells in zip(heads, *(row for _, row in rows), strict=True)
    ]
    wide[0] = max(min(wide[0], width - sum(wide[1:]) - PADDING * len(wide)), LEAST)
    tables = []
    for task, found in groupby(rows, itemgetter(0)):
        table = _table(task, *columns)
        for column, characters in zip(table.columns, wide, strict=True):
            column.width = characters
        for _, row in found:
            table.add_row(*map(Text, row))
        tables.append(table)
    return tables


def _result(result: Result) -> tuple[str, ...]:
    return (
        result.agent + VERIFIED * result.verified,
        format(result.score.brief, _digits(result.score, 2)),
        f"{result.success:.0%}",
        length_of(result.runs).removesuffix(" steps").replace(" steps (trained for ", "\n(trained for\n"),
        str(len(result.runs)),
    )
