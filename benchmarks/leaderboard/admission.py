"""Which finished runs a board counts: what cannot be, or is not alike, is named in a sentence and left out.

This needs no checkpoint: it holds runs against their environment's scale, against each other and, where a suite is
given, against the suite. What only an evaluation can find, :mod:`..verify` finds.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from ..plausible import implausible
from ..runs import FinishedRun, Run
from ..suites import Suite
from ..verify import OURS, outside

CHANGED = "+changes"
"""The end of a commit whose tree had been changed."""


def usable(runs: Sequence[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    """Runs whose scores are finite and possible, of as many evaluation episodes as most on their task."""
    kept, notes = [], []
    for run in runs:
        if not (run.scores and math.isfinite(run.normalised)):
            notes.append(f"{called(run.run)} has no finite score and was left out")
        elif said := implausible(run):
            notes.append(f"{called(run.run)} was left out: {said}")
        else:
            kept.append(run)
    usual = {task: _most(run.run.eval_episodes for run in kept if run.run.task == task) for task in _tasks(kept)}
    short = [run for run in kept if run.run.eval_episodes < usual[run.run.task]]
    notes += [
        f"{called(run.run)} was left out: evaluated on {run.run.eval_episodes} episodes, the others on "
        f"{usual[run.run.task]}"
        for run in short
    ]
    return [run for run in kept if not any(run is other for other in short)], notes


def of_suite(runs: Iterable[FinishedRun], suite: Suite) -> tuple[list[FinishedRun], list[str]]:
    """Runs of ``suite`` and its guests (:func:`~..verify.outside`), and a sentence on each other run."""
    kept, notes = [], []
    for run in runs:
        if said := outside(suite, run.run):
            notes.append(f"{run.folder.name} was left out: {said}")
        else:
            kept.append(run)
    return kept, notes


def one_of(found: Sequence[FinishedRun], others: Sequence[FinishedRun]) -> FinishedRun | None:
    """Which of several runs of one seed counts; None where that cannot be told.

    That called as its run; of several such, that whose settings, episodes and evaluations are those of most of the
    agent's ``others`` on the task.
    """
    named = [run for run in found if run.folder.name == run.run.name] or list(found)
    if len({run.run.name for run in named}) == 1:
        return named[0]
    alike = Counter(_kind(run) for run in others)
    best = max(alike[_kind(run)] for run in named)
    chosen = [run for run in named if alike[_kind(run)] == best]
    return chosen[0] if len(chosen) == 1 else None


def unknown_agent(run: Run) -> str:
    """What a reader must know of an agent that no catalogue has; "" of others."""
    module, colon, _ = run.agent.rpartition(":")
    if not colon or module in ("control", "language") or module.partition(".")[0] in OURS:
        return ""
    return f"{run.agent} is in no catalogue: its code is unknown"


def changed_tree(runs: Sequence[FinishedRun]) -> str:
    """How many of a row's runs were started from a changed tree, in a phrase; "" for none."""
    count = sum(run.commit.endswith(CHANGED) for run in runs)
    return f"{count} of {len(runs)} runs started from a changed tree" if count else ""


def core(tasks: Mapping[str, Iterable[str]], runs: Mapping[str, int]) -> frozenset[str]:
    """The tasks on which agents are ranked: those that the most agents ran exactly.

    So that no single agent can put many others out of the ranks by a task that it alone ran. Of as many agents' it is
    the most tasks, then those of the most runs; where that is not enough, name the suite.

    Args:
        tasks: of each agent.
        runs: how many each agent has.
    """
    sets: dict[frozenset[str], list[int]] = {}
    for agent, mine in tasks.items():
        sets.setdefault(frozenset(mine), []).append(runs.get(agent, 0))
    return max(sets, key=lambda one: (len(sets[one]), len(one), sum(sets[one]), sorted(one)), default=frozenset())


def called(run: Run) -> str:
    """A run in words."""
    return f"seed {run.seed} of {run.agent} on {run.where.rpartition('/')[2]}"


def _kind(run: FinishedRun) -> Hashable:
    one = run.run
    return one.budget, one.eval_episodes, one.eval_points, str(sorted(one.params.items()))


def _tasks(runs: Iterable[FinishedRun]) -> set[str]:
    return {run.run.task for run in runs}


def _most(values: Iterable[int]) -> int:
    """The most frequent; of several, the highest."""
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], value))
