"""A suite's results as one Markdown page and its figures, for ``docs/results``: tables, odds, learning curves.

A suite says which agents it sets side by side, on which tasks and against whom: its :class:`~..suites.Comparison`s.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..charts import PALETTE
from ..choices import Tuning
from ..diverging import DivergedRun, unscored
from ..overshoot import length_of
from ..pages import plain, render
from ..permutation import holm
from ..runs import FinishedRun
from ..sequential import Replayed, replayed
from ..suites import Comparison, Suite
from .admission import changed_tree
from .bases import Beside, Raced, base_of
from .bases import section as bases_section
from .board import Axis, Board, Result, Section, leaderboard
from .completions import completions
from .contrasts import Contrast, Paired, contrast, seed_means
from .figures import draw_curves, draw_ranking, episodes_at
from .groups import place, short
from .lost import Lost, diverged_of, missing
from .lost import notes as diverged_notes
from .scales import ScaleName, scaled
from .spelling import check_comparison
from .tuned import Section as Tunings
from .tuned import conditions
from .tuned import section as tuned_section

ALPHA = 0.05
NO_VERDICT = "no verdict below four runs a side"  # of 3 a side 2 of 20 orders set them apart: one chance in ten
NO_PAIRED_VERDICT = "no verdict below six pairs of runs"
INERT = "inert here"
COLOURS = len(PALETTE)  # more agents than that are drawn as a ranking, since their curves would share colours


def write_report(
    suite: Suite,
    runs: Iterable[FinishedRun],
    out: str | Path,
    *,
    command: str,
    tuning: Tuning | None = None,
    axis: Axis = "samples",
    scale: ScaleName = "expert",
    beside: Beside | None = None,
) -> Path:
    """Writes ``README.md`` and a figure a comparison into ``out``; returns the page's path.

    Args:
        suite: whose comparisons are shown; agents and tasks without finished runs are left out, and said.
        runs: finished runs; those of other tasks are ignored.
        out: a folder.
        command: what made the runs.
        tuning: the trials that settings of the suite were chosen by; what they cost and add to the noise is told.
        axis: that learning curves are drawn along.
        scale: that scores are normalised by.
        beside: the race of the same conditions from another base, if the suite repeats one.

    Raises:
        ValueError: a suite without comparisons, or no run of any; or a comparison that cannot be
            (:func:`.spelling.check_comparison`).
    """
    folder = Path(out)
    mine = _shown(suite, runs, tuning, scale)
    folder.mkdir(parents=True, exist_ok=True)
    parts = [_compared(one, mine.family, folder, axis) for one in mine.found]
    bases = None if beside is None else _bases(_shown(beside.suite, beside.runs, beside.tuning, scale), mine)
    head = _head(suite, mine.runs, mine.board, command) | {"missing": missing(suite, mine.runs, mine.diverged)}
    notes = [*mine.left, *head["notes"]]
    if suite.repeats and bases is None:
        notes.append(f"no differences from both bases: the runs of {suite.repeats} are not beside this page")
    told = {**head, "notes": notes, "parts": parts, "tuned": mine.tuned, "bases": bases}
    text = render("race.md.jinja", **told, compared=len(mine.family.p), alpha=ALPHA)
    page = folder / "README.md"
    page.write_text(text, encoding="utf-8")
    return page


def _shown(suite: Suite, runs: Iterable[FinishedRun], tuning: Tuning | None, scale: ScaleName) -> "_Shown":
    runs = [run for run in runs if any(_compares(comparison, run) for comparison in suite.comparisons)]
    if not runs:
        raise ValueError(f"suite {suite.name} has nothing to report: it has no comparison with a finished run")
    races, diverged = replayed(runs), diverged_of(suite, runs)
    runs, by, left = scaled(runs, scale, suite.score)
    board = leaderboard(runs, rng=np.random.default_rng(0), scale=by)
    for comparison in suite.comparisons:
        check_comparison(comparison, suite, board)
    every = [_found(comparison, runs, board, suite, diverged) for comparison in suite.comparisons]
    found = [one for one in every if one is not None]
    boards = [(one.comparison, one.board) for one in found]
    tuned = None if tuning is None else tuned_section(tuning, boards, paired=suite.paired, diverged=diverged)
    left = [*left, *diverged_notes(suite, board, diverged)]
    return _Shown(suite, runs, diverged, tuple(left), board, found, _Family(found, races), tuned)


def _bases(other: "_Shown", mine: "_Shown") -> Any:
    """The section on several bases, of the first comparison of both; None where they share too little."""
    return bases_section(mine.found[0].comparison.reference, [other.raced(), mine.raced()])


def _head(suite: Suite, runs: Sequence[FinishedRun], board: Board, command: str) -> dict[str, Any]:
    """What the template asks for besides the comparisons."""
    versions = {name: version for run in runs for name, version in run.versions.items()}
    return {
        "suite": suite,
        "command": command,
        "runs": len(runs),
        "hours": sum(run.wall_seconds for run in runs) / 3600,
        "hardware": ", ".join(sorted({run.hardware for run in runs})),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "level": board.level,
        "scores": _scores(board),
        "notes": [note for note in board.notes if note not in unscored(runs)],
        "no_verdict": NO_PAIRED_VERDICT if suite.paired else NO_VERDICT,
        "inert": INERT,
    }


def _scores(board: Board) -> str:
    """What scores are, in words: normalised, but for those of tasks that have no scale."""
    raw = [short(section.tasks[0]) for section in board.sections if section.raw]
    if board.raw:
        return "Scores are raw returns"
    return f"Scores are normalised: {board.scale.words}" + bool(raw) * f"; of {plain(', '.join(raw))}, raw returns"


def _compares(comparison: Comparison, run: FinishedRun) -> bool:
    return place(run.run, across=comparison.across)[0] in comparison.tasks


def _chosen(comparison: Comparison, runs: Sequence[FinishedRun], board: Board, suite: Suite) -> list[FinishedRun]:
    """The comparison's runs: of its tasks, and of those of its agents that ran all of them."""
    ran: dict[str, dict[str, tuple[FinishedRun, ...]]] = {}
    wanted = set(comparison.agents)
    for result in board.results:
        task, data = place(result.runs[0].run, across=comparison.across)
        name = result.agent + data
        if not wanted or {name, suite.label(result.runs[0].run)} & wanted:
            ran.setdefault(name, {})[task] = result.runs
    names = [name for name, tasks in ran.items() if tasks.keys() >= set(comparison.tasks)]
    kept = {id(run) for name in names for task in comparison.tasks for run in ran[name][task]}
    return [run for run in runs if id(run) in kept]


