"""The tuning behind a page: what it cost, and differences of conditions with its noise (:mod:`..nested`)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..choices import Choice, Tuning
from ..diverging import DivergedRun
from ..nested import Tuned, nested_difference
from ..overshoot import total
from ..permutation import holm
from ..statistics import Interval
from ..suites import Comparison
from ..verdicts import ALPHA, Sample
from .board import Board, Result
from .groups import short
from .lost import Lost

NOT_BEST = "the race has another value than its trials choose"


@dataclass(frozen=True)
class Condition:
    """A condition of a page with its trials.

    Attributes:
        name: as the page has it.
        tasks: where it was tuned, as :attr:`Run.where` has them.
        choices: of each task.
        results: of each task.
    """

    name: str
    tasks: tuple[str, ...]
    choices: tuple[Choice, ...]
    results: tuple[Result, ...]

    @property
    def setting(self) -> str:
        """What was tuned."""
        return self.choices[0].setting

    @property
    def raced(self) -> Any:
        """The value that the race has."""
        return self.choices[0].value_in(self.results[0].runs[0].run.params)

    @property
    def grid(self) -> list[Any]:
        """The values at which no run diverged on any of the tasks, in order."""
        return [value for value in self.choices[0].tried if all(value in one.tried for one in self.choices)]

    @property
    def best(self) -> Any:
        """The value with the highest mean over the tuned tasks, of those at which no run diverged; None of none."""
        means = {value: np.mean([one.tried[value] for one in self.choices]) for value in self.grid}
        if not means:
            return None
        return max(means, key=lambda value: float(means[value]))

    def sampled(self) -> Tuned | None:
        """What can be resampled; None where the race's value is not the best of these trials, or these are uneven."""
        grid = self.grid
        if self.raced != self.best or len({len(scores) for one in self.choices for scores in one.tried.values()}) > 1:
            return None
        scores = [[run.normalised for run in one.runs if run.run.seed in self.seeds] for one in self.results]
        trials = [[one.tried[value] for one in self.choices] for value in grid]
        return Tuned(np.array(trials, np.float64), np.array(scores, np.float64).T, grid.index(self.raced))

    @property
    def seeds(self) -> list[int]:
        """Those of the race that ran on all of its tasks, ascending: the order of :attr:`Tuned.scores`."""
        return sorted(set.intersection(*({run.run.seed for run in one.runs} for one in self.results)))

    @property
    def trials(self) -> int:
        """How many there were."""
        return sum(one.runs for one in self.choices)

    def cells(self) -> list[str]:
        """What its tuning was and cost: cells of a table."""
        first = self.choices[0]
        edge = ", at the edge of the grid" if first.is_at_edge(self.best) else ""
        return [
            self.name,
            self.setting,
            f"{len(first.grid)} points of a search" if first.space else ", ".join(map(str, first.grid)),
            f"{self.best}{edge}",
            str(self.raced),
            str(self.trials),
            total(sum(one.steps for one in self.choices), sum(one.trained for one in self.choices)),
            f"{sum(one.seconds for one in self.choices) / 60:.0f}",
        ]


@dataclass(frozen=True)
class Effect:
    """A condition's lead over the reference on tuned tasks: of the runs alone, and with tuning."""

    agent: str
    reference: str
    tasks: tuple[str, ...]
    alone: Interval
    nested: Interval
    p: float


@dataclass(frozen=True)
class Section:
    """What a page says of its tuning: the trials, cells of two tables, and the conditions without an effect."""

    tuning: Tuning
    budget: list[list[str]]
    effects: list[list[str]]
    left: list[str]

    @property
    def even(self) -> bool:
        """Whether all conditions had as many trials."""
        return len({row[5] for row in self.budget}) == 1

    @property
    def verdicts(self) -> dict[str, tuple[str, str]]:
        """By agent, over most tasks: the difference with tuning, and its verdict."""
        return {row[0]: (row[4], row[-1]) for row in reversed(self.effects)}


