"""Finished runs in the forms that others read: CSV, rliable's dictionary of scores, a Hugging Face data set's folder.

=============  ====================================================================================================
``csv``        ``runs.csv`` (a row a run), ``evaluations.csv`` (a row an evaluation), ``episodes.csv`` (a row an episode
               of the final evaluation); ``normalised`` is empty where an environment's scores are not known
``rliable``    for each section of the leaderboard ``NAME.npz``, an array ``[runs, tasks]`` of normalised scores by
               agent, as ``rliable.library`` takes them, and ``NAME.json``, the tasks in order
``hf``         the three tables under ``data/``, and a card with their configurations, for ``datasets.load_dataset``
=============  ====================================================================================================
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..envs.catalogue import find
from .leaderboard import leaderboard
from .leaderboard.groups import identity
from .overshoot import trained
from .pages import render
from .runs import FinishedRun

RUNS = (
    *("run", "task", "agent", "method", "seed", "budget", "timesteps", "params", "episodes", "mean_return"),
    *("success_rate", "normalised", "wall_seconds", "commit", "tiltyard", "hardware", "command"),
)
EVALUATIONS = ("run", "point", "step", "mean_return", "success_rate")
EPISODES = ("run", "episode", "return", "success")
Rows = Iterator[tuple[Any, ...]]


def export_csv(runs: Sequence[FinishedRun], out: Path) -> list[Path]:
    """Writes the three tables into ``out``; returns their paths."""
    tables: dict[str, tuple[Sequence[str], Rows]] = {
        "runs": (RUNS, map(_run, runs)),
        "evaluations": (EVALUATIONS, (row for run in runs for row in _evaluations(run))),
        "episodes": (EPISODES, (row for run in runs for row in _episodes(run))),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, (columns, rows) in tables.items():
        with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
    return [out / f"{name}.csv" for name in tables]


def export_rliable(runs: Sequence[FinishedRun], out: Path) -> list[Path]:
    """Writes each section's scores and tasks into ``out``: those of agents that ran all its ranked tasks.

    Raises:
        ValueError: ``out`` holds sections that these runs do not have, which would be read as theirs.
    """
    board = leaderboard(runs, rng=np.random.default_rng(0))
    paths = [out / (re.sub(r"[^\w.-]+", "-", section.name) + ".npz") for section in board.sections]
    if others := sorted(path.name for path in {*out.glob("*.npz")} - {*paths}):
        raise ValueError(f"{out} holds {', '.join(others)} of another export: remove it, or give another folder")
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for section, path in zip(board.sections, paths, strict=True):
        scores = {}
        for standing in section.standings:
            if standing.rank is not None:
                found = {result.task: result.runs for result in board.results if result.agent == standing.agent}
                columns = [[run.normalised for run in found[task][: standing.runs]] for task in section.ranked_on]
                scores[standing.agent] = np.array(columns, dtype=np.float64).T
        np.savez(path, **scores)  # type: ignore[arg-type]  # of allow_pickle, whose name no agent has
        path.with_suffix(".json").write_text(json.dumps({"tasks": list(section.ranked_on)}, indent=1) + "\n")
        written += [path, path.with_suffix(".json")]
    return written


def export_hf(runs: Sequence[FinishedRun], out: Path) -> list[Path]:
    """Writes a data set's folder: the three tables, and a card that names them."""
    tables = export_csv(runs, out / "data")
    card = out / "README.md"
    tasks = sorted({run.run.task for run in runs})
    agents = sorted({identity(run.run).handle for run in runs})
    text = render(
        "dataset_card.md.jinja", tables=[path.stem for path in tables], runs=len(runs), tasks=tasks, agents=agents
    )
    card.write_text(text, encoding="utf-8")
    return [card, *tables]


FORMATS: dict[str, Callable[[Sequence[FinishedRun], Path], list[Path]]] = {
    "csv": export_csv,
    "rliable": export_rliable,
    "hf": export_hf,
}


def _run(run: FinishedRun) -> tuple[Any, ...]:
    one = run.run
    told = f"{np.mean(run.successes)}" if run.successes else ""
    normalised = run.normalised if find(one.env_id).scored else ""
    facts = (normalised, run.wall_seconds, run.commit, run.versions.get("tiltyard", ""), run.hardware, one.command)
    scored = (len(run.scores), float(np.mean(run.scores)), told)
    what = (one.name, one.task, one.agent, identity(one).handle, one.seed, one.budget, trained(run))
    return (*what, json.dumps(one.params), *scored, *facts)


def _evaluations(run: FinishedRun) -> Rows:
    for i, (step, score, success) in enumerate(run.curve):
        yield run.run.name, i, step, score, "" if math.isnan(success) else success


def _episodes(run: FinishedRun) -> Rows:
    told: Iterable[Any] = run.successes or [""] * len(run.scores)
    for i, (score, success) in enumerate(zip(run.scores, told, strict=True)):
        yield run.run.name, i, score, success