def _named_as(whole: Board, part: Board, suite: Suite, *, across: bool) -> Board:
    """``part`` with the agents named as they are on the whole board: names say what sets runs apart from the others.

    What the suite has a label for is called that.
    """
    named = {
        id(run): suite.label(run.run) or result.agent + place(run.run, across=across)[1]
        for result in whole.results
        for run in result.runs
    }
    names = {result.agent: named[id(result.runs[0])] for result in part.results} | {"": ""}

    def renamed(section: Section) -> Section:
        standings = [
            replace(one, agent=names[one.agent], next_agent=names[one.next_agent]) for one in section.standings
        ]
        return replace(section, standings=tuple(standings))

    results = [replace(result, agent=names[result.agent]) for result in part.results]
    return replace(part, sections=tuple(map(renamed, part.sections)), results=tuple(results))


@dataclass(frozen=True)
class _Part:
    """One comparison as the template shows it; cells of tables are Markdown.

    Attributes:
        comparison: of the suite.
        overall: rows over all tasks.
        by_task: rows a task.
        begins: whether they tell of success at step 0, after updates on data alone.
        told: of each verdict over all tasks, the agents that got it.
        figure: file name of the picture.
        caption: what the picture shows.
        completions: heads and rows of the table of what completions were like; no rows where runs do not tell.
    """

    comparison: Comparison
    overall: list[list[str]]
    by_task: list[list[str]]
    begins: bool
    told: list[tuple[str, list[str]]]
    figure: str
    caption: str
    completions: tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class _Found:
    """A comparison, the board of its runs with the agents' names on the page, and the section of its tasks."""

    comparison: Comparison
    board: Board
    section: Section
    lost: Lost
    paired: bool = False

    def contrast(self, agent: str, tasks: Sequence[str]) -> Contrast | Paired | None:
        """An agent beside the reference; None for the reference itself, or where one did not run them all."""
        return contrast(self.board, agent, self.comparison.reference, tasks, paired=self.paired)


