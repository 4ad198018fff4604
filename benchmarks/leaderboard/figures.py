"""Pictures of a board: learning curves, rankings, profiles; as PNG beside a report and as SVG inside a page."""

import csv
import math
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ..charts import PALETTE, Estimate, canvas, colour, curve, dots, from_zero, intervals, number, svg
from ..records import LARGEST_FILE, read_bytes
from ..runs import FinishedRun
from ..statistics import MIN_RUNS, Band, Floats, mean_band
from .board import Axis, Board, Result, Section
from .groups import env_of, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3  # figures beside each other
DOTS = 30  # evaluations at most that are drawn as dots; more would overlap
OTHERS, REFERENCE = PALETTE[:2]
Colours = Mapping[str, str]


def draw_curves(board: Board, path: str | Path, *, by_episodes: bool = False, axis: Axis = "samples") -> None:
    """Learning curves of all results, an axis a task, as one PNG: means over runs and their pointwise intervals.

    Who takes no step in the environment, beside others who do, is a dotted line at its last score.

    Args:
        board: whose results are drawn.
        path: of the PNG.
        by_episodes: success against episodes of training, instead of returns (normalised, where a task has a scale)
            against steps.
        axis: returns against this instead.
    """
    tasks = list(dict.fromkeys(result.task for result in board.results))
    agents = sorted({result.agent for result in board.results})
    colours = {agent: colour(place) for place, agent in enumerate(agents)}
    rows, columns = math.ceil(len(tasks) / COLUMNS), min(len(tasks), COLUMNS)
    with canvas(5.2 * columns, 3.6 * rows + 0.3 * math.ceil(len(agents) / columns)) as figure:
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, task in zip(axes, tasks, strict=False):
            _curves(ax, [result for result in board.results if result.task == task], colours, by_episodes, axis)
            ax.set_title(fill(short(task), 40))
        for ax in axes[len(tasks) :]:
            ax.set_axis_off()
        found = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns)
        figure.savefig(path)


def _curves(ax: "Axes", results: Sequence[Result], colours: Colours, by_episodes: bool, axis: Axis) -> None:
    offline = all(result.runs[0].run.track == "offline" for result in results)
    for result in results:
        mine = colours[result.agent]
        if not offline and result.runs[0].run.track == "offline":
            level = float(np.mean([run.normalised for run in result.runs]))
            ax.axhline(level, color=mine, label=result.agent, linewidth=1.6, linestyle=":")
            continue
        if by_episodes and axis == "samples":
            points = success_by_episodes(result)
        elif found := result.along(axis):
            points = found.at, found.mean, found.band
        else:
            continue
        curve(ax, points[0], points[1], band=points[2], colour=mine, label=result.agent)
    returns = "normalised return" if env_of(results[0].task).scored else "return"
    if axis != "samples":
        ax.set(xlabel=axis_words(axis, results), ylabel=returns)
    elif by_episodes:
        ax.set(xlabel="episodes", ylabel="success")
    else:
        ax.set(xlabel="updates" if offline else "environment steps", ylabel=returns)
    from_zero(ax)


def axis_words(axis: Axis, results: Sequence[Result]) -> str:
    """What an axis counts, for its label."""
    if axis == "samples":
        return "updates" if all(one.runs[0].run.track == "offline" for one in results) else "environment steps"
    guessed = any(found.estimated for one in results if (found := one.along(axis)))
    return ("seconds by the clock" if axis == "wall-clock" else "processor seconds") + guessed * ", read off evenly"


def draw_ranking(board: Board, section: Section, reference: str, path: str | Path) -> None:
    """Final scores of a section as one PNG: a row an agent, the best above; the IQM over all tasks, each task's mean.

    Bars are intervals; the line through an axis is the reference's score.

    Args:
        board: whose results are drawn.
        section: its tasks and agents.
        reference: name of the agent that the others are compared with.
        path: of the PNG.
    """
    agents = [standing.agent for standing in section.standings]
    columns = {"IQM, all tasks": {standing.agent: standing.metrics["iqm"] for standing in section.standings}}
    for task in section.tasks:
        columns[short(task)] = {result.agent: result.score for result in board.results if result.task == task}
    with canvas(3.0 + 2.2 * len(columns), 1.2 + 0.21 * len(agents)) as figure:
        axes = figure.subplots(1, len(columns), sharey=True)
        for ax, (title, found) in zip(axes, columns.items(), strict=True):
            rows = [
                Estimate(agent, found[agent].value, found[agent].interval, REFERENCE if agent == reference else OTHERS)
                for agent in agents
            ]
            intervals(ax, rows)
            if reference in found:
                ax.axvline(found[reference].value, color=REFERENCE, linewidth=0.8, zorder=0)
            ax.set(title=title, xlabel="normalised" if ax is axes[0] and not section.raw else "mean return")
        figure.savefig(path)


def curves_svg(results: Sequence[Result], colours: Colours, title: str, labels: tuple[str, str]) -> str:
    """Learning curves of one task for a page: an SVG element, or nothing where there are no points.

    Args:
        results: of the task, one an agent.
        colours: of the agents.
        title: what readers hear who do not see it.
        labels: of the axes.
    """
    drawn = [(one.agent, one.steps, one.curve, one.curve_band) for one in results if len(one.steps)]
    return _lines_svg(drawn, colours, title, labels)


def profile_svg(section: Section, colours: Colours, title: str, labels: tuple[str, str]) -> str:
    """Performance profiles of a section for a page, as :func:`curves_svg`."""
    profiles = [(one.agent, one.profile) for one in section.standings if one.profile]
    drawn = [(agent, section.thresholds, found.estimate, found) for agent, found in profiles]
    return _lines_svg(drawn, colours, title, labels, ends=(0.0, 1.0))


def _lines_svg(
    lines: Sequence[tuple[str, Floats, Floats, Band | None]],
    colours: Colours,
    title: str,
    labels: tuple[str, str],
    ends: tuple[float, float] | None = None,
) -> str:
    if not lines:
        return ""
    with canvas(3.7, 2.5) as figure:
        ax = figure.subplots()
        for agent, x, y, band in lines:
            curve(ax, x, y, band=band, colour=colours[agent], label=agent)
            if len(x) <= DOTS:
                points = zip(x.tolist(), y.tolist(), strict=True)
                said = [f"{agent} at {number(round(at, 6))}: {height:.3f}" for at, height in points]
                dots(ax, x, y, colour=colours[agent], said=said)
        from_zero(ax)
        ax.set(xlabel=labels[0], ylabel=labels[1])
        if ends:
            ax.set_ylim(ends)
        ax.tick_params(length=0)
        return svg(figure, title)


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
