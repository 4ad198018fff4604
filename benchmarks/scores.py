"""What a finished run scores: the mean return of its last evaluation, or the area under its evaluation curve."""

from typing import Literal

import numpy as np

from .runs import FinishedRun

Score = Literal["final", "area"]


def raw_score(run: FinishedRun, score: Score) -> float:
    """The run's score in raw returns."""
    return area(run) if score == "area" else sum(run.scores) / len(run.scores)


def area(run: FinishedRun) -> float:
    """The area under a run's curve of mean raw returns, from its first evaluation to its last, over their distance.

    By trapezoids; of a run with one evaluation it is that evaluation.
    """
    steps, returns = np.array([point[0] for point in run.curve]), np.array([point[1] for point in run.curve])
    if steps[-1] == steps[0]:
        return float(returns[-1])
    return float((np.diff(steps) * (returns[1:] + returns[:-1]) / 2).sum() / (steps[-1] - steps[0]))
