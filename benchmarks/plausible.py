"""Which scores an environment can give at all, and what else of a run's numbers cannot be: without playing anything.

A return is held against the environment's own scale. Where a whole success is worth 1 (our text, phones, driving, arms
and mazes: their experts' scores are above 0 and at most 1), no return exceeds 1, by construction of their rewards.
Returns of physics (MuJoCo's tasks) have no such bound, and the bounds of environments that plugins add are unknown:
normalised scores of at most 10 and at least -100 are accepted there.
Environments of other packages, whose scores are not known, have the limits of :mod:`.records`.
"""

import math
from collections.abc import Iterable

from ..envs.catalogue import find as find_env
from ..envs.errors import OURS
from ..envs.row import Row
from .records import LARGEST, Points
from .runs import RESUMED, FinishedRun, Run

ROUNDING = 1e-6
"""Of returns in 32 bits."""
MOST_UP, MOST_DOWN = 10.0, 100.0
"""Normalised scores of one episode of physics, at most and (negative) at least."""
WORST_UNIT = -10.0
"""Least return where a success is worth 1: penalties are tenths."""


def score_limits(env: Row, run: Run) -> tuple[float, float]:
    """The lowest and highest raw return of one episode of ``run`` that can be believed."""
    if not env.scored:
        return -LARGEST, LARGEST
    own_reward = any("reward" in name for name in run.params.get("env_kwargs", {}))  # the run's own scale
    if env.id.startswith(OURS) and 0 < env.expert_score <= 1 and not own_reward:
        return WORST_UNIT, 1 + ROUNDING
    spread = env.expert_score - env.random_score
    factor = 10.0 if own_reward else 1.0
    return env.random_score - factor * MOST_DOWN * spread, env.random_score + factor * MOST_UP * spread


def beyond(run: Run, scores: Iterable[float]) -> str:
    """A sentence on the first of ``scores`` that the environment cannot give; "" where all can be."""
    env = find_env(run.env_id)
    low, high = score_limits(env, run)
    for score in scores:
        if not (math.isfinite(score) and low <= score <= high):
            return f"an episode's return of {score:,.6g} is not between {low:,.6g} and {high:,.6g}"
    return ""


def too_long(run: Run, points: Points) -> str:
    """A sentence on an episode longer than the environment's limit; "" where there is none, or no limit."""
    limit = find_env(run.env_id).max_episode_steps
    own = any(name in run.params.get("env_kwargs", {}) for name in ("max_episode_steps", "max_steps"))
    longest = int(points.lengths.max())
    if limit and not own and longest > limit:
        return f"an episode of {longest:,} steps is longer than the environment's limit of {limit:,}"
    return ""


def too_early(run: Run, points: Points) -> str:
    """A sentence on an evaluation before the step at which the run had one due; "" where there is none.

    Of a run that goes on from another, whose evaluations it has too, nothing is said.
    """
    if RESUMED in run.params:
        return ""
    length = run.budget or int(run.params["offline_steps"])
    due = (length * i // run.eval_points for i in range(1, run.eval_points + 1))
    steps = points.timesteps[1:] if run.track == "offline to online" and not points.timesteps[0] else points.timesteps
    for step, least in zip(steps, due, strict=False):
        if step < least:
            return f"an evaluation at step {step:,} comes before step {least:,}, when it was due"
    return ""


def implausible(run: FinishedRun) -> str:
    """Why a finished run's scores cannot be counted, in a sentence; "" where they can."""
    return beyond(run.run, (*run.scores, *(score for _, score, _ in run.curve)))
