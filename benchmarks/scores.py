"""What a finished run scores: its last evaluation, the last five of them, or the area under its evaluation curve."""

from typing import Literal

import numpy as np

from ..envs.catalogue import find
from .runs import FinishedRun

Score = Literal["final", "area", "last-five"]


def raw_score(run: FinishedRun, score: Score) -> float:
    """The run's score in raw returns."""
    if score == "last-five":
        return last_five(run)
    return area(run) if score == "area" else sum(run.scores) / len(run.scores)


def normalised_score(run: FinishedRun, score: Score) -> float:
    """The run's score where 0 is a random policy and 1 the expert, as its suite's report has it."""
    return run.normalised if score == "final" else find(run.run.env_id).normalise(raw_score(run, score))


def last_five(run: FinishedRun) -> float:
    """The mean return of a run's last five evaluations, or of all where there are fewer."""
    returns = [point[1] for point in run.curve[-5:]]
    return float(np.mean(returns))


def area(run: FinishedRun) -> float:
    """The area under a run's curve of mean raw returns, from its first evaluation to its last, over their distance.

    By trapezoids; of a run with one evaluation it is that evaluation.
    """
    steps, returns = np.array([point[0] for point in run.curve]), np.array([point[1] for point in run.curve])
    if steps[-1] == steps[0]:
        return float(returns[-1])
    return float((np.diff(steps) * (returns[1:] + returns[:-1]) / 2).sum() / (steps[-1] - steps[0]))
