"""A suite's results as one Markdown page and its figures, for ``docs/results``: tables, odds, learning curves.

A suite says which agents it sets side by side, on which tasks and against whom: its :class:`~..suites.Comparison`s.
"""

import csv
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ..records import LARGEST_FILE, printable, read_bytes
from ..runs import FinishedRun
from ..statistics import (
    MIN_RUNS,
    Band,
    Floats,
    Scores,
    improvement_interval,
    mean_band,
    probability_of_improvement,
    score_matrix,
)
from ..suites import Comparison, Suite
from .board import Board, Result, Section, leaderboard
from .groups import place, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

COLUMNS = 3  # figures beside each other
VERDICT_RUNS = 4  # of 3 runs a side 2 of the 20 orders set them wholly apart: one chance in ten (of 4, one in 35)
NO_VERDICT = "no verdict below four runs a side"
INERT = "inert here"
COLOURS = 20  # more agents than that are drawn as a ranking: nobody could follow their curves


def write_report(suite: Suite, runs: Iterable[FinishedRun], out: str | Path, *, command: str) -> Path:
    """Writes ``README.md`` and a figure a comparison into ``out``; returns the page's path.

    Args:
        suite: whose comparisons are shown; agents and tasks without finished runs are left out, and said.
        runs: finished runs; those of other tasks are ignored.
        out: a folder.
        command: what made the runs.

    Raises:
        ValueError: a suite without comparisons, or no run of any.
    """
    folder, runs = Path(out), list(runs)
    runs = [run for run in runs if any(_compares(comparison, run) for comparison in suite.comparisons)]
    if not runs:
        raise ValueError(f"suite {suite.name} has nothing to report: it has no comparison with a finished run")
    folder.mkdir(parents=True, exist_ok=True)
    board = leaderboard(runs, rng=np.random.default_rng(0))
    lines = _head(suite, runs, board, command)
    for comparison in suite.comparisons:
        mine = _chosen(comparison, runs, board)
        if comparison.by_episodes:
            mine = [run for run in mine if _has_log(run)]
        if mine:
            part = leaderboard(mine, rng=np.random.default_rng(0), across=comparison.across)
            lines += _compared(comparison, _named_as(board, part, across=comparison.across), folder)
    page = folder / "README.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def _head(suite: Suite, runs: Sequence[FinishedRun], board: Board, command: str) -> list[str]:
    hours = sum(run.wall_seconds for run in runs) / 3600
    hardware = ", ".join(sorted({run.hardware for run in runs}))
    versions = {name: version for run in runs for name, version in run.versions.items()}
    return [
        f"# {suite.name}",
        "",
        f"Command: `{command}`  ",
        f"{len(runs)} runs, {hours:.1f} hours by the clock in all, a thread a run; {escaped(hardware)}.  ",
        "Versions: " + escaped(", ".join(f"{name} {version}" for name, version in versions.items())) + ".",
        "",
        f"Scores are normalised: 0 is a random policy, 1 the scripted expert. Brackets are {board.level:.0%} "
        "stratified bootstrap intervals over runs. P is the probability that a run of the agent outscores one of the "
        "reference on the same task; an interval with 0.5 in it is no significant difference. Where every run of one "
        "beats every run of the other a bootstrap has nothing to resample, and P has no interval. There is "
        f"{NO_VERDICT}: of three against three, chance alone sets all runs apart one time in ten. At step 0: success "
        "after the updates on data alone.",
        "",
        *(f"- {escaped(note)}." for note in board.notes),
        *(f"- Not finished: {count} runs of {escaped(task)}." for task, count in missing(suite, runs).items()),
    ]


def _compares(comparison: Comparison, run: FinishedRun) -> bool:
    return place(run.run, across=comparison.across)[0] in comparison.tasks


def _chosen(comparison: Comparison, runs: Sequence[FinishedRun], board: Board) -> list[FinishedRun]:
    """The comparison's runs: of its tasks, and of those of its agents that ran all of them."""
    ran: dict[str, dict[str, tuple[FinishedRun, ...]]] = {}
    for result in board.results:
        task, data = place(result.runs[0].run, across=comparison.across)
        ran.setdefault(result.agent + data, {})[task] = result.runs
    complete = [name for name, tasks in ran.items() if tasks.keys() >= set(comparison.tasks)]
    names = [name for name in complete if not comparison.agents or name in comparison.agents]
    kept = {id(run) for name in names for task in comparison.tasks for run in ran[name][task]}
    return [run for run in runs if id(run) in kept]


