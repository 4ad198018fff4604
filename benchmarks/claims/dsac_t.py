"""Does DSAC-T over-estimate values less than SAC?

Both agents train with the same networks, learning rates, batches, budget and seeds; what differs is the method: its
Gaussian critics with their three refinements, the slowly moving target actor and the actor's half pace. At three
moments of the last half of training the bias is measured: the mean estimate minus the mean return, in percent of the
mean absolute return. The discount is 0.95, not the paper's 0.99, so that values can follow the policy within a small
budget; where they lag, that counts as bias too, for either agent. Clipped double critics, which both have, are known to
lean below the truth; ``details`` therefore tells both biases, and which is nearer to zero.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch as th

from ..statistics import Floats
from ..testbeds.bias import Bias, Judge
from ..testbeds.control import Agent, Control, OnEach, Phase, Trained
from .claim import Comparison, Found, Premise
from .effects import interval

TASKS, STREAM = ("Pendulum-v1", "tiltyard/Hopper-v5"), 2310
NAMES, BY_TASK = {"sac": "SAC", "dsac-t": "DSAC-T"}, "bias in percent"
EQUAL: dict[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 500,
    "batch_size": 128,
    "gamma": 0.95,
    "tau": 0.01,
    "buffer_size": 10_000,
    "n_envs": 4,
    "gradient_steps": -1,
}
NETWORKS = {"net_arch": [64, 64], "activation_fn": th.nn.ReLU}


def bed(task: str) -> Control:
    """One task."""
    return Control(
        env=task,
        settings={**EQUAL, "policy_kwargs": NETWORKS},
        phases=(Phase("steps", 4000), Phase("steps", 1000), Phase("steps", 1000)),
        score=Judge(task),
        small={"score": Judge(task, 2, 12, 4)},
    )


Run = Mapping[str, Trained[Bias]]


def percents(run: Run) -> list[float]:
    """Mean over the moments, for each task."""
    return [float(np.mean([one.percent for one in of.scores])) for of in run.values()]


def difference(found: Found[Agent, Run], value: Callable[[Any], Any] = lambda bias: bias) -> Floats:
    """A function of SAC's bias minus that of DSAC-T's, ``[seeds, tasks]``."""
    each = found.each(percents)
    return np.asarray(value(each["sac"]) - value(each["dsac-t"]))


def details(found: Found[Agent, Run]) -> dict[str, Any]:
    """Both biases."""
    each, beds = found.each(percents), found.testbed.tasks
    moments = np.cumsum([phase.amount for phase in next(iter(beds.values())).phases]).tolist()
    means = found.each(lambda run: [of.scores[-1].truth for of in run.values()])
    return {
        "seeds": found.seeds,
        "steps": moments[-1],
        "measured after steps": moments,
        BY_TASK: {
            f"{told}, {task}": asdict(interval(each[name][:, i], i, stream=STREAM))
            for name, told in NAMES.items()
            for i, task in enumerate(beds)
        },
        "absolute bias of SAC minus that of DSAC-T": asdict(interval(difference(found, np.abs), 7, stream=STREAM)),
        "mean return counted": {
            f"{name}, {task}": round(float(np.mean(means[name][:, i])), 1)
            for name in NAMES
            for i, task in enumerate(beds)
        },
        "settings of both": {**EQUAL, "net_arch": NETWORKS["net_arch"]},
    }


CLAIM = Comparison(
    handle="dsac-t",
    sentence="DSAC-T lessens the over-estimation of values that SAC is left with (Duan et al. 2025, abstract)",
    effect="over-estimation of SAC minus that of DSAC-T, in percent of the mean absolute return",
    testbed=OnEach({task: bed(task) for task in TASKS}),
    conditions={
        "sac": Agent("sac"),
        "dsac-t": Agent("dsac-t", {"ent_coef_learning_rate": EQUAL["learning_rate"]}),
    },
    ours="dsac-t",
    baselines=("sac",),
    seeds=5,
    premise=Premise("SAC over-estimates", (BY_TASK,)),
    estimate=lambda found: interval(difference(found), stream=STREAM),
    details=details,
)
measure = CLAIM.measure
