"""What a board consists of: sections of ranked agents, results of an agent on a task, numbers with their intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Literal, get_args

from ..runs import FinishedRun
from ..statistics import Band, Floats, Interval
from .groups import short
from .scales import Scale

Axis = Literal["samples", "wall-clock", "processor"]
AXES: tuple[Axis, ...] = get_args(Axis)
OVERALL = "all domains"
RAW = "raw returns of "
_TITLES = {"text": "Text", "gui": "GUI", "driving": "Driving", "robotics": "Robotics", "other": "Other"}
_TITLES[OVERALL] = "All domains"


@dataclass(frozen=True)
class Metric:
    """A number and its interval; ``None`` below three runs, and where runs do not differ and have no known bounds.

    NaN, shown as "-", is an unknown number: a success rate where the environment does not report one.

    Attributes:
        value: the number.
        interval: never one of zero width, which would claim certainty from a few runs that agree.
        why: why runs enough give no interval, in words that stand in its place; else empty.
    """

    value: float
    interval: Interval | None
    why: str = ""

    def __format__(self, spec: str) -> str:
        if isnan(self.value):
            return "-"
        if self.interval:
            return format(self.interval, spec)
        return format(self.value, spec or ".3f") + (f" [{self.why}]" if self.why else "")

    @property
    def brief(self) -> "Metric":
        """Without the words, for tables too narrow for them."""
        return Metric(self.value, self.interval)

    def __str__(self) -> str:
        return format(self, "")


@dataclass(frozen=True)
class Curve:
    """Mean normalised return over runs along an axis, ``[points]``; the band where there are runs enough.

    Attributes:
        at: places on the axis: environment steps (or updates), or seconds.
        mean: over runs.
        band: its pointwise interval.
        estimated: whether the runs did not record the axis, and evaluations are taken to be evenly spaced in time.
    """

    at: Floats
    mean: Floats
    band: Band | None
    estimated: bool = False


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
        flags: what a reader must know, in words.
        verified: whether each of its runs was.
        timed: the curve along ``"wall-clock"`` and ``"processor"`` time, where these are known.
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
    verified: bool = False
    timed: Mapping[Axis, Curve] = field(default_factory=dict, hash=False)

    def along(self, axis: Axis) -> Curve | None:
        """The curve along an axis; None where it is not known."""
        return Curve(self.steps, self.curve, self.curve_band) if axis == "samples" else self.timed.get(axis)


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
        beats_next: probability that a run of this agent outscores one of the next row, on a task of the section; None
            without a next row, and below three runs a side.
        profile: share of runs above each of the section's thresholds; ``None`` without an interval.
        flags: what a reader must know, in words.
        verified: whether each of its runs was.
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
    verified: bool = False


@dataclass(frozen=True)
class Section:
    """A domain (or all of them): its tasks and its agents, best first, then those that lack tasks.

    Attributes:
        name: a domain, with its track where that is not online, or :data:`OVERALL`, or :data:`RAW` and a task.
        tasks: as :attr:`Run.task` has them.
        standings: rows.
        thresholds: normalised scores at which the profiles were taken.
        ranked_on: those of the tasks that ranks are of (:func:`.admission.core`).
    """

    name: str
    tasks: tuple[str, ...]
    standings: tuple[Standing, ...]
    thresholds: Floats
    ranked_on: tuple[str, ...] = ()

    @property
    def raw(self) -> bool:
        """Whether its scores are raw returns of one task, for there is nothing to normalise them by."""
        return self.name.startswith(RAW)

    @property
    def note(self) -> str:
        """Which of its tasks count in no rank, in a phrase; "" where all do."""
        left = [short(task) for task in self.tasks if task not in self.ranked_on]
        return f"{', '.join(left)} counts in no rank here, for few agents ran it" if left else ""

    @property
    def title(self) -> str:
        """``Robotics, offline``, or ``CartPole-v1, raw returns``."""
        if self.raw:
            return f"{short(self.tasks[0])}, raw returns"
        domain, comma, track = self.name.partition(",")
        return _TITLES[domain] + comma + track


@dataclass(frozen=True)
class Board:
    """The whole leaderboard: sections by domain, per-task results, and sentences on what was left out or kept apart.

    ``scale`` is what its scores are normalised by.
    """

    sections: tuple[Section, ...]
    results: tuple[Result, ...]
    notes: tuple[str, ...]
    level: float
    scale: Scale = Scale()

    @property
    def raw(self) -> bool:
        """Whether all its scores are raw returns."""
        return all(section.raw for section in self.sections)

    @property
    def runs(self) -> tuple[FinishedRun, ...]:
        """Every run that counts."""
        return tuple(run for result in self.results for run in result.runs)
