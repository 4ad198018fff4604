"""The leaderboard as a site: tables to sort, filter and search, dots a seed, pairwise odds, curves; without network.

The page is ``explore.html`` with its script and style, the data inside it, and the libraries of ``templates/vendor``
(Tabulator, uPlot) beside it; it works from ``file://``. What is shown is decided here, how in ``explore.js``.

A row is tied with the best row above from which it does not differ significantly: an exact permutation test of the
mean score over runs against that row, at 5% over all such tests of the section (Bonferroni); below four runs a side no
difference is significant. That is a help in reading a table that was sorted by the same scores, and no verdict: reports
give those.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..pages import TEMPLATES, render
from ..permutation import LEAST, permutation_p
from ..statistics import Floats, probability_of_improvement, score_matrix
from .groups import env_of, short
from .rows import Board, Metric, Result, Section

PAGE = "explore.html"
FILES = ("explore.js", "explore.css")
VENDOR = "vendor"
ALPHA = 0.05


def write_site(board: Board, out: str | Path, colours: Mapping[str, str]) -> Path:
    """Writes the page and what it needs into the folder ``out``; returns the page's path."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(TEMPLATES / name, folder / name)
    shutil.copytree(TEMPLATES / VENDOR, folder / VENDOR, dirs_exist_ok=True)
    page = folder / PAGE
    page.write_text(render("explore.html", data=site_data(board, colours), notes=board.notes), encoding="utf-8")
    return page


def site_data(board: Board, colours: Mapping[str, str]) -> dict[str, Any]:
    """What the page shows, as JSON holds it: numbers that are not known are null."""
    return {"level": board.level, "sections": [_section(one, board, colours) for one in board.sections]}


def _section(section: Section, board: Board, colours: Mapping[str, str]) -> dict[str, Any]:
    results = [result for result in board.results if result.task in section.tasks]
    scores = {one.agent: _scores(section, one.agent, one.runs, results) for one in section.standings if one.rank}
    ranks = ranked(scores)
    rows = [
        {
            "rank": ranks.get(one.agent, ""),
            "order": one.rank or len(section.standings) + 1,
            "agent": one.agent,
            "colour": colours[one.agent],
            "verified": one.verified,
            **{name: _value(one.metrics[name]) for name in ("iqm", "mean", "median", "optimality_gap")},
            "low": _end(one.metrics["iqm"], "low"),
            "high": _end(one.metrics["iqm"], "high"),
            "runs": one.runs,
            "seeds": [] if one.agent not in scores else [float(x) for x in scores[one.agent].mean(axis=1)],
            "flags": "; ".join(one.flags),
        }
        for one in section.standings
    ]
    return {
        "title": section.title,
        "raw": section.raw,
        "tasks": [short(task) for task in section.tasks],
        "note": section.note,
        "rows": rows,
        "agents": list(scores),
        "odds": _odds(scores, section.ranked_on),
        "curves": [_curves(task, results, colours) for task in section.tasks],
        "results": [_result(one) for one in results],
    }


def _scores(section: Section, agent: str, count: int, results: Sequence[Result]) -> Floats:
    """Normalised scores ``[runs, tasks]`` of an agent on the tasks that ranks are of."""
    mine = {one.task: one.runs[:count] for one in results if one.agent == agent}
    return np.array([[run.normalised for run in mine[task]] for task in section.ranked_on], dtype=np.float64).T


def ranked(scores: Mapping[str, Floats]) -> dict[str, str]:
    """Ranks in words, ``1`` or ``2 to 4`` of a tie, of agents from the best on.

    Args:
        scores: of each agent, ``[runs, tasks]``, the best agent first.
    """
    means = {agent: values.mean(axis=1) for agent, values in scores.items()}
    ties: list[list[str]] = []
    for agent in scores:  # each is tested once, against the first of the tie above
        if ties and not _apart(means[ties[-1][0]], means[agent], len(scores) - 1):
            ties[-1].append(agent)
        else:
            ties.append([agent])
    ranks: dict[str, str] = {}
    first = 1
    for tied in ties:
        last = first + len(tied) - 1
        ranks |= dict.fromkeys(tied, f"{first}" if last == first else f"{first} to {last}")
        first = last + 1
    return ranks


def _apart(a: Floats, b: Floats, tests: int) -> bool:
    return min(len(a), len(b)) >= LEAST and permutation_p(a, b) * tests <= ALPHA


def _odds(scores: Mapping[str, Floats], tasks: Sequence[str]) -> list[list[float | None]]:
    """The probability that a run of the row's agent outscores one of the column's, on a task of the section."""
    made = {agent: score_matrix(dict(zip(tasks, values.T.tolist(), strict=True))) for agent, values in scores.items()}
    return [[None if a == b else probability_of_improvement(made[a], made[b]) for b in made] for a in made]


def _curves(task: str, results: Sequence[Result], colours: Mapping[str, str]) -> dict[str, Any]:
    """Learning curves on one task over all steps at which some agent was evaluated; null elsewhere."""
    mine = [one for one in results if one.task == task and len(one.steps)]
    steps = sorted({float(step) for one in mine for step in one.steps})
    series = [{"agent": one.agent, "colour": colours[one.agent], **_series(one, steps)} for one in mine]
    kind = "normalised return" if env_of(task).scored else "return"
    return {"task": short(task), "steps": steps, "series": series, "kind": kind}


def _series(result: Result, steps: Sequence[float]) -> dict[str, list[float | None]]:
    band = result.curve_band
    columns = {"mean": result.curve, "low": band.low if band else None, "high": band.high if band else None}
    made: dict[str, list[float | None]] = {}
    for name, values in columns.items():
        at = {} if values is None else dict(zip(map(float, result.steps), map(float, values), strict=True))
        made[name] = [known(at.get(step)) for step in steps]
    return made


def _result(result: Result) -> dict[str, Any]:
    return {
        "task": short(result.task),
        "agent": result.agent,
        "verified": result.verified,
        "score": _value(result.score),
        "success": _value(result.success),
        "length": result.runs[0].run.length,
        "commands": [run.run.command for run in result.runs],
        "commits": sorted({run.commit or "an installed wheel" for run in result.runs}),
        "flags": "; ".join(result.flags),
    }


def known(value: float | None) -> float | None:
    """A number as JSON has it; None for one that is not known."""
    return None if value is None or math.isnan(value) else value


def _value(metric: Metric) -> float | None:
    return known(metric.value)


def _end(metric: Metric, name: str) -> float | None:
    return None if metric.interval is None else float(getattr(metric.interval, name))
