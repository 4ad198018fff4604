"""From finished runs to rows: a domain's IQM, its interval and the odds against the next row; a task's raw scores.

Agents are ranked within a domain, on the normalised scale (0 a random policy, 1 the scripted expert), and overall only
when they ran every task of every domain. Fewer than three runs get their score but no interval, and a flag instead.
A task whose random and expert scores are not known has a section of its own, of raw returns.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import get_args
from zlib import crc32

import numpy as np

from ...envs.catalogue import Domain
from ...envs.seeding import generator
from .. import statistics
from ..diverging import unscored
from ..overshoot import remark_on
from ..runs import FinishedRun
from ..saturated import Bounds, none
from ..sequential import replayed
from ..statistics import MIN_RUNS, Band, Floats, Interval, Scores
from .admission import changed_tree, core, unknown_agent
from .groups import Groups, env_of, group, short
from .rows import AXES, OVERALL, RAW, Axis, Board, Curve, Metric, Result, Section, Standing
from .scales import Scale, ScaleName, scaled

__all__ = ["AXES", "OVERALL", "RAW", "Axis", "Board", "Curve", "Metric", "Result", "Section", "Standing", "leaderboard"]

DOMAINS: tuple[Domain, ...] = get_args(Domain)
_TRACKS = {"online": "", "offline": ", offline", "offline to online": ", offline to online"}
METRICS: dict[str, statistics.Statistic] = {
    "iqm": statistics.iqm,
    "mean": statistics.mean,
    "median": statistics.median,
    "optimality_gap": statistics.optimality_gap,
}
THRESHOLDS = 201


@dataclass(frozen=True)
class _Bootstrap:
    """Intervals where there are runs enough; each has its own stream, so none moves when another agent joins."""

    root: int
    resamples: int
    level: float

    def metric(
        self, values: Floats, statistic: statistics.Statistic, *names: str, bounds: Bounds | None = None
    ) -> Metric:
        if len(values) < MIN_RUNS:
            return Metric(statistic(values), None)
        interval = statistics.bootstrap_interval(
            values, statistic, rng=self._rng(*names), resamples=self.resamples, level=self.level, bounds=bounds
        )
        return _metric(interval, values)

    def improvement(self, a: Scores, b: Scores, *names: str) -> Metric | None:
        """None below three runs a side: of one run against one it would be all or nothing, whatever the agents are."""
        if min(len(a.runs), len(b.runs)) < MIN_RUNS:
            return None
        interval = statistics.improvement_interval(
            a, b, rng=self._rng(*names), resamples=self.resamples, level=self.level
        )
        return Metric(interval.estimate, interval)

    def profile(self, scores: Scores, thresholds: Floats, *names: str) -> Band | None:
        if len(scores.runs) < MIN_RUNS:
            return None
        return statistics.profile_band(
            scores, thresholds, rng=self._rng(*names), resamples=self.resamples, level=self.level
        )

    def curve_band(self, values: Floats, *names: str) -> Band | None:
        """Pointwise interval of the mean over runs of ``values`` ``[runs, points]``."""
        if len(values) < MIN_RUNS or not values.size:
            return None
        return statistics.mean_band(values, rng=self._rng(*names), resamples=self.resamples, level=self.level)

    def _rng(self, *names: str) -> np.random.Generator:
        return generator(self.root, *(crc32(name.encode()) for name in names))


def _metric(interval: Interval, values: Floats) -> Metric:
    if isfinite(interval.low):
        return Metric(interval.estimate, interval)
    alike = (values == values[0]).all()
    return Metric(interval.estimate, None, none(len(values)) if alike else "no interval: all resamples are alike")


def leaderboard(
    runs: Iterable[FinishedRun],
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
    across: bool = False,
    verified: Collection[str] = (),
    scale: ScaleName | Scale = "expert",
) -> Board:
    """Ranks the agents of ``runs``.

    Args:
        runs: finished runs; runs of different versions, budgets or settings are kept apart by name, never pooled.
        rng: decides the bootstrap.
        resamples: bootstrap resamples of each interval.
        level: of the intervals.
        across: set all runs of an environment side by side, whatever data they learn from; see :func:`.groups.place`.
        verified: names of runs that were verified (:mod:`..verified`).
        scale: what scores are normalised by (:mod:`.scales`).

    Raises:
        ValueError: no run at all, or none on this scale.
    """
    runs = list(runs)
    races = [*(race.said for race in replayed(runs)), *unscored(runs)]
    runs, by, left = scaled(runs, scale)
    groups, notes = group(runs, across=across)
    if not groups:
        raise ValueError("a leaderboard needs at least one finished run")
    boot = _Bootstrap(int(rng.integers(2**63)), resamples, level)
    tasks = sorted({task for task, _ in groups}, key=lambda task: (DOMAINS.index(env_of(task).domain), task))
    tracks = {task: "online" if across else found[0].run.track for (task, _), found in groups.items()}
    rooms: dict[str, list[str]] = {name + track: [] for name in DOMAINS for track in _TRACKS.values()}
    for task in tasks:
        rooms.setdefault(_room(task, tracks[task]), []).append(task)
    sections = [_section(name, mine, groups, boot) for name, mine in rooms.items() if mine]
    scored = [task for task in tasks if env_of(task).scored]
    shared = [task for section in sections if not section.raw for task in section.ranked_on]
    everywhere = [agent for agent in _agents(groups, scored) if all((task, agent) in groups for task in shared)]
    if sum(not section.raw for section in sections) > 1 and everywhere:
        complete = {key: found for key, found in groups.items() if key[1] in everywhere and key[0] in shared}
        sections.insert(0, _section(OVERALL, [task for task in scored if task in shared], complete, boot))
    results = [_result(*key, found, boot, by) for key, found in groups.items()]
    results.sort(key=lambda result: (tasks.index(result.task), -result.score.value, result.agent))
    board = Board(tuple(sections), tuple(results), (*races, *left, *notes, *_untrained(tasks)), level, by)
    return _marked(board, groups, frozenset(verified)) if verified else board


def _marked(board: Board, groups: Groups, verified: frozenset[str]) -> Board:
    """``board`` with its verified rows marked."""

    def proven(agent: str, tasks: Sequence[str]) -> bool:
        return all(run.run.name in verified for task in tasks for run in groups[task, agent])

    sections = tuple(
        replace(one, standings=tuple(replace(row, verified=proven(row.agent, row.tasks)) for row in one.standings))
        for one in board.sections
    )
    results = tuple(replace(row, verified=proven(row.agent, [row.task])) for row in board.results)
    return replace(board, sections=sections, results=results)


def _untrained(tasks: Sequence[str]) -> tuple[str, ...]:
    """What policies get that learn nothing, in environments as they are by default."""
    ids = dict.fromkeys(env_of(task).id for task in tasks if " with " not in task)
    return tuple(
        f"{short(env_id)}: the {name}, which learns nothing, has a mean return of {score:.2f}"
        for env_id in ids
        for name, score in env_of(env_id).untrained.items()
    )


def _room(task: str, track: str) -> str:
    env = env_of(task)
    return env.domain + _TRACKS[track] if env.scored else RAW + task


def _agents(groups: Groups, tasks: Sequence[str]) -> list[str]:
    return sorted({agent for task, agent in groups if task in tasks})


def _section(name: str, tasks: Sequence[str], groups: Groups, boot: _Bootstrap) -> Section:
    ran = {agent: [task for task in tasks if (task, agent) in groups] for agent in _agents(groups, tasks)}
    shared = core(ran, {agent: sum(len(groups[task, agent]) for task in mine) for agent, mine in ran.items()})
    ranked_on = [task for task in tasks if task in shared]
    complete = {agent for agent, mine in ran.items() if shared <= set(mine)}
    scores = {agent: _matrix(agent, ranked_on if agent in complete else tasks, groups) for agent in ran}
    ranked = [agent for agent in scores if agent in complete]
    ranked.sort(key=lambda agent: -statistics.iqm(scores[agent]))
    thresholds = _thresholds([mine.values for mine in scores.values()])
    standings = []
    for agent in ranked + [agent for agent in scores if agent not in ranked]:
        rank = ranked.index(agent) + 1 if agent in ranked else None
        rival = ranked[rank] if rank and rank < len(ranked) else ""
        mine, names = scores[agent], (name, agent)
        standings.append(
            Standing(
                agent=agent,
                rank=rank,
                runs=len(mine.runs),
                tasks=mine.tasks,
                metrics=_metrics(mine.values, names, boot),
                next_agent=rival,
                beats_next=boot.improvement(mine, scores[rival], *names, rival) if rival else None,
                profile=boot.profile(mine, thresholds, *names, "profile"),
                flags=(
                    *_gaps(agent, ranked_on, mine, groups),
                    *_doubts(mine.values),
                    *_marks([run for task in mine.tasks for run in groups[task, agent]]),
                ),
            )
        )
    return Section(name, tuple(tasks), tuple(standings), thresholds, tuple(ranked_on))


def _metrics(values: Floats, names: tuple[str, str], boot: _Bootstrap) -> dict[str, Metric]:
    found = {key: boot.metric(values, function, *names, key) for key, function in METRICS.items()}
    if names[0].startswith(RAW):  # there is no optimum to fall short of
        found["optimality_gap"] = Metric(nan, None)
    return found


def _thresholds(matrices: Sequence[Floats]) -> Floats:
    """From a random policy's score (or the lowest) to just above the highest, so that weak agents differ visibly."""
    cells = np.concatenate([values.ravel() for values in matrices])
    top = float(cells.max())
    return np.linspace(min(0.0, float(cells.min())), max(top, min(1.0, 1.2 * top), 0.05), THRESHOLDS)


