"""The leaderboard as a site: tables to sort, filter and search, dots a seed, pairwise odds, curves; without network.

The pages ``explore.html`` and ``papers.html`` (:mod:`.paper_list`) have their data inside them, and their scripts,
style and the libraries of ``templates/vendor`` (Tabulator, uPlot) beside them; they work from ``file://``. What is
shown is decided here, how in ``explore.js``.

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

from ..index import parts_of
from ..overshoot import length_of
from ..pages import TEMPLATES, render
from ..permutation import LEAST, permutation_p
from ..runs import CHECKPOINT, FinishedRun
from ..statistics import MIN_RUNS, Floats, probability_of_improvement, score_matrix
from .groups import Identity, env_of, identity, short
from .paper_list import PAPERS, known_papers, paper_rows
from .rows import AXES, Axis, Board, Curve, Metric, Result, Section, Standing

PAGE = "explore.html"
FILES = ("site.js", "explore.js", "papers.js", "explore.css")
VENDOR = "vendor"
ALPHA = 0.05
MOMENTS = 41
"""Points of an axis of time."""


def write_site(
    boards: Sequence[Board], out: str | Path, colours: Mapping[str, str], videos: Mapping[str, str] | None = None
) -> Path:
    """Writes the pages and what they need into the folder ``out``; returns the first page's path.

    Args:
        boards: of the same runs on one or several scales, the first of which is shown first.
        out: the folder.
        colours: of the agents.
        videos: of episodes, by name of the run: where they are in ``out``.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(TEMPLATES / name, folder / name)
    shutil.copytree(TEMPLATES / VENDOR, folder / VENDOR, dirs_exist_ok=True)
    (folder / PAPERS).write_text(render(PAPERS, data={"papers": paper_rows()}), encoding="utf-8")
    page = folder / PAGE
    data = site_data(boards, colours, videos or {})
    notes = list(dict.fromkeys(note for board in boards for note in board.notes))
    page.write_text(render(PAGE, data=data, notes=notes), encoding="utf-8")
    return page


