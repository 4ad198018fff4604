"""From finished runs to rows: a domain's IQM, its interval and the odds against the next row; a task's raw scores.

Agents are ranked within a domain, on the normalised scale (0 a random policy, 1 the scripted expert), and overall only
when they ran every task of every domain. Fewer than three runs get their score but no interval, and a flag instead.
A task whose random and expert scores are not known has a section of its own, of raw returns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import get_args
from zlib import crc32

import numpy as np

from ...envs.catalogue import Domain, find
from ...envs.seeding import generator
from .. import statistics
from ..runs import FinishedRun
from ..statistics import MIN_RUNS, Band, Floats, Interval, Scores
from .groups import Groups, env_of, group, short

DOMAINS: tuple[Domain, ...] = get_args(Domain)
OVERALL = "all domains"
RAW = "raw returns of "
_TITLES = {"text": "Text", "gui": "GUI", "driving": "Driving", "robotics": "Robotics", "other": "Other"}
_TITLES[OVERALL] = "All domains"
_TRACKS = {"online": "", "offline": ", offline", "offline to online": ", offline to online"}
METRICS: dict[str, statistics.Statistic] = {
    "iqm": statistics.iqm,
    "mean": statistics.mean,
    "median": statistics.median,
    "optimality_gap": statistics.optimality_gap,
}
THRESHOLDS = 201


@dataclass(frozen=True)
class Metric:
    """A number and its interval; ``None`` below three runs, and where every resample gives the same number.

    NaN, shown as "-", is a number that nobody knows: a success rate where the environment does not tell.
    An interval without width would claim certainty; it only says that the runs at hand do not differ.
    """

    value: float
    interval: Interval | None

    def __format__(self, spec: str) -> str:
        if isnan(self.value):
            return "-"
        return format(self.interval, spec) if self.interval else format(self.value, spec or ".3f")

    def __str__(self) -> str:
        return format(self, "")


@dataclass(frozen=True)
class Result:
    """One agent on one task.

    Attributes:
        task: as :attr:`Run.task` has it.
        agent: name, as :func:`.groups.group` gives it.
        runs: by seed.
        score: mean raw return over runs.
        success: share of successful evaluation episodes.
        steps: environment steps of the evaluations, ``[points]``.
        curve: mean normalised return at these steps.
        curve_band: its pointwise interval, where there are runs enough.
        flags: why no interval is given, in words.
    """

    task: str
    agent: str
    runs: tuple[FinishedRun, ...]
    score: Metric
    success: Metric
    steps: Floats
    curve: Floats
    curve_band: Band | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """One agent in one section.

    Attributes:
        agent: name.
        rank: 1 is best; ``None`` for an agent that lacks some of the section's tasks.
        runs: runs of each task that enter the row.
        tasks: those the agent ran.
        metrics: normalised ``iqm``, ``mean``, ``median`` and ``optimality_gap``.
        next_agent: the next ranked row, or "".
        beats_next: probability that a run of this agent outscores one of the next row, on a task of the section; its
            interval is missing where every run beats every other.
        profile: share of runs above each of the section's thresholds; ``None`` without an interval.
        flags: what a reader must know, in words.
    """

    agent: str
    rank: int | None
    runs: int
    tasks: tuple[str, ...]
    metrics: dict[str, Metric]
    next_agent: str
    beats_next: Metric | None
    profile: Band | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A domain (or all of them): its tasks and its agents, best first, then those that lack tasks.

    Attributes:
        name: a domain, with its track where that is not online, or :data:`OVERALL`, or :data:`RAW` and a task.
        tasks: as :attr:`Run.task` has them.
        standings: rows.
        thresholds: normalised scores at which the profiles were taken.
    """

    name: str
    tasks: tuple[str, ...]
    standings: tuple[Standing, ...]
    thresholds: Floats

    @property
    def raw(self) -> bool:
        """Whether its scores are raw returns of one task, for there is nothing to normalise them by."""
        return self.name.startswith(RAW)

    @property
    def title(self) -> str:
        """``Robotics, offline``, or ``CartPole-v1, raw returns``."""
        if self.raw:
            return f"{short(self.tasks[0])}, raw returns"
        domain, comma, track = self.name.partition(",")
        return _TITLES[domain] + comma + track