def _matrix(agent: str, tasks: Sequence[str], groups: Groups) -> Scores:
    """Normalised scores of the agent's runs; where some tasks have more runs, their lowest seeds."""
    mine = {task: groups[task, agent] for task in tasks if (task, agent) in groups}
    count = min(map(len, mine.values()))
    return statistics.score_matrix({task: [run.normalised for run in found[:count]] for task, found in mine.items()})


def _gaps(agent: str, tasks: Sequence[str], scores: Scores, groups: Groups) -> list[str]:
    flags = []
    if missing := [short(task) for task in tasks if task not in scores.tasks]:
        flags.append(f"not ranked: no runs on {', '.join(missing)}")
    count = len(scores.runs)
    if more := [short(task) for task in scores.tasks if len(groups[task, agent]) > count]:
        flags.append(f"only the first {count} runs of {', '.join(more)} count: another task has no more")
    return flags


def _doubts(values: Floats) -> list[str]:
    count = len(values)
    if count < MIN_RUNS:
        return [f"only {count} run{'s' if count > 1 else ''}: no interval below {MIN_RUNS}"]
    if (values == values[0]).all():
        return [none(count)]
    return []


def _marks(runs: Sequence[FinishedRun]) -> list[str]:
    """Whose code is not known: that of agents of no catalogue, and of runs from a changed tree; and who trained longer.

    Runs of one agent on several tasks are told of a budget at a time.
    """
    said = dict.fromkeys(unknown_agent(run.run) for run in runs)
    longer = (remark_on([run for run in runs if run.run.budget == budget]) for budget in _budgets(runs))
    return [one for one in (*said, changed_tree(runs), *longer) if one]