def _named_as(whole: Board, part: Board, *, across: bool) -> Board:
    """``part`` with the agents named as they are on the whole board: names say what sets runs apart from the others."""
    named = {
        id(run): result.agent + place(run.run, across=across)[1] for result in whole.results for run in result.runs
    }
    names = {result.agent: named[id(result.runs[0])] for result in part.results} | {"": ""}

    def renamed(section: Section) -> Section:
        standings = [
            replace(one, agent=names[one.agent], next_agent=names[one.next_agent]) for one in section.standings
        ]
        return replace(section, standings=tuple(standings))

    results = [replace(result, agent=names[result.agent]) for result in part.results]
    return replace(part, sections=tuple(map(renamed, part.sections)), results=tuple(results))


def _compared(comparison: Comparison, board: Board, folder: Path) -> list[str]:
    """One comparison: its table over all tasks, its table a task, its figure."""
    section = next(section for section in board.sections if set(section.tasks) == set(comparison.tasks))
    figure = folder / (comparison.title.lower().replace(",", "").replace(" ", "-") + ".png")
    many = len(section.standings) > COLOURS
    if many:
        draw_ranking(board, section, comparison.reference, figure)
    else:
        draw_curves(board, figure, by_episodes=comparison.by_episodes)
    return [
        "",
        f"## {comparison.title}",
        "",
        *([comparison.remark, ""] if comparison.remark else []),
        *_inert(comparison),
        *_overall(comparison, section, board),
        "",
        *_by_task(comparison, board),
        "",
        f"![{'Scores at the end' if many else 'Learning curves'}]({figure.name})",
    ]


def _inert(comparison: Comparison) -> list[str]:
    if not comparison.inert:
        return []
    rows = [f"- {agent}: {why}." for agent, why in comparison.inert.items()]
    return [f"These could not do here what sets them apart, and get no verdict ({INERT}):", "", *rows, ""]


def _overall(comparison: Comparison, section: Section, board: Board) -> list[str]:
    heads = ("agent", "IQM", "mean", f"P(beats {comparison.reference})", "", "runs a task")
    lines = [_row(heads), "|" + "---|" * len(heads)]
    told: dict[str, list[str]] = {}
    for standing in section.standings:
        odds, verdict = _odds(board, standing.agent, comparison, section.tasks)
        cells = [standing.agent, f"{standing.metrics['iqm']:.3f}", f"{standing.metrics['mean']:.3f}", odds, verdict]
        lines.append(_row([*cells, str(standing.runs)]))
        if standing.agent != comparison.reference:
            told.setdefault(verdict, []).append(standing.agent)
    said = [escaped(f"{verdict}: {'; '.join(agents)}") for verdict, agents in sorted(told.items())]
    if not said:
        return lines
    lines += ["", f"Over all tasks, against {escaped(comparison.reference)}: {'. '.join(said)}."]
    compared = sum(len(agents) for verdict, agents in told.items() if verdict not in (NO_VERDICT, INERT))
    by_chance = round(0.05 * compared)
    if by_chance:
        lines.append(
            f"Of {compared} comparisons at 95% about {by_chance} would come out better or worse by chance alone."
        )
    return lines


def _by_task(comparison: Comparison, board: Board) -> list[str]:
    beats = f"P(beats {comparison.reference})"
    heads = ("task", "agent", "mean return", "success", beats, "", "length", "at step 0", "minutes")
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for result in board.results:
        odds = _odds(board, result.agent, comparison, (result.task,))
        cells = [short(result.task), result.agent, f"{result.score:,.2f}", f"{result.success:.0%}", *odds]
        minutes = float(np.mean([run.wall_seconds for run in result.runs])) / 60
        cells += [result.runs[0].run.length, _at_first(result), f"{minutes:.1f}"]
        lines.append(_row(cells))
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def escaped(text: str) -> str:
    """``text`` in one line of Markdown: it ends no table cell, opens no code, tag or link."""
    line = printable(text).replace("\\", "\\\\")
    for mark in "|`":
        line = line.replace(mark, f"\\{mark}")
    return line.replace("&", "&amp;").replace("<", "&lt;").replace("](", "]\\(")


