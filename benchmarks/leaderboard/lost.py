"""Runs of a suite that have no score: those that are not finished, and those whose training diverged.

A page tells of both. What diverged is a result: the scores of a condition's other runs say nothing of it, so that a
condition gets no verdict where any of its runs diverged.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ..diverging import DivergedRun, diverged_in, read_diverged, seed_of
from ..evaluation import is_tuning
from ..runs import FinishedRun
from ..suites import Suite
from .board import Board, Result
from .groups import short


def missing(suite: Suite, runs: Iterable[FinishedRun], diverged: Iterable[DivergedRun] = ()) -> Counter[str]:
    """Runs of the suite that are not finished, nor diverged, counted by task."""
    done = {run.run.name for run in runs} | {run.run.name for run in diverged}
    return Counter(run.task for run in suite.runs() if run.name not in done)


def diverged_of(suite: Suite, runs: Sequence[FinishedRun]) -> list[DivergedRun]:
    """Those of the suite's conditions that diverged, as the folders say that the finished ones lie in.

    They may have other seeds than the suite's, as finished runs may: ``race --seeds`` and ``--until-decided`` add some.
    """
    found = []
    for root in sorted({run.folder.parent for run in runs}):
        names = diverged_in(root) - {run.run.name for run in runs}
        seeds = sorted({seed for name in names if (seed := seed_of(name)) is not None and not is_tuning(seed)})
        raced = suite.runs(seeds=seeds) if seeds else []
        found += [read_diverged(run, root) for run in raced if run.name in names]
    return [one for one in found if one is not None]


@dataclass(frozen=True)
class Lost:
    """How many runs diverged of each condition on a board: of one agent on one task.

    Attributes:
        counts: by agent and task; none of conditions without any.
    """

    counts: dict[tuple[str, str], int]

    @classmethod
    def of(cls, board: Board, diverged: Sequence[DivergedRun]) -> "Lost":
        """Those of the board's conditions."""
        counts = {(one.agent, one.task): len(_alike(one, diverged)) for one in board.results}
        return cls({key: count for key, count in counts.items() if count})

    def verdict(self, agent: str, reference: str, tasks: Collection[str]) -> str:
        """Why an agent gets no verdict on these tasks; "" where neither it nor the reference diverged."""
        for name, of in ((agent, ""), (reference, " of the reference")):
            if count := sum(self.counts.get((name, task), 0) for task in tasks):
                return f"no verdict: {count} run{'s' * (count > 1)}{of} diverged"
        return ""


def notes(suite: Suite, board: Board, diverged: Sequence[DivergedRun]) -> list[str]:
    """What a page says of the runs that diverged, a sentence a condition."""
    said, left = [], {one.run.name: one for one in diverged}
    for result in board.results:
        if mine := _alike(result, diverged):
            left = {name: one for name, one in left.items() if one not in mine}
            every = len(mine) + len(result.runs)
            name = suite.label(result.runs[0].run) or result.agent
            said.append(
                f"{len(mine)} of {every} runs of {name} on {short(result.task)} diverged; scores are of the others"
            )
    whole = Counter((suite.label(one.run) or one.run.agent, one.run.task) for one in left.values())
    return said + [f"all {count} runs of {name} on {short(task)} diverged" for (name, task), count in whole.items()]


def _alike(result: Result, diverged: Iterable[DivergedRun]) -> list[DivergedRun]:
    """Those of the same condition as a result."""
    mine = result.runs[0].run
    return [one for one in diverged if replace(mine, seed=one.run.seed) == one.run]
