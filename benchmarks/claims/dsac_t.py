"""Does DSAC-T over-estimate values less than SAC?

Both agents train with the same networks, learning rates, batches, budget and seeds; what differs is the method: its
Gaussian critics with their three refinements, the slowly moving target actor and the actor's half pace. At three
moments of the last half of training the bias is measured: the mean estimate minus the mean return, in percent of the
mean absolute return. The discount is 0.95, not the paper's 0.99, so that values can follow the policy within a small
budget; where they lag, that counts as bias too, for either agent. Clipped double critics, which both have, are known to
lean below the truth; ``details`` therefore tells both biases, and which is nearer to zero.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.bias import NET_ARCH, OVER_ESTIMATION, SHARED, Run, percents, returns
from ..testbeds.control import Agent
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import interval, part

NAMES, BY_TASK = {"sac": "SAC", "dsac-t": "DSAC-T"}, "bias in percent"


def difference(found: Found[Agent, Run], value: Callable[[Any], Any] = lambda bias: bias) -> Floats:
    """A function of SAC's bias minus that of DSAC-T's, ``[seeds, tasks]``."""
    each = found.each(percents)
    return np.asarray(value(each["sac"]) - value(each["dsac-t"]))


def parts(found: Found[Agent, Run]) -> dict[str, Part]:
    """The difference on each task."""
    return {task: part(difference(found)[:, i], margin=5.0) for i, task in enumerate(found.testbed.tasks)}


def over_estimated(biases: dict[str, dict[str, float]]) -> bool:
    """Whether SAC's bias is above 0 on some task, with its whole interval."""
    return any(bias["low"] > 0 for name, bias in biases.items() if name.startswith(NAMES["sac"] + ","))


def details(found: Found[Agent, Run]) -> dict[str, Any]:
    """Both biases."""
    biases, means, moments = found.each(percents), found.each(returns), found.testbed.moments
    tasks = list(enumerate(found.testbed.tasks))
    return {
        "seeds": found.seeds,
        "steps": moments[-1],
        "measured after steps": moments,
        BY_TASK: {
            f"{told}, {task}": asdict(interval(biases[name][:, i])) for name, told in NAMES.items() for i, task in tasks
        },
        "absolute bias of SAC minus that of DSAC-T": asdict(interval(difference(found, np.abs))),
        "mean return counted": {
            f"{name}, {task}": round(float(np.mean(means[name][:, i])), 1) for name in NAMES for i, task in tasks
        },
        "settings of both": {**SHARED, "net_arch": NET_ARCH},
    }


CLAIM = Comparison(
    handle="dsac-t",
    sentence="DSAC-T lessens the over-estimation of values that SAC is left with (Duan et al. 2025, abstract)",
    effect="over-estimation of SAC minus that of DSAC-T, in percent of the mean absolute return",
    testbed=OVER_ESTIMATION,
    conditions={"sac": Agent("sac"), "dsac-t": Agent("dsac-t", {"ent_coef_learning_rate": SHARED["learning_rate"]})},
    ours="dsac-t",
    baselines=("sac",),
    seeds=5,
    premise=Premise("SAC over-estimates values on at least one task", (BY_TASK,), over_estimated),
    parts=parts,
    details=details,
    remark="SAC over-estimates values on neither task, so that there is nothing to lessen.",
)
measure = CLAIM.measure