@dataclass(frozen=True)
class Board:
    """The whole leaderboard: sections by domain, per-task results, and sentences on what was left out or kept apart."""

    sections: tuple[Section, ...]
    results: tuple[Result, ...]
    notes: tuple[str, ...]
    level: float

    @property
    def runs(self) -> tuple[FinishedRun, ...]:
        """Every run that counts."""
        return tuple(run for result in self.results for run in result.runs)


@dataclass(frozen=True)
class _Bootstrap:
    """Intervals where there are runs enough; each has its own stream, so none moves when another agent joins."""

    root: int
    resamples: int
    level: float

    def metric(self, values: Floats, statistic: statistics.Statistic, *names: str) -> Metric:
        if len(values) < MIN_RUNS:
            return Metric(statistic(values), None)
        interval = statistics.bootstrap_interval(
            values, statistic, rng=self._rng(*names), resamples=self.resamples, level=self.level
        )
        return _metric(interval)

    def improvement(self, a: Scores, b: Scores, *names: str) -> Metric:
        if min(len(a.runs), len(b.runs)) < MIN_RUNS:
            return Metric(statistics.probability_of_improvement(a, b), None)
        return _metric(
            statistics.improvement_interval(a, b, rng=self._rng(*names), resamples=self.resamples, level=self.level)
        )

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


def _metric(interval: Interval) -> Metric:
    return Metric(interval.estimate, interval if interval.high > interval.low else None)


def leaderboard(
    runs: Iterable[FinishedRun],
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
    across: bool = False,
) -> Board:
    """Ranks the agents of ``runs``.

    Args:
        runs: finished runs; runs of different versions, budgets or settings are kept apart by name, never pooled.
        rng: decides the bootstrap.
        resamples: bootstrap resamples of each interval.
        level: of the intervals.
        across: set all runs of an environment side by side, whatever data they learn from; see :func:`.groups.place`.

    Raises:
        ValueError: no run at all.
    """
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
    everywhere = [agent for agent in _agents(groups, scored) if all((task, agent) in groups for task in scored)]
    if sum(not section.raw for section in sections) > 1 and everywhere:
        complete = {key: found for key, found in groups.items() if key[1] in everywhere}
        sections.insert(0, _section(OVERALL, scored, complete, boot))
    results = [_result(*key, found, boot) for key, found in groups.items()]
    results.sort(key=lambda result: (tasks.index(result.task), -result.score.value, result.agent))
    return Board(tuple(sections), tuple(results), (*notes, *_untrained(tasks)), level)


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
    scores = {agent: _matrix(agent, tasks, groups) for agent in _agents(groups, tasks)}
    ranked = [agent for agent in scores if scores[agent].tasks == tuple(tasks)]
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
                flags=(*_gaps(agent, tasks, mine, groups), *_doubts(mine.values)),
            )
        )
    return Section(name, tuple(tasks), tuple(standings), thresholds)


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
        return [f"all {count} runs scored the same, which leaves a bootstrap nothing to resample"]
    return []


def _result(task: str, agent: str, runs: tuple[FinishedRun, ...], boot: _Bootstrap) -> Result:
    scores = np.array([[float(np.mean(run.scores))] for run in runs])
    told = all(run.successes for run in runs)
    successes = np.array([[float(np.mean(run.successes))] for run in runs if told])
    steps, values = _curves(runs)
    return Result(
        task=task,
        agent=agent,
        runs=runs,
        score=boot.metric(scores, statistics.mean, task, agent, "score"),
        success=boot.metric(successes, statistics.mean, task, agent, "success") if told else Metric(nan, None),
        steps=steps,
        curve=values.mean(axis=0),
        curve_band=boot.curve_band(values, task, agent, "curve"),
        flags=tuple(_doubts(scores)),
    )


def _curves(runs: Sequence[FinishedRun]) -> tuple[Floats, Floats]:
    """Evaluation steps ``[points]`` that all runs cover, and the normalised returns there ``[runs, points]``."""
    curves = [np.array([point[:2] for point in run.curve], dtype=np.float64).reshape(-1, 2) for run in runs]
    if not all(map(len, curves)):
        return np.empty(0), np.empty((len(runs), 0))
    steps = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    first, last = max(curve[0, 0] for curve in curves), min(curve[-1, 0] for curve in curves)
    steps = steps[(steps >= first) & (steps <= last)]
    row = find(runs[0].run.env_id)
    values = [[row.normalise(float(x)) for x in np.interp(steps, curve[:, 0], curve[:, 1])] for curve in curves]
    return steps, np.array(values, dtype=np.float64).reshape(len(runs), len(steps))
