"""Tuning: every condition of a suite at every value of one setting, over seeds that no race reports.

All conditions get the same grid and the same seeds, so as many trials each. The best mean wins; where it lies at an end
of the grid, a wider grid might have had a better one, which :attr:`Choice.at_edge` says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import unknown
from ..agents.spaces import Dimension
from ..envs.catalogue import find as find_env
from .evaluation import TUNING_FROM, is_tuning
from .overshoot import is_far, trained
from .race import command_of, finish
from .records import number, part, read_record, seconds_of, words
from .runs import FinishedRun, Run
from .scores import Score, normalised_score
from .statistics import MIN_RUNS, Interval
from .suites import Suite, find
from .verdicts import Sample

TRIALS = "tuning.json"
MOST_BYTES = 1 << 24
SEEDS = tuple(range(TUNING_FROM, TUNING_FROM + 3))


@dataclass(frozen=True, order=True)
class Point:
    """Values of several settings that are tried together: ``(("gamma", 0.99), ("learning_rate", 0.001))``."""

    values: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.values)


@dataclass(frozen=True)
class Choice:
    """What one condition scored in tuning.

    Attributes:
        task: as :attr:`Run.task` has it.
        agent: its name, with what sets it apart from other conditions of that name on the task.
        setting: name of what was tuned; several, with commas, where values are a :class:`Point`.
        tried: normalised scores, one a seed, for each value; in the order of the grid.
        present: the value that the suite has, ``None`` where it has none.
        steps, trained: budgets of all trials together, and steps that they trained for (0 where it is not recorded).
        seconds: of computing, all trials together.
        params: of its runs, but for the setting; None where the record is from before these were kept.
        stopped: values that a search gave up after a share of the budget, with that share and the scores at it.
        tests: normalised scores of the best value on seeds and problems that races report, one a seed.
        space: ends of the search by setting; none of a grid, which has its own.
    """

    task: str
    agent: str
    setting: str
    tried: Mapping[Any, tuple[float, ...]]
    present: Any
    steps: int
    seconds: float
    params: Mapping[str, Any] | None = None
    stopped: tuple[tuple[Any, float, tuple[float, ...]], ...] = ()
    tests: tuple[float, ...] = ()
    space: Mapping[str, tuple[float, float, bool]] = field(default_factory=dict)
    trained: int = 0

    @property
    def length(self) -> str:
        """Steps in words, with those trained for where these are far more."""
        return f"{self.steps:,}" + f" (trained for {self.trained:,})" * is_far(self.trained, self.steps)

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of what was tuned."""
        return tuple(self.setting.split(", "))

    def value_in(self, params: Mapping[str, Any]) -> Any:
        """What a run with these params has of what was tuned; None where it does not say."""
        return value_of(self.settings, params)

    @property
    def runs(self) -> int:
        """Runs of all trials, those that were stopped early included."""
        return sum(map(len, self.tried.values())) + sum(len(scores) for _, _, scores in self.stopped)

    @property
    def gap(self) -> Interval | None:
        """Mean score of the best value on tuning seeds minus that on test seeds; None where it was not tested.

        The best of many trials is best by luck as well, and problems of tuning are not those that are reported: above 0
        is what tuning promised and did not keep. Student's t with Welch's degrees of freedom; ends are NaN below three
        seeds a side, or where no seed differs from another.

        Paper: Hyperparameters in Reinforcement Learning and How To Tune Them (2023), section 4 on tuning seeds.
        """
        if not self.tests:
            return None
        tuned = self.tried[self.best]
        if min(len(tuned), len(self.tests)) < MIN_RUNS:
            return Interval(float(np.mean(tuned) - np.mean(self.tests)), np.nan, np.nan)
        return Sample.of(tuned).minus(Sample.of(self.tests)).interval()

    @property
    def gap_told(self) -> str:
        """:attr:`gap` in words; "" where the best value was not tested."""
        gap = self.gap
        if gap is not None and min(len(self.tried[self.best]), len(self.tests)) < MIN_RUNS:
            return f"{gap.estimate:.3f} [no interval below {MIN_RUNS} seeds a side]"
        return "" if gap is None else f"{gap:.3f}"

    @property
    def best(self) -> Any:
        """The value with the highest mean score; of equals the first."""
        return max(self.tried, key=lambda value: float(np.mean(self.tried[value])))

    @property
    def at_edge(self) -> bool:
        """Whether the best value is an end of the grid, or near one of the searched space.

        A grid's ends are its smallest and its largest number; of values that are no numbers, the first and the last.
        """
        return self.is_at_edge(self.best)

    @property
    def ties(self) -> str:
        """Which other values have the mean score of the best one, in a phrase; "" where none has."""
        most = float(np.mean(self.tried[self.best]))
        same = [value for value, scores in self.tried.items() if float(np.mean(scores)) == most and value != self.best]
        if not same:
            return ""
        return ", equal to " + ("all others" if len(same) == len(self.tried) - 1 else " and ".join(map(str, same)))

    @property
    def raw(self) -> bool:
        """Whether its scores are raw returns, for there is nothing to normalise them by."""
        return not find_env(self.task.partition(" ")[0]).scored

    def is_at_edge(self, value: Any) -> bool:
        """:attr:`at_edge` of any of the values."""
        if not self.space:
            numbers = all(isinstance(one, int | float) for one in self.tried)
            ordered = sorted(self.tried) if numbers else list(self.tried)
            return value in (ordered[0], ordered[-1])
        named = value.values if isinstance(value, Point) else ((self.setting, value),)
        return any(Dimension(*self.space[name]).is_end(one) for name, one in named)