def _budgets(runs: Sequence[FinishedRun]) -> list[int]:
    return list(dict.fromkeys(run.run.budget for run in runs))


def _result(task: str, agent: str, runs: tuple[FinishedRun, ...], boot: _Bootstrap, by: Scale) -> Result:
    scores = np.array([[float(np.mean(run.scores))] for run in runs])
    told = all(run.successes for run in runs)
    successes = np.array([[float(np.mean(run.successes))] for run in runs if told])
    steps, values = _curves(runs, by, [[point[0] for point in run.curve] for run in runs])
    return Result(
        task=task,
        agent=agent,
        runs=runs,
        score=boot.metric(scores, statistics.mean, task, agent, "score"),
        success=boot.metric(successes, statistics.mean, task, agent, "success", bounds=(0.0, 1.0))
        if told
        else Metric(nan, None),
        steps=steps,
        curve=values.mean(axis=0),
        curve_band=boot.curve_band(values, task, agent, "curve"),
        flags=(*_doubts(scores), *_marks(runs)),
        timed=_timed(runs, by, boot, task, agent),
    )


def _timed(runs: Sequence[FinishedRun], by: Scale, boot: _Bootstrap, task: str, agent: str) -> dict[Axis, Curve]:
    """Curves along time; of runs that did not record it, along the wall's where evaluations are evenly spaced."""
    found: dict[Axis, Curve] = {}
    recorded = all(len(run.clock) == len(run.curve) for run in runs)
    for i, axis in enumerate(AXES[1:]):
        if recorded:
            places = [[pair[i] for pair in run.clock] for run in runs]
        elif axis == "wall-clock" and all(run.run.track == "online" for run in runs):
            places = [[run.wall_seconds * step / run.curve[-1][0] for step, *_ in run.curve] for run in runs]
        else:
            continue
        at, values = _curves(runs, by, places)
        if len(at):
            band = boot.curve_band(values, task, agent, "curve", axis)
            found[axis] = Curve(at, values.mean(axis=0), band, estimated=not recorded)
    return found


def _curves(runs: Sequence[FinishedRun], by: Scale, places: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
    """Points of an axis that all runs cover ``[points]``, and the normalised returns there ``[runs, points]``.

    Args:
        runs: with their curves.
        by: the scale.
        places: of each run, where its evaluations are on the axis.
    """
    axes = [np.array(mine, dtype=np.float64) for mine in places]
    if not all(map(len, axes)):
        return np.empty(0), np.empty((len(runs), 0))
    steps = np.unique(np.concatenate(axes))
    first, last = max(axis[0] for axis in axes), min(axis[-1] for axis in axes)
    steps = steps[(steps >= first) & (steps <= last)]
    values = [
        [by.normalise(run.run, float(x)) for x in np.interp(steps, axis, [point[1] for point in run.curve])]
        for run, axis in zip(runs, axes, strict=True)
    ]
    return steps, np.array(values, dtype=np.float64).reshape(len(runs), len(steps))
