"""Tuning: every condition of a suite at every value of one setting, over seeds that no race reports.

All conditions get the same grid and the same seeds, so as many trials each. The best mean wins; where it lies at an end
of the grid, a wider grid might have had a better one, which :attr:`Choice.at_edge` says. A value at which the training
of any seed diverges has failed: it is told, and never chosen.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import unknown
from .choices import Choice, Point, Tuning, read_tuning
from .diverging import DivergedRun, read_diverged
from .evaluation import TUNING_FROM, is_tuning
from .overshoot import trained
from .race import RaceIncomplete, command_of, finish
from .runs import FinishedRun, Run
from .scores import Score, normalised_score
from .suites import Suite, find

__all__ = ["Choice", "Point", "Tuning", "finish_trials", "parse_grid", "read_tuning", "tune"]
SEEDS = tuple(range(TUNING_FROM, TUNING_FROM + 3))


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
        ValueError: fewer than three values or two equal ones, a seed that races report, a value that an agent refuses,
            or an agent whose training diverges at all of them.
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
    ended = finish_trials(suite, runs, root=Path(root), engine=engine, workers=workers, command=command)
    return [_choice(run, name_of(run, first, [setting]), setting, values, ended, suite.score) for run in first]


def finish_trials(
    suite: Suite, runs: Sequence[Run], *, root: Path, engine: str, workers: int | None, command: str
) -> list[FinishedRun | DivergedRun]:
    """What becomes of ``runs``, in their order: as :func:`~.race.finish`, but that their training may diverge.

    Raises:
        RaceIncomplete: a run has no result for another reason.
    """
    ended: dict[str, FinishedRun | DivergedRun] = {}
    try:
        done = finish(suite, runs, root=root, engine=engine, workers=workers, command=command)
    except RaceIncomplete as incomplete:
        done = incomplete.finished
        ended |= {run.name: one for run in runs if (one := read_diverged(run, root)) is not None}
        if incomplete.failures.keys() - ended.keys():
            raise
    ended |= {one.run.name: one for one in done}
    return [ended[run.name] for run in runs]


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
    run: Run,
    name: str,
    setting: str,
    values: Sequence[Any],
    trials: Sequence[FinishedRun | DivergedRun],
    score: Score,
) -> Choice:
    mine = [one for one in trials if key_of(one.run, [setting]) == key_of(run, [setting])]
    by_value: dict[Any, tuple[list[float], int]] = {}
    for value in values:
        ended = [one for one in mine if one.run.params[setting] == value]
        scores = [normalised_score(one, score) for one in ended if isinstance(one, FinishedRun)]
        by_value[value] = (scores, len(ended) - len(scores))
    tried = {value: tuple(scores) for value, (scores, failed) in by_value.items() if not failed}
    if not tried:
        raise ValueError(none_left(run, setting))
    return Choice(
        task=run.task,
        agent=name,
        setting=setting,
        tried=tried,
        present=run.params.get(setting),
        steps=sum(one.run.budget for one in mine),
        seconds=sum(one.wall_seconds for one in mine),
        params={name: value for name, value in run.params.items() if name != setting},
        trained=sum(map(trained, mine)),
        diverged={value: (failed, failed + len(scores)) for value, (scores, failed) in by_value.items() if failed},
    )


def none_left(run: Run, setting: str) -> str:
    """What to say where no value is left to choose from."""
    return (
        f"the training of {run.agent} on {run.task} diverged at every value of {setting} that was tried: give others, "
        "or leave the agent out"
    )


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