@dataclass(frozen=True)
class Tuning:
    """All trials of a suite, as the folders of one or several tunings hold them.

    Attributes:
        folders: their names.
        seeds: of the trials, as they were asked for.
        choices: of every condition and task.
    """

    folders: tuple[str, ...]
    seeds: str
    choices: tuple[Choice, ...]


def tune(
    suite: str | Suite,
    setting: str,
    values: Sequence[Any],
    *,
    agents: Sequence[str] | None = None,
    envs: Sequence[str] | None = None,
    seeds: Sequence[int] = SEEDS,
    root: str | Path = "runs/tuning",
    engine: str = "local",
    workers: int | None = None,
) -> list[Choice]:
    """Runs every entry of a suite with each value of a setting, and says which did best; finished runs are kept.

    Args:
        suite: a suite, the name of one, or the path of a ``.toml`` file that holds one.
        setting: keyword of the agents, such as ``learning_rate``.
        values: the grid, in order, at least three.
        agents: tune these alone.
        envs: ids of environments; tune on their tasks alone.
        seeds: from 10,000 on, which no race takes and whose evaluation problems are none that are reported.
        root: folder of run folders.
        engine: "local" or "ray".
        workers: runs at a time.

    Raises:
        KeyError: no such suite, agent, environment or engine.
        ValueError: fewer than three values or two equal ones, a seed that races report, a value that an agent refuses.
        RaceIncomplete: as :func:`~.race.race`.
    """
    name, suite = (suite, find(suite)) if isinstance(suite, str) else (suite.name, suite)
    if len(values) < 3 or len(set(values)) < len(values):
        raise ValueError(f"a grid has at least three values, all different, got {list(values)}")
    planned = plan(suite, name, agents, envs, seeds)
    first = conditions(planned, seeds, [setting], name)
    runs = [replace(run, params={**run.params, setting: value}) for value in values for run in planned]
    grid = f"{setting}={','.join(map(str, values))}"
    command = command_of(
        "tune", name, grid=grid, agents=agents, envs=envs, seeds=seeds, engine=engine, workers=workers, out=root
    )
    done = finish(suite, runs, root=Path(root), engine=engine, workers=workers, command=command)
    return [_choice(run, name_of(run, first, [setting]), setting, values, done, suite.score) for run in first]


