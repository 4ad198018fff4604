"""A race that stops by itself: AdaStop adds seeds in groups, and stops the agents whose comparisons are all decided.

After group k, every agent that is still needed has runs with seeds 0 to k n - 1. Its score with a seed is the mean of
its normalised scores over the suite's tasks; a task of raw returns is raced alone. :class:`.adastop.AdaStop` keeps the
chance of calling any equal pair different at its level, over all looks together. A pair that the last group leaves
undecided is not therefore equal.

An agent of which a run diverges has no score with that seed. It is left out from then on, without a verdict, and the
race of the others goes on.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..envs.catalogue import find as find_env
from .adastop import AdaStop
from .engines import held
from .permutation import LEAST
from .race import RaceIncomplete, command_of, race
from .runs import FinishedRun, Run
from .scores import Score, normalised_score
from .sequential import Sequential, taken, told
from .suites import Suite, find

GROUP, GROUPS = 5, 6


@dataclass(frozen=True)
class Decided:
    """What the race found.

    Attributes:
        test: with its decisions, and the runs that each agent took.
        means: each agent's mean score over its seeds.
        runs: all finished runs.
        planned: runs that a race of all groups would have had.
        diverged: of each agent that was left out how many of its runs diverged.
    """

    test: AdaStop
    means: dict[str, float]
    runs: list[FinishedRun]
    planned: int
    diverged: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        took = taken(self.test)
        saved = f"{len(self.runs)} runs in place of {self.planned}"
        seeds = f"seeds: {took}; {saved}; family-wise error at most {self.test.level:.0%}"
        lost = [f"{name}: no verdict, {_runs_of(count)} diverged" for name, count in self.diverged.items()]
        return "\n".join([*told(self.test, self.means), *lost, seeds])


def race_until_decided(
    suite: str | Suite,
    *,
    agents: Sequence[str] | None = None,
    root: str | Path = "runs",
    engine: str = "local",
    workers: int | None = None,
    group: int = GROUP,
    groups: int = GROUPS,
    level: float = 0.05,
    progress: Callable[[str], None] = print,
) -> Decided:
    """Races agents against each other until every pair is decided, or all groups are in.

    Args:
        suite: a suite, the name of one, or the path of a ``.toml`` file that holds one.
        agents: race these alone.
        root: folder of run folders; finished runs found there are kept.
        engine: "local" or "ray".
        workers: runs at a time.
        group: seeds that are added at a time, at least four: fewer get no verdict.
        groups: the most groups.
        level: bound on the chance of calling any equal pair different.
        progress: is told the decisions after every group.

    Raises:
        KeyError: no such suite, agent or engine.
        ValueError: a group of fewer than four seeds, fewer than two agents, agents that do not all run every task
            once, or several tasks of which one has raw returns alone.
        RaceIncomplete: as :func:`.race.race`, but for runs that diverged.
    """
    if group < LEAST:
        raise ValueError(f"a verdict needs at least {LEAST} runs a side, got groups of {group}")
    found = find(suite) if isinstance(suite, str) else suite
    names = _names(found, agents)
    record = Sequential(found.name, found.score, group, groups, level, _runs(found, names, agents, group * groups))
    test = record.test()
    record.write(Path(root))
    called = suite if isinstance(suite, str) else suite.name
    command = command_of("race", called, agents=agents, engine=engine, workers=workers, out=root) + " --until-decided"

    def take(needed: Sequence[str], seeds: Sequence[int]) -> list[FinishedRun]:
        return race(found, agents=needed, seeds=seeds, root=root, engine=engine, workers=workers, command=command)

    planned = groups * len(found.runs(agents=agents, seeds=range(group)))
    with held(engine):
        return decide(test, take, planned=planned, progress=progress, score=found.score)


def decide(
    test: AdaStop,
    take: Callable[[Sequence[str], Sequence[int]], list[FinishedRun]],
    *,
    planned: int,
    progress: Callable[[str], None] = print,
    score: Score = "final",
) -> Decided:
    """Takes groups of runs of the agents that a test still needs, until it is done.

    Args:
        test: that has seen nothing yet.
        take: gives the finished runs of some agents with some seeds; where runs diverged, it raises ``RaceIncomplete``.
        planned: runs that all groups would have.
        progress: is told the decisions after every group.
        score: what of a run is judged.

    Raises:
        RaceIncomplete: a run failed without diverging.
    """
    runs: list[FinishedRun] = []
    scores: dict[str, list[float]] = {name: [] for name in test.runs}
    diverged: Counter[str] = Counter()
    while not test.done:
        needed, first = test.needed, test.runs[test.needed[0]]
        seeds = range(first, first + test.group)
        new, lost = _taken(take, needed, seeds)
        runs += new
        for name, count in lost.items():
            progress(f"seeds {seeds[0]}-{seeds[-1]}: {_runs_of(count)} of {name} diverged: it is left out")
            test.drop(name)
        diverged += lost
        if test.done:
            break
        blocks = {name: _scores(name, seeds, new, score) for name in test.needed}
        for name, block in blocks.items():
            scores[name] += block
        test.add(blocks)
        undecided = sum(one == "undecided" for one in test.decisions.values())
        progress(f"seeds {seeds[0]}-{seeds[-1]}: {undecided} of {len(test.decisions)} pairs undecided")
    means = {name: float(np.mean(of)) for name, of in scores.items() if of and name not in diverged}
    return Decided(test, means, runs, planned, dict(diverged))


def _taken(
    take: Callable[[Sequence[str], Sequence[int]], list[FinishedRun]], needed: Sequence[str], seeds: Sequence[int]
) -> tuple[list[FinishedRun], Counter[str]]:
    """The finished runs, and how many of each agent diverged."""
    try:
        return take(needed, seeds), Counter()
    except RaceIncomplete as incomplete:
        if len(incomplete.diverged) < len(incomplete.failures):
            raise
        return incomplete.finished, Counter(map(_name, incomplete.diverged))


def _runs_of(count: int) -> str:
    return f"{count} run{'s' * (count > 1)}"


def _name(run: Run) -> str:
    return str(run.params.get("method", run.agent))


def _names(suite: Suite, agents: Sequence[str] | None) -> list[str]:
    """The agents that are compared; every one must run every task once."""
    runs = suite.runs(agents=agents, seeds=(0,))
    tasks = {run.task for run in runs}
    entries = Counter((_name(run), run.task) for run in runs)
    names = sorted({name for name, _ in entries})
    raw = sorted({run.task for run in runs if not find_env(run.env_id).scored})
    if raw and len(tasks) > 1:
        raise ValueError(
            f"the returns of {raw[0]} are not normalised, so that no mean over the {len(tasks)} tasks of suite "
            f"{suite.name} can be decided on: race a suite of this task alone, or one without it"
        )
    for name in names:
        if odd := [task for task in sorted(tasks) if entries[name, task] != 1]:
            raise ValueError(
                f"{name} has {entries[name, odd[0]]} entries on {odd[0]} of suite {suite.name}: name --agents that run "
                "every task once"
            )
    return names


def _runs(suite: Suite, names: Sequence[str], agents: Sequence[str] | None, seeds: int) -> dict[str, list[list[str]]]:
    """Of each agent and each seed the names of its runs, one a task."""
    runs = suite.runs(agents=agents, seeds=range(seeds))
    return {
        name: [[run.name for run in runs if _name(run) == name and run.seed == seed] for seed in range(seeds)]
        for name in names
    }


def _scores(name: str, seeds: Sequence[int], runs: Sequence[FinishedRun], score: Score) -> list[float]:
    """An agent's normalised score with each seed, mean over tasks."""
    mine = [run for run in runs if _name(run.run) == name]
    return [float(np.mean([normalised_score(one, score) for one in mine if one.run.seed == seed])) for seed in seeds]
