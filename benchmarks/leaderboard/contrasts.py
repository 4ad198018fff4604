"""Contrasts of an agent with the reference of a comparison: of all their runs, or of runs paired by their seed.

================  ============================================  ====================================================
side              all runs (:class:`Contrast`)                  paired by seed (:class:`Paired`)
================  ============================================  ====================================================
in the table      P that a run of the agent beats one of the    the mean difference with Student's t interval
                  reference
p-value           permutations of runs between the two sides    exchanges within pairs (signs of differences)
needs             four runs a side                              six pairs
================  ============================================  ====================================================

Over several tasks a seed's score is its mean over them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..permutation import LEAST, LEAST_PAIRS, permutation_p, sign_flip_p
from ..statistics import MIN_RUNS, Scores, improvement_interval, score_matrix
from ..verdicts import student_interval
from .board import Board


@dataclass(frozen=True)
class Contrast:
    """Scores of an agent and of the reference on the same tasks, ``[runs, tasks]`` each."""

    mine: Scores
    theirs: Scores
    level: float

    @property
    def enough(self) -> bool:
        """Whether there can be a verdict."""
        return min(len(self.mine.runs), len(self.theirs.runs)) >= LEAST

    @property
    def p(self) -> float:
        """Of no difference, two-sided."""
        return permutation_p(self.mine.values.mean(1), self.theirs.values.mean(1))

    @property
    def better(self) -> bool:
        """Which way the difference goes."""
        return bool(self.mine.values.mean() > self.theirs.values.mean())

    def __str__(self) -> str:
        if min(len(self.mine.runs), len(self.theirs.runs)) < MIN_RUNS:
            return "-"  # of one run against one it would be all or nothing, whatever the agents are
        rng = np.random.default_rng(0)
        return f"{improvement_interval(self.mine, self.theirs, rng=rng, level=self.level):.2f}"


@dataclass(frozen=True)
class Paired:
    """Differences of an agent to the reference, one a seed that both ran, ``[pairs]``."""

    differences: tuple[float, ...]
    level: float

    @property
    def enough(self) -> bool:
        """Whether there can be a verdict."""
        return len(self.differences) >= LEAST_PAIRS

    @property
    def p(self) -> float:
        """Of no difference, two-sided."""
        return sign_flip_p(self.differences)

    @property
    def better(self) -> bool:
        """Which way the difference goes."""
        return bool(np.mean(self.differences) > 0)

    def __str__(self) -> str:
        if len(self.differences) < MIN_RUNS:
            return f"{np.mean(self.differences):+.3f}"
        return f"{student_interval(self.differences, self.level):+.3f}"


def contrast(
    board: Board, agent: str, reference: str, tasks: Sequence[str], *, paired: bool
) -> Contrast | Paired | None:
    """An agent beside the reference; None for the reference itself, or where they did not run all tasks (together)."""
    if agent == reference:
        return None
    if paired:
        ours, others = (seed_means(board, name, tasks) for name in (agent, reference))
        found = tuple(ours[seed] - others[seed] for seed in sorted(ours.keys() & others.keys()))
        return Paired(found, board.level) if found else None
    mine, theirs = (_scores(board, name, tasks) for name in (agent, reference))
    return None if mine is None or theirs is None else Contrast(mine, theirs, board.level)


def seed_means(board: Board, name: str, tasks: Sequence[str]) -> dict[int, float]:
    """The mean normalised score over ``tasks`` by seed, of the seeds that an agent ran on all of them, ascending."""
    return {seed: float(np.mean(scores)) for seed, scores in _by_seed(board, name, tasks).items()}


def _by_seed(board: Board, name: str, tasks: Sequence[str]) -> dict[int, list[float]]:
    """Normalised scores on ``tasks`` by seed, of the seeds that an agent ran on all of them."""
    runs = {result.task: result.runs for result in board.results if result.agent == name and result.task in tasks}
    if set(runs) != set(tasks):
        return {}
    shared = set.intersection(*({run.run.seed for run in found} for found in runs.values()))
    scores = [{run.run.seed: run.normalised for run in found} for found in runs.values()]
    return {seed: [of[seed] for of in scores] for seed in sorted(shared)}


def _scores(board: Board, name: str, tasks: Sequence[str]) -> Scores | None:
    """Normalised scores of the seeds that an agent ran on all of ``tasks``; None where there are none."""
    by_seed = _by_seed(board, name, tasks)
    order = [result.task for result in board.results if result.agent == name and result.task in tasks]
    return score_matrix(dict(zip(order, zip(*by_seed.values(), strict=True), strict=True))) if by_seed else None
