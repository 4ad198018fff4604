"""Runs that train for longer than their budget: agents that collect whole rollouts or episodes end with a whole one.

Up to :data:`SLACK` beyond the budget nothing is said; from there on boards and pages tell both numbers.
"""

import warnings
from collections.abc import Sequence

from .diverging import DivergedRun
from .runs import CONTINUES, FinishedRun, Run

SLACK = 0.05
"""Share of the budget."""


def trained(run: FinishedRun | DivergedRun) -> int:
    """Environment steps that a run trained for; the last evaluation of a finished one comes at their end."""
    if isinstance(run, DivergedRun):
        return run.timesteps
    return run.curve[-1][0] if run.run.budget and run.curve else run.run.budget


def remark_on(runs: Sequence[FinishedRun]) -> str:
    """``trained for 2,048 steps where 300 were asked for``; "" where no run of one condition goes far beyond."""
    said = _trained_for(runs)
    return said and f"trained for {said} steps where {runs[0].run.budget:,} were asked for"


def length_of(runs: Sequence[FinishedRun]) -> str:
    """How long the runs of one condition trained: ``300 steps (trained for 2,048)``; see :attr:`.runs.Run.length`."""
    said = _trained_for(runs)
    return runs[0].run.length + (said and f" (trained for {said})")


def _trained_for(runs: Sequence[FinishedRun]) -> str:
    found = [trained(run) for run in runs]
    if not any(is_far(steps, run.run.budget) for steps, run in zip(found, runs, strict=True)):
        return ""
    low, high = min(found), max(found)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def total(steps: int, trained_for: int) -> str:
    """Budgets of several runs in words, with the steps that they trained for where these are far more."""
    return f"{steps:,}" + f" (trained for {trained_for:,})" * is_far(trained_for, steps)


def is_far(steps: int, budget: int) -> bool:
    """Whether so many steps are told beside the budget."""
    return budget > 0 and steps > (1 + SLACK) * budget


def rollout_of(run: Run) -> int | None:
    """Environment steps of a rollout with the run's settings, which it may go beyond its budget by; None: not known."""
    from ..agents.build import rollout_steps

    return None if CONTINUES in run.params else rollout_steps(run.row, run.env_id, run.params)


def warn_of(runs: Sequence[Run]) -> None:
    """Warns, before runs begin, of those that will train for far longer than their budget, whatever the seed."""
    for run in runs:
        rollout = rollout_of(run)
        if rollout is not None and is_far(steps := -(-run.budget // rollout) * rollout, run.budget):
            said = f"{run.agent} in {run.env_id} will train for {steps:,} steps where {run.budget:,} are asked for"
            why = f"a rollout of its settings (n_steps x n_envs) is {rollout:,} steps"
            remedy = "set a smaller n_steps or n_envs, or a budget that is a multiple of it"
            warnings.warn(f"{said}, because {why}: {remedy}", UserWarning, 3)