def plan(
    suite: Suite, name: str, agents: Sequence[str] | None, envs: Sequence[str] | None, seeds: Sequence[int]
) -> list[Run]:
    """The suite's runs on tuning seeds.

    Raises:
        KeyError: no such agent or environment.
        ValueError: a seed that races report, or nothing to tune.
    """
    if reported := [seed for seed in seeds if not is_tuning(seed)]:
        raise ValueError(f"seed {reported[0]} is for races, which report it: tune with seeds from {TUNING_FROM} on")
    for env_id in envs or ():
        if env_id not in (known := sorted({task.env_id for task in suite.tasks})):
            raise KeyError(unknown(f"environment in suite {name!r}", env_id, known))
    found = [run for run in suite.runs(agents=agents, seeds=seeds) if envs is None or run.env_id in envs]
    if not found:
        raise ValueError(f"suite {name} has {' and '.join(agents or ())} in none of {', '.join(envs or ())}")
    return found


def conditions(planned: Sequence[Run], seeds: Sequence[int], settings: Sequence[str], name: str) -> list[Run]:
    """One run of each condition, without regard to the settings that are tuned.

    Raises:
        ValueError: two conditions differ in these settings alone.
    """
    first = [run for run in planned if run.seed == seeds[0]]
    entries = [key_of(run, settings) for run in first]
    if len(set(entries)) < len(entries):
        told = " and ".join(settings)
        raise ValueError(
            f"two entries of {name} differ in nothing but {told}: name the agents to be tuned, or leave one out"
        )
    return first


def value_of(settings: Sequence[str], params: Mapping[str, Any]) -> Any:
    """The value of a setting, or the :class:`Point` of several; None where params do not say all of them."""
    if len(settings) == 1:
        return params.get(settings[0])
    if any(name not in params for name in settings):
        return None
    return Point(tuple((name, params[name]) for name in settings))


def name_of(run: Run, others: Sequence[Run], settings: Sequence[str]) -> str:
    """The agent, and what it has that not all conditions of this agent on the task have."""
    same = [other.params for other in others if (other.task, other.agent) == (run.task, run.agent)]
    own = [
        f"{name}={value}"
        for name, value in run.params.items()
        if name not in settings and any(other.get(name) != value for other in same)
    ]
    return ", ".join([run.agent, *own])


def key_of(run: Run, settings: Sequence[str]) -> tuple[str, str, str]:
    """What tells one condition from another: task, agent, and its settings but those that are tuned."""
    rest = sorted((name, repr(value)) for name, value in run.params.items() if name not in settings)
    return run.task, run.agent, ", ".join("=".join(pair) for pair in rest)


def _choice(
    run: Run, name: str, setting: str, values: Sequence[Any], done: Sequence[FinishedRun], score: Score
) -> Choice:
    mine = [one for one in done if key_of(one.run, [setting]) == key_of(run, [setting])]
    tried = {
        value: tuple(normalised_score(one, score) for one in mine if one.run.params[setting] == value)
        for value in values
    }
    steps, seconds = sum(one.run.budget for one in mine), sum(one.wall_seconds for one in mine)
    rest = {name: value for name, value in run.params.items() if name != setting}
    longer = sum(map(trained, mine))
    return Choice(run.task, name, setting, tried, run.params.get(setting), steps, seconds, rest, trained=longer)


def read_tuning(folder: str | Path) -> Tuning:
    """What ``tiltyard tune`` left in ``folder``.

    Raises:
        FileNotFoundError: no ``tuning.json`` there.
        ValueError: it is damaged, or no tuning's.
    """
    path = Path(folder) / TRIALS
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no {TRIALS}: give a folder that tiltyard tune made")
    record = read_record(path, MOST_BYTES)
    try:
        choices = tuple(_stored(one) for one in part(record, "choices", list))
        return Tuning((Path(folder).absolute().name,), words(record, "seeds"), choices)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}): tune again") from error