def _at_first(result: Result) -> str:
    """Success after the updates on data that came before the first step in the environment, if both there were."""
    runs = [run for run in result.runs if run.run.budget and run.run.params.get("offline_steps")]
    firsts = [run.curve[0][2] for run in runs if run.curve[0][0] == 0]
    return f"{np.mean(firsts):.0%}" if len(firsts) == len(result.runs) else ""


def _odds(board: Board, agent: str, comparison: Comparison, tasks: Sequence[str]) -> list[str]:
    """P that the agent beats the reference on these tasks, and in the next cell what it says; blank for itself."""
    mine, theirs = (_scores(board, name, tasks) for name in (agent, comparison.reference))
    if agent == comparison.reference or mine is None or theirs is None:
        return ["", ""]
    odds, verdict = _judged(mine, theirs, board.level)
    return [odds, INERT if agent in comparison.inert else verdict]


def _judged(mine: Scores, theirs: Scores, level: float) -> tuple[str, str]:
    """The odds that a run of one side beats one of the other, with the interval that there is, and the verdict."""
    runs = min(len(mine.runs), len(theirs.runs))
    if runs < MIN_RUNS:
        return f"{probability_of_improvement(mine, theirs):.2f}", NO_VERDICT
    odds = improvement_interval(mine, theirs, rng=np.random.default_rng(0), level=level)
    apart = odds.low == odds.high
    shown = f"{odds.estimate:.2f}" if apart else f"{odds:.2f}"
    if runs < VERDICT_RUNS:
        return shown, NO_VERDICT
    if apart:
        always = {0.0: "worse in every run", 1.0: "better in every run"}
        return shown, always.get(odds.estimate, "all alike")
    return shown, "better" if odds.low > 0.5 else "worse" if odds.high < 0.5 else "no significant difference"


def _scores(board: Board, agent: str, tasks: Sequence[str]) -> Scores | None:
    """Normalised scores of the seeds that an agent ran on all of ``tasks``; None where there are none."""
    runs = {result.task: result.runs for result in board.results if result.agent == agent and result.task in tasks}
    shared = set.intersection(*({run.run.seed for run in found} for found in runs.values())) if runs else set()
    if set(runs) != set(tasks) or not shared:
        return None
    return score_matrix(
        {task: [run.normalised for run in found if run.run.seed in shared] for task, found in runs.items()}
    )


