"""Does stream-x learn from single samples where others do not?

Three agents learn from one environment, one sample at a time, each used once and forgotten, with one set of settings
for all tasks: stream-x, with its defaults; A2C of Stable-Baselines3 with updates of one step, all else its defaults
(PPO has no such form: an advantage normalised within a batch of one is nothing); and stream-x without the bound on
its steps: ObGD replaced by plain gradient descent with the same traces, networks and normalisation. Its step size is
the best of 1e-2, 1e-3, 3e-4 and 1e-4 in a trial with two other seeds on CartPole and InvertedPendulum.

Scored is the mean return of the episodes that end in the last quarter of training, exploration included, as a stream
learner is judged while it acts. The effect compares stream-x with whichever of the two others has the higher IQM.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
from stable_baselines3 import A2C

from ...agents.control.stream_x import StreamAC
from ..statistics import Floats, Interval, bootstrap_interval, iqm
from ..testbeds.stream import TASKS, Learner, Streams, kilobytes_gained
from .claim import Comparison, Found, Premise

SGD_STEP, BY_TASK = 3e-4, "mean normalised return by task"
UNBOUNDED: dict[str, Any] = {"kappa_policy": 0.0, "kappa_value": 0.0, "learning_rate": SGD_STEP}


def lead(scores: Floats) -> float:
    """IQM of the first block of columns minus the larger IQM of the other two."""
    ours, *others = np.split(scores, 3, axis=1)
    return iqm(ours) - max(map(iqm, others))


def estimate(found: Found[Learner, list[float]]) -> Interval:
    """See :func:`lead`."""
    scores = np.hstack(list(found.each(lambda run: run).values()))
    return bootstrap_interval(scores, lead, rng=np.random.default_rng([2410, 9]))


def details(found: Found[Learner, list[float]]) -> dict[str, Any]:
    """Scores by task, and the memory that stream-x gains."""
    scores, tasks = found.each(lambda run: run), found.testbed.tasks
    intervals = {
        name: asdict(bootstrap_interval(of, iqm, rng=np.random.default_rng([2410, i])))
        for i, (name, of) in enumerate(scores.items())
    }
    return {
        "seeds": found.seeds,
        "steps": found.testbed.steps,
        "normalised return, IQM over tasks": intervals,
        BY_TASK: {n: dict(zip(tasks, of.mean(axis=0).round(3).tolist(), strict=True)) for n, of in scores.items()},
        "deviation over seeds by task": {
            name: dict(zip(tasks, of.std(axis=0).round(3).tolist(), strict=True)) for name, of in scores.items()
        },
        "kilobytes stream-x gained in 2000 steps": round(kilobytes_gained(), 1),
        "step size without ObGD": SGD_STEP,
    }


CLAIM = Comparison(
    handle="stream-x",
    sentence="With one set of hyperparameters stream-x learns from single samples, without replay or batches, where "
    "other methods so restricted fail (Elsayed, Vasan and Mahmood 2024, abstract)",
    effect="IQM of stream-x's normalised return minus that of the better of batch-1 A2C and stream-x without ObGD",
    testbed=Streams(tasks=TASKS),
    conditions={
        "stream-x": lambda env, seed: StreamAC("MlpPolicy", env, seed=seed),
        "A2C, batch 1": lambda env, seed: A2C("MlpPolicy", env, n_steps=1, seed=seed, device="cpu"),
        "stream-x without ObGD": lambda env, seed: StreamAC("MlpPolicy", env, seed=seed, **UNBOUNDED),
    },
    ours="stream-x",
    baselines=("A2C, batch 1", "stream-x without ObGD"),
    seeds=5,
    premise=Premise("At least one condition learns the tasks in so few steps", (BY_TASK,)),
    estimate=estimate,
    details=details,
)
measure = CLAIM.measure
