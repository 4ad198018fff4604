"""Are S5 layers a better memory for PPO than an LSTM, and over five times as fast?

PPO with either memory, all else equal, names a card that it saw at the beginning of a game or four cards ago. Each is
tuned over the same learning rates. Speed is the processor time of a gradient over sequences of 1,024 steps of 64
environments, in which episodes begin at every step.
"""

import math
from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.cards import TASKS, CardGames, Course, Learner
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, rates_told, summary

S5, LSTM = "S5", "LSTM"
FASTER = 5.0
LEAST = "least score of the LSTM at the end"
CONDITIONS = {
    f"{memory}, {task}": Learner(agent=agent, task=task)
    for task in TASKS
    for memory, agent in ((S5, "s5-rl"), (LSTM, "recurrent-ppo"))
}


def area(run: Course) -> float:
    """Mean score over training."""
    return float(run.scores.mean())


def end(run: Course) -> float:
    """Score after training."""
    return float(run.scores[-1])


def gained(found: Found[Learner, Course]) -> Floats:
    """Natural logarithm of how many times as fast the gradient of S5 is, over the longest sequences, ``[seeds]``."""
    logs = {name: outcome.each(lambda run: math.log(run.seconds[-1])) for name, outcome in found.outcomes.items()}
    found_: Floats = np.mean([logs[f"{LSTM}, {task}"] - logs[f"{S5}, {task}"] for task in TASKS], axis=0)
    return found_


def parts(found: Found[Learner, Course]) -> dict[str, Any]:
    """More than the LSTM in either game, and faster."""
    each = {
        f"over the LSTM, {task} card": part(
            found[f"{S5}, {task}"].each(area) - found[f"{LSTM}, {task}"].each(area),
            margin=0.05,
            highest=1 - float(found[f"{LSTM}, {task}"].each(area).mean()),
        )
        for task in TASKS
    }
    return {**each, "times as fast, over five": part(gained(found), threshold=math.log(FASTER), log=True)}


def details(found: Found[Learner, Course]) -> dict[str, Any]:
    """Scores over training, seconds, and what was tried."""
    return {
        "seeds": found.seeds,
        "samples": found.testbed.steps,
        LEAST: min(float(found[f"{LSTM}, {task}"].each(end).mean()) for task in TASKS),
        "learning rates": rates_told(found),
        "mean over training": summary({name: found[name].each(area) for name in CONDITIONS}),
        "at the end": summary({name: found[name].each(end) for name in CONDITIONS}),
        "lengths of the sequences": list(found.testbed.lengths),
        "seconds of a gradient, medians": {
            name: np.median([run.seconds for run in outcome.runs], axis=0).round(4).tolist()
            for name, outcome in found.outcomes.items()
        },
    }


CLAIM = Comparison(
    handle="s5-rl",
    sentence="In partially observable environments S5 layers whose states are reset in parallel outperform RNNs while "
    "running over five times faster (Lu et al. 2023, abstract)",
    effect="mean return over training (best 1, chance -0.5) with S5 minus with an LSTM, and how many times as fast",
    testbed=CardGames(),
    conditions=CONDITIONS,
    ours=f"{S5}, {TASKS[0]}",
    baselines=(f"{LSTM}, {TASKS[0]}",),
    seeds=10,
    tuning=Tuning(area, (0.0003, 0.001, 0.003, 0.01), seeds=2),
    premise=Premise("The LSTM learns both games: more than chance by 0.1", (LEAST,), lambda score: score >= -0.4),
    parts=parts,
    details=details,
    remark="Two of POPGym's games; networks are small (an LSTM of 64, two S5 layers of 64 with 64 states), and speed "
    "is of one processor core, where the paper has a GPU.",
)
measure = CLAIM.measure