def draw_curves(board: Board, path: str | Path, *, by_episodes: bool = False) -> None:
    """Learning curves of all results, an axis a task, as one PNG: means over runs and their pointwise intervals.

    Who takes no step in the environment, beside others who do, is a dotted line at its last score.

    Args:
        board: whose results are drawn.
        path: of the PNG.
        by_episodes: success against episodes of training, instead of normalised returns against steps.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(result.task for result in board.results))
    agents = sorted({result.agent for result in board.results})
    colours = {agent: colormaps["tab20"]((2 * i) % 20 + i // 10) for i, agent in enumerate(agents)}
    rows, columns = math.ceil(len(tasks) / COLUMNS), min(len(tasks), COLUMNS)
    figure = Figure(figsize=(5.2 * columns, 3.6 * rows + 0.3 * math.ceil(len(agents) / columns)), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, task in zip(axes, tasks, strict=False):
        mine = [result for result in board.results if result.task == task]
        offline = all(result.runs[0].run.track == "offline" for result in mine)
        labels = ("updates" if offline else "environment steps", "normalised return")
        for result in mine:
            colour = colours[result.agent]
            if not offline and result.runs[0].run.track == "offline":
                level = float(np.mean([run.normalised for run in result.runs]))
                ax.axhline(level, color=colour, label=_drawn(result.agent), linewidth=1.6, linestyle=":")
            elif by_episodes:
                _draw(ax, result.agent, *success_by_episodes(result), colour)
                labels = ("episodes", "success")
            else:
                _draw(ax, result.agent, result.steps, result.curve, result.curve_band, colour)
        ax.set(title=_drawn(fill(short(task), 40)), xlabel=labels[0], ylabel=labels[1])
        ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    for ax in axes[len(tasks) :]:
        ax.set_axis_off()
    found = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def draw_ranking(board: Board, section: Section, reference: str, path: str | Path) -> None:
    """Final scores of a section as one PNG: a row an agent, the best above; the IQM over all tasks, each task's mean.

    Bars are intervals; the line through an axis is the reference's score.

    Args:
        board: whose results are drawn.
        section: its tasks and agents.
        reference: name of the agent that the others are compared with.
        path: of the PNG.
    """
    from matplotlib.figure import Figure

    agents = [standing.agent for standing in section.standings]
    columns = {"IQM, all tasks": {standing.agent: standing.metrics["iqm"] for standing in section.standings}}
    for task in section.tasks:
        columns[_drawn(short(task))] = {result.agent: result.score for result in board.results if result.task == task}
    figure = Figure(figsize=(3.0 + 2.2 * len(columns), 1.2 + 0.21 * len(agents)), layout="constrained")
    axes = figure.subplots(1, len(columns), sharey=True)
    for ax, (title, found) in zip(axes, columns.items(), strict=True):
        for row, agent in enumerate(agents):
            metric, colour = found[agent], "#e0752d" if agent == reference else "#2f6fdb"
            if metric.interval is not None:
                ax.hlines(row, metric.interval.low, metric.interval.high, color=colour, linewidth=3, alpha=0.4)
            ax.plot(metric.value, row, ".", color=colour, markersize=6)
        if reference in found:
            ax.axvline(found[reference].value, color="#e0752d", linewidth=0.8, zorder=0)
        ax.set(
            title=title,
            yticks=range(len(agents)),
            yticklabels=list(map(_drawn, agents)),
            ylim=(len(agents) - 0.5, -0.5),
        )
        ax.set_xlabel("normalised" if ax is axes[0] else "mean return")
        ax.tick_params(labelsize=8)
        ax.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=110)


def _drawn(name: str) -> str:
    """``name`` as Matplotlib draws it: dollars are signs, not formulas."""
    return name.replace("$", r"\$")


def _draw(ax: "Axes", agent: str, at: Floats, curve: Floats, band: Band | None, colour: "ColorType") -> None:
    ax.plot(at, curve, color=colour, label=_drawn(agent), linewidth=1.6)
    if band is not None:
        ax.fill_between(at, band.low, band.high, color=colour, alpha=0.15, lw=0)


def success_by_episodes(result: Result) -> tuple[Floats, Floats, Band | None]:
    """:func:`episode_curves` of a result: episodes, mean success and its band (None below three runs), ``[points]``."""
    episodes, success = episode_curves(result.runs)
    band = mean_band(success, rng=np.random.default_rng(0)) if len(success) >= MIN_RUNS else None
    return episodes, success.mean(axis=0), band


def episode_curves(runs: Sequence[FinishedRun]) -> tuple[Floats, Floats]:
    """Training episodes at the runs' evaluations ``[points]``, means over runs, and success there ``[runs, points]``.

    Raises:
        FileNotFoundError: a run without its log.
        ValueError: runs that were evaluated at other numbers of times, or logs that do not count episodes.
    """
    episodes = np.array([episodes_at(run, [point[0] for point in run.curve]) for run in runs])
    return episodes.mean(axis=0), np.array([[point[2] for point in run.curve] for run in runs])


def episodes_at(run: FinishedRun, steps: Sequence[int]) -> Floats:
    """Training episodes that had ended after so many environment steps, as the run's log has it; between, a line.

    Raises:
        FileNotFoundError: no log.
        ValueError: a log that does not count episodes.
    """
    log = run.folder / "progress.csv"
    try:
        rows = list(csv.DictReader(StringIO(read_bytes(log, LARGEST_FILE).decode(), newline="")))
        known = [(row["time/total_timesteps"], row["time/episodes"]) for row in rows if row.get("time/episodes")]
        at, count = np.array([("0", "0"), *known], np.float64).T
    except (ValueError, KeyError, csv.Error) as error:
        raise ValueError(f"{log} is damaged: {error}") from error
    if not known:
        raise ValueError(f"{log} does not count episodes")
    return np.asarray(np.interp(steps, at, count), np.float64)


def _has_log(run: FinishedRun) -> bool:
    """Whether the run's log counts its episodes, or it has none to count; a warning names a run without."""
    try:
        return run.run.track == "offline" or bool(len(episodes_at(run, [0])))
    except (OSError, ValueError) as error:
        warnings.warn(f"left out of what is drawn by episodes: {error}", UserWarning, 3)
        return False


def missing(suite: Suite, runs: Iterable[FinishedRun]) -> Counter[str]:
    """Runs of the suite that are not finished, counted by task."""
    done = {run.run.name for run in runs}
    return Counter(run.task for run in suite.runs() if run.name not in done)