@dataclass(frozen=True)
class _Shown:
    """What a page is made of: runs, those that diverged, what was left out, boards, verdicts and tuning."""

    suite: Suite
    runs: list[FinishedRun]
    diverged: list[DivergedRun]
    left: tuple[str, ...]
    board: Board
    found: list[_Found]
    family: "_Family"
    tuned: Tunings | None

    def raced(self) -> Raced:
        """The first comparison as a race from one base."""
        one = self.found[0]
        agents = [standing.agent for standing in one.section.standings]
        tuned = (
            {}
            if self.tuned is None
            else {
                name: sampled
                for name, sampled in (
                    (each.name, each.sampled())
                    for each in conditions(self.tuned.tuning, one.board, one.comparison.across)
                )
                if sampled is not None
            }
        )
        return Raced(
            suite=self.suite.name,
            base=base_of(one.board.results[0].runs[0]),
            scores={name: seed_means(one.board, name, one.section.tasks) for name in agents},
            verdicts={name: self.family.verdict(one, name, one.section.tasks)[-1] for name in agents},
            effects={} if self.tuned is None else self.tuned.verdicts,
            tuned=tuned,
        )


class _Family:
    """The verdicts of a page: exact permutation tests of the mean score over runs, corrected for how many there are.

    A comparison that stands on the page twice is one test. Where seeds were added until decided there is none: the
    verdict is AdaStop's.
    """

    def __init__(self, shown: Sequence[_Found], races: Sequence[Replayed]) -> None:
        self.races = races
        raw: dict[tuple[str, str, tuple[str, ...]], float] = {}
        for one in shown:
            for agent in (standing.agent for standing in one.section.standings):
                if agent in one.comparison.inert:
                    continue
                for tasks in {one.section.tasks, *((task,) for task in one.section.tasks)}:
                    found = one.contrast(agent, tasks)
                    if found is not None and found.enough and not self._untested(one, agent, tasks):
                        raw[_key(one, agent, tasks)] = found.p
        self.p = dict(zip(raw, holm(raw), strict=True))

    def verdict(self, one: _Found, agent: str, tasks: Sequence[str]) -> list[str]:
        """The adjusted p-value, and the verdict in words."""
        if agent in one.comparison.inert:
            return ["", INERT]
        if said := self._untested(one, agent, tasks):
            return ["", said]
        p, found = self.p.get(_key(one, agent, tasks)), one.contrast(agent, tasks)
        if p is None or found is None:
            return ["", NO_PAIRED_VERDICT if one.paired else NO_VERDICT]
        said = f"{p:.3f}" if p >= 0.001 else "below 0.001"
        if p > ALPHA:
            return [said, "no significant difference"]
        return [said, "better" if found.better else "worse"]

    def _untested(self, one: _Found, agent: str, tasks: Sequence[str]) -> str:
        """What is said in place of a test's verdict; "" where there is a test."""
        return one.lost.verdict(agent, one.comparison.reference, tasks) or self._sequential(one, agent, tasks)

    def _sequential(self, one: _Found, agent: str, tasks: Sequence[str]) -> str:
        """What AdaStop says where either side was raced until decided; "" where neither was."""
        mine, theirs = (
            [run.run.name for of in one.board.results if of.agent == name and of.task in tasks for run in of.runs]
            for name in (agent, one.comparison.reference)
        )
        return next(filter(None, (race.verdict(mine, theirs) for race in self.races)), "")


