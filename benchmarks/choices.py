"""What tuning chose: scores of every value that was tried, and the record of them in ``tuning.json``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.spaces import Dimension
from ..envs.catalogue import find as find_env
from .overshoot import total
from .records import number, part, read_record, seconds_of, words
from .statistics import MIN_RUNS, Interval
from .verdicts import Sample

TRIALS = "tuning.json"
MOST_BYTES = 1 << 24


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
        diverged: values at which the training of any seed diverged, with the number of those runs and of all runs at
            the value; they have failed, whatever the others scored, and are not in ``tried``.
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
    diverged: Mapping[Any, tuple[int, int]] = field(default_factory=dict)

    @property
    def grid(self) -> list[Any]:
        """All values: those tried and those at which training diverged; numbers in ascending order where any did."""
        values = [*self.tried, *self.diverged]
        return sorted(values) if self.diverged and _are_numbers(values) else values

    @property
    def length(self) -> str:
        """Steps in words, with those trained for where these are far more."""
        return total(self.steps, self.trained)

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of what was tuned."""
        return tuple(self.setting.split(", "))

    def value_in(self, params: Mapping[str, Any]) -> Any:
        """What a run with these params has of what was tuned; None where it does not say."""
        return value_of(self.settings, params)

    @property
    def runs(self) -> int:
        """Runs of all trials, those that were stopped early or diverged included."""
        lost = sum(every for _, every in self.diverged.values())
        return sum(map(len, self.tried.values())) + sum(len(scores) for _, _, scores in self.stopped) + lost

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
            ordered = sorted(self.grid) if _are_numbers(self.grid) else self.grid
            return value in (ordered[0], ordered[-1])
        named = value.values if isinstance(value, Point) else ((self.setting, value),)
        return any(Dimension(*self.space[name]).is_end(one) for name, one in named)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(one, int | float) for one in values)


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


def value_of(settings: Sequence[str], params: Mapping[str, Any]) -> Any:
    """The value of a setting, or the :class:`Point` of several; None where params do not say all of them."""
    if len(settings) == 1:
        return params.get(settings[0])
    if any(name not in params for name in settings):
        return None
    return Point(tuple((name, params[name]) for name in settings))


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
    diverged = {value: lost for value, lost in second.diverged.items() if first.diverged.get(value) != lost}
    failed = {**first.diverged, **diverged}
    share = (len(new) + len(diverged)) / len(second.grid)
    return replace(
        first,
        tried={value: scores for value, scores in sorted(tried.items()) if value not in failed},
        diverged=failed,
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
        diverged={_value(value): (int(lost), int(every)) for value, lost, every in record.get("diverged", ())},
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
        "diverged": [[plain(value), *counts] for value, counts in choice.diverged.items()],
    }