def merged(tunings: Sequence[Tuning]) -> Tuning:
    """Trials of several tunings, such as of a grid and of values that it was widened by later; each counts once."""
    found: dict[tuple[str, str, str], Choice] = {}
    for choice in (one for tuning in tunings for one in tuning.choices):
        key = choice.task, choice.agent, choice.setting
        found[key] = _joined(found[key], choice) if key in found else choice
    folders = tuple(folder for tuning in tunings for folder in tuning.folders)
    return Tuning(folders, "; ".join(dict.fromkeys(one.seeds for one in tunings)), tuple(found.values()))


def _joined(first: Choice, second: Choice) -> Choice:
    """Both grids in order; trials that are in both, with the same scores, cost once."""
    again = [value for value, scores in second.tried.items() if first.tried.get(value) == scores]
    new = {value: scores for value, scores in second.tried.items() if value not in again}
    tried = {value: first.tried.get(value, ()) + new.get(value, ()) for value in {**first.tried, **new}}
    share = len(new) / len(second.tried)
    return replace(
        first,
        tried=dict(sorted(tried.items())),
        steps=first.steps + round(share * second.steps),
        trained=first.trained + round(share * second.trained),
        seconds=first.seconds + share * second.seconds,
    )


def _stored(record: Mapping[str, Any]) -> Choice:
    tried = {_value(value): _scores(scores, "tried") for value, scores in part(record, "tried", list)}
    if len(set(map(len, tried.values()))) != 1 or not all(tried.values()):
        raise ValueError("not every value has as many trials")
    return Choice(
        task=words(record, "task"),
        agent=words(record, "agent"),
        setting=words(record, "setting"),
        tried=tried,
        present=record.get("present"),
        steps=part(record, "steps", int),
        trained=int(number(record.get("trained", 0), "trained")),
        seconds=seconds_of({"wall_seconds": part(record, "seconds", float)}),
        params=part(record, "params", dict) if record.get("params") is not None else None,
        stopped=tuple(
            (_value(value), number(share, "stopped"), _scores(scores, "stopped"))
            for value, share, scores in record.get("stopped", ())
        ),
        tests=_scores(record.get("tests", ()), "tests"),
        space={
            name: (number(low, "space"), number(high, "space"), bool(log))
            for name, (low, high, log) in record.get("space", {}).items()
        },
    )


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return number(value, "tried")
    return Point(tuple((name, number(one, "tried")) for name, one in value.items()))


def _scores(scores: Sequence[Any], name: str) -> tuple[float, ...]:
    return tuple(number(score, name) for score in scores)


def recorded(choice: Choice) -> dict[str, Any]:
    """What ``tuning.json`` holds of a choice (JSON)."""

    def plain(value: Any) -> Any:
        return dict(value.values) if isinstance(value, Point) else value

    return {
        **vars(choice),
        "tried": [[plain(value), list(scores)] for value, scores in choice.tried.items()],
        "best": plain(choice.best),
        "present": plain(choice.present),
        "stopped": [[plain(value), share, list(scores)] for value, share, scores in choice.stopped],
        "space": {name: list(ends) for name, ends in choice.space.items()},
        "tests": list(choice.tests),
    }


def parse_grid(text: str) -> tuple[str, list[Any]]:
    """``learning_rate=1e-4,3e-4,1e-3`` as its name and values.

    Raises:
        ValueError: no name, or a value that is no number.
    """
    name, _, listed = text.partition("=")
    if not name.isidentifier() or not listed:
        raise ValueError(f"a grid is a setting and its values, such as learning_rate=1e-4,3e-4,1e-3, got {text!r}")
    values: list[Any] = []
    for word in listed.split(","):
        try:
            values.append(int(word) if word.strip().lstrip("-").isdigit() else float(word))
        except ValueError:
            raise ValueError(f"{word!r} in the grid of {name} is no number") from None
    return name, values
