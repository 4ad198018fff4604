"""Does learning when to think need a loss of its own for the token that decides it?

The conditions are the catalogue's ``grpo``, without standard deviation, as DeGRPO's row, all without KL penalty,
and ``degrpo``, the same with the first token's loss apart, for an alpha of 0.001, 0.01 and 0.1. The authors take
0.001 where thoughts have thousands of tokens and say to try more. Each has the learning rate, and DeGRPO the alpha,
that earned most over training on tuning seeds. Discernment is the share of hard problems thought about minus that of
easy ones; the effect is DeGRPO's minus GRPO's at the end. ``details`` says in how many tasks a condition fell into
one mode (it thinks about less than 5% of all problems, or more than 95%), and what share of the loss stands on the
first token.
"""

from dataclasses import asdict
from typing import Any

import torch as th

from ..statistics import Floats, Interval
from ..testbeds.modes import COLUMNS, Modes
from ..testbeds.sequences import SequenceMethod, Sequences
from .claim import Comparison, Found, Premise, Tuning
from .effects import interval, one_of, summary

ALPHAS = {f"degrpo, alpha {alpha}": alpha for alpha in (0.001, 0.01, 0.1)}
ONE_MODE = "worlds in one mode"
End = dict[str, Floats]


def ends(found: Found[SequenceMethod, Floats]) -> dict[str, End]:
    """Every condition's :data:`~tiltyard.benchmarks.testbeds.modes.COLUMNS` after training, ``[seeds]`` each."""
    runs = {name: found[name].each(lambda run: run[-1]) for name in found.outcomes}
    return {name: dict(zip(COLUMNS, of.T, strict=True)) for name, of in runs.items()}


def first_tokens_share(condition: SequenceMethod, task: Modes) -> dict[str, float]:
    """The share of the weights on a completion's tokens that its first token has, without thought and with."""
    length = th.tensor([[1 + task.short], [1 + task.long]])
    weights = condition.objective().aggregate(th.arange(1 + task.long) < length)
    share = weights[:, 0] / weights.sum(1)
    return {"without thought": float(share[0]), "with": float(share[1])}


def estimate(found: Found[SequenceMethod, Floats]) -> Interval:
    """Discernment of the alpha that earned most in tuning, minus GRPO's."""
    apart = {name: end["thinks, hard"] - end["thinks, easy"] for name, end in ends(found).items()}
    return interval(apart[one_of(found, ALPHAS)] - apart["grpo"], 50)


def details(found: Found[SequenceMethod, Floats]) -> dict[str, Any]:
    """Modes, rewards and weights."""
    at_end, ours, tuning = ends(found), one_of(found, ALPHAS), found.claim.tuning
    thinks = {name: (end["thinks, hard"] + end["thinks, easy"]) / 2 for name, end in at_end.items()}
    gain = at_end[ours]["reward"] - at_end["grpo"]["reward"]
    task = found.testbed.task
    return {
        "seeds": found.seeds,
        "iterations": found.testbed.iterations,
        "learning rates": {"grid": list(tuning.grid) if tuning else [], "chosen": found.rates},
        "DeGRPO's arm": ours,
        "discernment": summary({name: end["thinks, hard"] - end["thinks, easy"] for name, end in at_end.items()}),
        ONE_MODE: {name: int(((of < 0.05) | (of > 0.95)).sum()) for name, of in thinks.items()},
        "before": dict(zip(COLUMNS, found["grpo"].each(lambda run: run[0]).mean(0).tolist(), strict=True)),
        "reward over training": summary(found.each(lambda run: run[:, 0].mean())),
        "reward at the end, DeGRPO's minus GRPO's": asdict(interval(gain)),
        "at the end": {name: summary(end) for name, end in at_end.items()},
        "weight of the first token in an answer": {
            name: first_tokens_share(of.condition, task) for name, of in found.outcomes.items()
        },
    }


CLAIM = Comparison(
    handle="degrpo",
    sentence="With a loss of its own for the token that chooses the mode, a model learns when to think, where GRPO "
    "falls into one mode (Fang et al. 2025, abstract)",
    effect="share of hard problems thought about minus that of easy ones, DeGRPO's minus GRPO's",
    testbed=Sequences(task=Modes(), iterations=150, every=15),
    conditions={"grpo": SequenceMethod("grpo", {"scale": False, "kl_coef": 0.0})}
    | {name: SequenceMethod("degrpo", {"alpha": alpha, "kl_coef": 0.0}) for name, alpha in ALPHAS.items()},
    ours="degrpo, alpha 0.001",
    baselines=("grpo",),
    seeds=20,
    tuning=Tuning(lambda run: float(run[:, 0].mean()), (0.001, 0.003, 0.01, 0.03), 3),
    premise=Premise("GRPO falls into one mode in some tasks", (ONE_MODE, "grpo")),
    estimate=estimate,
    details=details,
)
measure = CLAIM.measure