def conditions(tuning: Tuning, board: Board, across: bool) -> list[Condition]:
    """The conditions on a board that ``tuning`` is of, by name; one that stands for several settings is left out.

    Args:
        tuning: the trials.
        board: with the agents named as on the page.
        across: whether these names hold what else an agent was given.
    """
    by_key: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in board.results:
        run = result.runs[0].run
        by_key[run.task, run.agent].append(result)
    found: dict[str, list[tuple[str, Choice, Result]]] = defaultdict(list)
    for choice in tuning.choices:
        mine = [one for one in by_key.get((choice.task, choice.agent.partition(",")[0]), []) if _is_of(one, choice)]
        if len(mine) == 1:
            where = mine[0].runs[0].run.where if across else choice.task
            found[mine[0].agent].append((where, choice, mine[0]))
    made = []
    for name, parts in sorted(found.items()):
        tasks, choices, results = zip(*parts, strict=True)
        if len({tuple(one.grid) for one in choices}) == 1:
            made.append(Condition(name, tasks, choices, results))
        else:  # searched on each task by itself
            made += [
                Condition(f"{name} on {short(task)}", (task,), (choice,), (result,)) for task, choice, result in parts
            ]
    return made


def _is_of(result: Result, choice: Choice) -> bool:
    """Whether a result is of the condition that was tuned, as far as the record says what it is."""
    params = {name: value for name, value in result.runs[0].run.params.items() if name not in choice.settings}
    return choice.params is None or params == choice.params


def section(
    tuning: Tuning,
    found: Sequence[tuple[Comparison, Board]],
    *,
    paired: bool = False,
    diverged: Sequence[DivergedRun] = (),
) -> Section | None:
    """The page's section on tuning; None where none of its conditions was tuned.

    Args:
        tuning: the trials.
        found: comparisons of the page, each with the board of its runs; those of some tasks of a wider one are not
            looked at, for a setting that was chosen over several tasks was chosen for none of them alone.
        paired: compare runs of the same seed in the differences of runs alone.
        diverged: runs that diverged, of whose conditions no difference is given.
    """
    budget: dict[str, list[str]] = {}
    left: dict[str, None] = {}
    effects: list[Effect] = []
    for comparison, board in found:
        if any(_within(comparison, other) for other, _ in found):
            continue
        mine = {one.name: one for one in conditions(tuning, board, comparison.across)}
        budget |= {name: one.cells() for name, one in mine.items()}
        left |= {f"{name}: {NOT_BEST}": None for name, one in mine.items() if one.raced != one.best}
        lost = Lost.of(board, diverged)
        if rival := mine.pop(comparison.reference, None):
            whole = [one for one in mine.values() if not lost.verdict(one.name, rival.name, comparison.tasks)]
            effects += chain.from_iterable(_effects(one, rival, paired) for one in whole)
    rows = [_row(one, p) for one, p in zip(effects, holm([one.p for one in effects]), strict=True)]
    return Section(tuning, list(budget.values()), rows, list(left)) if budget else None


def _within(inner: Comparison, outer: Comparison) -> bool:
    return inner.reference == outer.reference and set(inner.tasks) < set(outer.tasks)


def _effects(one: Condition, rival: Condition, paired: bool) -> Iterator[Effect]:
    """Over all tasks on which both were tuned, and on each."""
    a, b = one.sampled(), rival.sampled()
    if a is None or b is None or one.tasks != rival.tasks:
        return
    every = tuple(range(len(one.tasks)))
    for chosen in dict.fromkeys([every, *((i,) for i in every)]):
        ours, theirs = (side.scores[:, chosen].mean(axis=1) for side in (a, b))
        together = paired and one.seeds == rival.seeds
        alone = Sample.of(ours - theirs) if together else Sample.of(ours).minus(Sample.of(theirs))
        nested, p = nested_difference(a, b, rng=np.random.default_rng(0), tasks=chosen)
        tasks = tuple(one.tasks[i] for i in chosen)
        yield Effect(one.name, rival.name, tasks, alone.interval(), nested, p)


def _row(effect: Effect, p: float) -> list[str]:
    verdict = "no significant difference" if p > ALPHA else "better" if effect.nested.estimate > 0 else "worse"
    return [
        effect.agent,
        effect.reference,
        ", ".join(map(short, effect.tasks)),
        f"{effect.alone:.3f}",
        f"{effect.nested:.3f}",
        f"{p:.3f}" if p >= 0.001 else "below 0.001",
        verdict,
    ]
