"""What the completions of language agents were like: pass@k where problems were answered several times, and their logs.

pass@1 and pass@k are of the final evaluation; entropy and clipping of training, as :mod:`..training_log` keeps them.
"""

from collections.abc import Callable, Sequence
from math import isfinite, nan

import numpy as np

from ..runs import GROUPED, FinishedRun
from ..statistics import MIN_RUNS, pass_at_k
from ..verdicts import student_interval
from .board import Board
from .groups import short

Of = Callable[[FinishedRun], float]
LOGGED = {"rollout/entropy", "rollout/uniform_groups", "rollout/completion_tokens"}
"""What language agents alone log: PPO has a share of clipped steps too."""


def pass_at(run: FinishedRun, k: int) -> float:
    """The run's pass@k at its end, by all completions of each problem; NaN where there are fewer than k."""
    group = run.run.params.get(GROUPED, 1)
    if not run.successes or k > group:
        return nan
    right = np.array(run.successes, np.int64).reshape(-1, group).sum(1)
    return float(np.mean(pass_at_k(np.full_like(right, group), right, k)))


def _logged(name: str, last: bool) -> Of:
    def value(run: FinishedRun) -> float:
        return nan if name not in run.training else run.training[name].last if last else run.training[name].mean

    return value


def _columns(most: int) -> dict[str, Of]:
    return {
        "pass@1": lambda run: pass_at(run, 1),
        **({f"pass@{most}": lambda run: pass_at(run, most)} if most > 1 else {}),
        "entropy at the end, nats a token": _logged("rollout/entropy", True),
        "uniform groups, mean of training": _logged("rollout/uniform_groups", False),
        "clipped tokens, mean of training": _logged("train/clip_fraction", False),
        "tokens a completion at the end": _logged("rollout/completion_tokens", True),
    }


def completions(board: Board) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table, a row an agent on a task; no rows where no run tells any of this.

    Means over runs, those of pass@k with Student's t interval.
    """
    if not any(LOGGED & run.training.keys() for run in board.runs):
        return [], []
    columns = _columns(max(run.run.params.get(GROUPED, 1) for run in board.runs))
    rows = []
    for result in board.results:
        cells = [_cell(name, [of(run) for run in result.runs]) for name, of in columns.items()]
        rows.append([short(result.task), result.agent, *cells])
    return ["task", "agent", *columns], rows


def _cell(name: str, values: Sequence[float]) -> str:
    known = [value for value in values if isfinite(value)]
    if not known:
        return "-"
    if name.startswith("pass@") and len(known) >= MIN_RUNS:
        return f"{student_interval(known):.3f}"
    return f"{np.mean(known):.3f}"