def site_data(
    boards: Sequence[Board], colours: Mapping[str, str], videos: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the page shows, as JSON holds it: numbers that are not known are null."""
    scales = [
        {
            "name": board.scale.name,
            "words": board.scale.words,
            "sections": [_section(one, board, colours) for one in board.sections],
        }
        for board in boards
    ]
    results = [one for board in boards for one in board.results]
    runs = {run.run.name: _run(run, (videos or {}).get(run.run.name)) for one in results for run in one.runs}
    sources = {one.agent: _source(identity(one.runs[0].run)) for one in results}
    return {"level": boards[0].level, "scales": scales, "runs": runs, "sources": sources}


def _run(run: FinishedRun, video: str | None) -> dict[str, Any]:
    folder = run.folder if not run.folder.is_absolute() else Path(run.folder.name)
    return {
        "seed": run.run.seed,
        "task": short(run.run.task),
        "score": float(np.mean(run.scores)),
        "success": float(np.mean(run.successes)) if run.successes else None,
        "length": length_of([run]),
        "seconds": run.wall_seconds,
        "command": run.run.command,
        "commit": run.commit or "an installed wheel",
        "video": video,
        "play": f"tiltyard play --agent {folder.as_posix()} --video {run.run.name}.mp4",
        "playable": (run.folder / CHECKPOINT).is_file(),
    }


def _source(whose: Identity) -> dict[str, Any]:
    """The paper and the source files of an agent or a method, as far as they are known."""
    kind = "method" if whose.kind == "language" else "agent"
    named = [part for part in parts_of(whose.handle) if part.handle == whose.handle]
    mine = [part for part in named if part.kind == kind] or named
    paper = known_papers().get(mine[0].paper if mine else whose.handle)
    return {
        "handle": whose.handle,
        "files": list(dict.fromkeys(path for part in mine for path in part.sources)),
        "paper": paper and {"handle": paper.handle, "title": paper.cited, "link": paper.link},
    }


def _section(section: Section, board: Board, colours: Mapping[str, str]) -> dict[str, Any]:
    results = [result for result in board.results if result.task in section.tasks]
    every = {
        one.agent: _scores(one, section.ranked_on if one.rank else one.tasks, results) for one in section.standings
    }
    scores = {one.agent: every[one.agent] for one in section.standings if one.rank}
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
            "why": one.metrics["iqm"].why or "no interval",
            "runs": one.runs,
            "seeds": [float(x) for x in every[one.agent].mean(axis=1)],
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


def _scores(standing: Standing, tasks: Sequence[str], results: Sequence[Result]) -> Floats:
    """Normalised scores ``[runs, tasks]`` of an agent."""
    mine = {one.task: one.runs[: standing.runs] for one in results if one.agent == standing.agent}
    return np.array([[run.normalised for run in mine[task]] for task in tasks], dtype=np.float64).T


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
    """The probability that a run of the row's agent outscores one of the column's, on a task of the section.

    None below three runs a side, as on the board.
    """
    made = {agent: score_matrix(dict(zip(tasks, values.T.tolist(), strict=True))) for agent, values in scores.items()}

    def odds(a: str, b: str) -> float | None:
        few = min(len(made[a].runs), len(made[b].runs)) < MIN_RUNS
        return None if a == b or few else probability_of_improvement(made[a], made[b])

    return [[odds(a, b) for b in made] for a in made]


def _curves(task: str, results: Sequence[Result], colours: Mapping[str, str]) -> dict[str, Any]:
    """Learning curves on one task along every axis that some agent has; null where an agent has no point."""
    mine = [one for one in results if one.task == task]
    kind = "normalised return" if env_of(task).scored else "return"
    axes = {}
    for axis in AXES:
        found = [(one.agent, curve) for one in mine if (curve := one.along(axis)) is not None and len(curve.at)]
        if found:
            axes[axis] = _along(axis, found, colours)
    return {"task": short(task), "kind": kind, "axes": axes}


def _along(axis: Axis, found: Sequence[tuple[str, Curve]], colours: Mapping[str, str]) -> dict[str, Any]:
    """Curves over all places of an axis: every step that there is, or moments that all share."""
    if axis == "samples":
        places = np.unique(np.concatenate([curve.at for _, curve in found]))
        columns = [_at_steps(curve, places) for _, curve in found]
    else:
        ends = [curve.at[end] for _, curve in found for end in (0, -1)]
        places = np.unique(np.concatenate([np.linspace(0.0, max(ends), MOMENTS), ends]))
        columns = [_between(curve, places) for _, curve in found]
    return {
        "at": places.tolist(),
        "estimated": any(curve.estimated for _, curve in found),
        "series": [
            {"agent": agent, "colour": colours[agent], **column}
            for (agent, _), column in zip(found, columns, strict=True)
        ],
    }


def _lines(curve: Curve) -> dict[str, Floats]:
    band, none = curve.band, np.full(len(curve.at), np.nan)
    return {"mean": curve.mean, "low": band.low if band else none, "high": band.high if band else none}


def _at_steps(curve: Curve, places: Floats) -> dict[str, list[float | None]]:
    index = np.searchsorted(places, curve.at)
    made = {}
    for name, values in _lines(curve).items():
        line = np.full(len(places), np.nan)
        line[index] = values
        made[name] = [known(value) for value in line.tolist()]
    return made


def _between(curve: Curve, places: Floats) -> dict[str, list[float | None]]:
    return {
        name: [known(value) for value in np.interp(places, curve.at, values, left=np.nan, right=np.nan).tolist()]
        for name, values in _lines(curve).items()
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "task": short(result.task),
        "agent": result.agent,
        "verified": result.verified,
        "score": f"{result.score:,.2f}",
        "success": None if math.isnan(result.success.value) else f"{result.success:.0%}",
        "length": length_of(result.runs),
        "runs": [run.run.name for run in result.runs],
        "normalised": [run.normalised for run in result.runs],
        "flags": "; ".join(result.flags),
    }


def known(value: float | None) -> float | None:
    """A number as JSON has it; None for one that is not known."""
    return None if value is None or math.isnan(value) else value


def _value(metric: Metric) -> float | None:
    return known(metric.value)


def _end(metric: Metric, name: str) -> float | None:
    return None if metric.interval is None else float(getattr(metric.interval, name))