def _key(one: _Found, agent: str, tasks: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    return agent, one.comparison.reference, tuple(sorted(tasks))


def _found(
    comparison: Comparison,
    runs: Sequence[FinishedRun],
    whole: Board,
    suite: Suite,
    diverged: Sequence[DivergedRun],
) -> _Found | None:
    """What a comparison is of; None where no agent ran all its tasks."""
    mine = _chosen(comparison, runs, whole, suite)
    if comparison.by_episodes:
        mine = [run for run in mine if _has_log(run)]
    if not mine:
        return None
    part = leaderboard(mine, rng=np.random.default_rng(0), across=comparison.across, scale=whole.scale)
    board = _named_as(whole, part, suite, across=comparison.across)
    section = next(section for section in board.sections if set(section.tasks) == set(comparison.tasks))
    return _Found(comparison, board, section, Lost.of(board, diverged), suite.paired)


def _compared(found: _Found, family: _Family, folder: Path, axis: Axis) -> _Part:
    """One comparison: its table over all tasks, its table a task, its figure."""
    comparison, board, section = found.comparison, found.board, found.section
    figure = folder / (comparison.title.lower().replace(",", "").replace(" ", "-") + ".png")
    many = len(section.standings) > COLOURS
    if many:
        draw_ranking(board, section, comparison.reference, figure)
    else:
        draw_curves(board, figure, by_episodes=comparison.by_episodes, axis=axis)
    overall, told = _overall(found, family)
    caption = "Scores at the end" if many else "Learning curves"
    heads, rows = completions(board)
    like = heads, [_plain(cells) for cells in rows]
    begins = any(map(_at_first, board.results))
    return _Part(comparison, overall, _by_task(found, family, begins), begins, told, figure.name, caption, like)


def _overall(found: _Found, family: _Family) -> tuple[list[list[str]], list[tuple[str, list[str]]]]:
    """A row an agent, and the agents that got each verdict."""
    rows = []
    told: dict[str, list[str]] = {}
    for standing in found.section.standings:
        judged = _judged(found, family, standing.agent, found.section.tasks)
        scores = [f"{standing.metrics[name]:.3f}" for name in ("iqm", "mean")]
        mine = [run for one in found.board.results if one.agent == standing.agent for run in one.runs]
        count = ", ".join([str(standing.runs), changed_tree(mine)]).removesuffix(", ")
        rows.append(_plain([standing.agent, *scores, *judged, count]))
        if standing.agent != found.comparison.reference:
            told.setdefault(judged[-1], []).append(standing.agent)
    return rows, sorted(told.items())


def _by_task(found: _Found, family: _Family, begins: bool) -> list[list[str]]:
    rows = []
    for result in found.board.results:
        judged = _judged(found, family, result.agent, (result.task,))
        cells = [short(result.task), result.agent, f"{result.score:,.2f}", f"{result.success:.0%}", *judged]
        minutes = float(np.mean([run.wall_seconds for run in result.runs])) / 60
        rows.append(_plain([*cells, length_of(result.runs), *[_at_first(result)] * begins, f"{minutes:.1f}"]))
    return rows


def _plain(cells: Iterable[str]) -> list[str]:
    return list(map(plain, cells))


def _at_first(result: Result) -> str:
    """Success after the updates on data that came before the first step in the environment, if both there were."""
    runs = [run for run in result.runs if run.run.budget and run.run.params.get("offline_steps")]
    firsts = [run.curve[0][2] for run in runs if run.curve[0][0] == 0]
    return f"{np.mean(firsts):.0%}" if len(firsts) == len(result.runs) else ""


def _judged(found: _Found, family: _Family, agent: str, tasks: Sequence[str]) -> list[str]:
    """The contrast with the reference on these tasks, the adjusted p-value, the verdict; blank for itself."""
    mine = found.contrast(agent, tasks)
    return ["", "", ""] if mine is None else [str(mine), *family.verdict(found, agent, tasks)]


def _has_log(run: FinishedRun) -> bool:
    """Whether the run's log counts its episodes, or it has none to count; a warning names a run without."""
    try:
        return run.run.track == "offline" or bool(len(episodes_at(run, [0])))
    except (OSError, ValueError) as error:
        warnings.warn(f"left out of what is drawn by episodes: {error}", UserWarning, 3)
        return False
