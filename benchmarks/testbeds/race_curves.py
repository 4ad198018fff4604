"""Race curves: agents raced over a suite, compared by the episodes that their mean curves of success need to a goal.

The goal is where a reference agent ends. Raced runs are kept in the testbed's folder and not run again; the claim and
``tiltyard race SUITE --out FOLDER`` make the same ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ..leaderboard.figures import episode_curves
from ..race import race
from ..runs import FinishedRun
from ..saturated import no_width
from ..statistics import Floats, Interval
from ..suites import find
from ..suites.suite import Suite, Task

RESAMPLES = 2000
SMALLEST: dict[str, dict[str, Any]] = {
    "archer": {"episodes_per_iteration": 4, "fresh_turns": 4, "gradient_steps": 1},
    "grpo": {"prompts_per_batch": 2, "group_size": 2},
    "filtered-bc": {"prompts_per_batch": 2, "group_size": 2},
}
"""Settings of agents in the smallest size."""


class Curves(NamedTuple):
    """Several runs of an agent on a task."""

    episodes: Floats  # [points] of training at the evaluations, mean over runs
    success: Floats  # [runs, points]


RunCurves = Mapping[str, Curves]
"""One run's, by task."""


@dataclass(frozen=True, kw_only=True)
class RaceCurves:
    """The testbed.

    Attributes:
        suite: that is raced.
        folder: where runs are kept, under ``runs``.
    """

    suite: Suite
    folder: str

    def run(self, condition: str, rate: float, seed: int) -> RunCurves:
        """Curves of an agent or method of the suite; all that the suite compares are raced, a run a core."""
        runs = race(self.suite, seeds=(seed,), root=Path("runs") / self.folder)
        return {run.run.task: Curves(*episode_curves([run])) for run in runs if _name(run) == condition}

    def smallest(self) -> Self:
        """One task with two short evaluations after the least training, beside the other runs."""
        return replace(self, suite=replace(self.suite, tasks=tuple(map(_smallest, self.suite.tasks[-1:]))))


def raced(name: str) -> RaceCurves:
    """The testbed of a suite, by its name."""
    return RaceCurves(suite=find(name), folder=name)


def _name(run: FinishedRun) -> str:
    return str(run.run.params.get("method", run.run.agent))


def _smallest(task: Task) -> Task:
    few = {entry: {**entry.params, **SMALLEST.get(entry.agent, {})} for entry in task.entries}
    entries = tuple(replace(entry, budget=1, params=params) for entry, params in few.items())
    return replace(task, entries=entries, eval_episodes=2, eval_points=2)


def pooled(runs: Sequence[RunCurves]) -> dict[str, Curves]:
    """Runs of one agent, by task."""
    return {
        task: Curves(
            np.array([run[task].episodes for run in runs]).mean(axis=0),
            np.concatenate([run[task].success for run in runs]),
        )
        for task in runs[0]
    }


def episodes_to(goal: float, episodes: Floats, curve: Floats) -> float:
    """Episodes after which a mean curve ``[points]`` first reached ``goal``, between points by a line; NaN if never."""
    there = np.flatnonzero(curve >= goal)
    if not len(there):
        return float("nan")
    i = int(there[0])
    if i == 0:
        return float(episodes[0])
    return float(np.interp(goal, curve[i - 1 : i + 1], episodes[i - 1 : i + 1]))


def log_ratio(ours: Curves, theirs: Curves, mine: Sequence[int], others: Sequence[int]) -> float:
    """log10(episodes of theirs / episodes of ours) to where theirs end, of runs ``mine`` and ``others``.

    Where ours never get there, all their episodes count.
    """
    curve, reference = ours.success[list(mine)].mean(axis=0), theirs.success[list(others)].mean(axis=0)
    goal = float(reference[-1])
    took = episodes_to(goal, ours.episodes, curve)
    needed = float(ours.episodes[-1]) if np.isnan(took) else took
    return float(np.log10(episodes_to(goal, theirs.episodes, reference) / needed))


def mean_log_ratio(pairs: Sequence[tuple[Curves, Curves]], rng: np.random.Generator) -> Interval:
    """The mean of :func:`log_ratio` over tasks, with the 95% bootstrap interval over runs; NaN where runs are alike."""

    def drawn() -> float:
        ratios = []
        for pair in pairs:
            picks = [rng.integers(len(curves.success), size=len(curves.success)).tolist() for curves in pair]
            ratios.append(log_ratio(*pair, *picks))
        return float(np.mean(ratios))

    whole = [log_ratio(*pair, *(range(len(curves.success)) for curves in pair)) for pair in pairs]
    low, high = map(float, np.quantile([drawn() for _ in range(RESAMPLES)], (0.025, 0.975)))
    return Interval(float(np.mean(whole)), *((np.nan, np.nan) if no_width(low, high) else (low, high)))


def told_of(agents: Mapping[str, Curves], goal: float) -> dict[str, Any]:
    """All agents' curves on a task, and the episodes they need to a goal."""

    def of_each(value: Callable[[Curves], Any]) -> dict[str, Any]:
        return {agent: value(curves) for agent, curves in agents.items()}

    took = of_each(lambda curves: episodes_to(goal, curves.episodes, curves.success.mean(axis=0)))
    return {
        "episodes to the goal": {agent: None if np.isnan(n) else round(n) for agent, n in took.items()},
        "episodes in all": of_each(lambda curves: round(float(curves.episodes[-1]))),
        "mean curve": of_each(lambda curves: curves.success.mean(axis=0).round(3).tolist()),
        "runs": of_each(lambda curves: len(curves.success)),
    }
