"""Does a curriculum by algorithmic regret make a learned update rule that generalises better?

LPG is meta-trained on small gridworlds for equally many meta-updates, on levels that are drawn uniformly, replayed by
algorithmic regret (GROOVE), or replayed by positive value loss. Each rule then trains tabular agents from scratch in
larger gridworlds and in random decision processes that are no gridworlds. Score: what they earn, in shares of what the
best policies earn there, mean over both sets; learning rates are tuned by it, on worlds of other seeds.

The third part is the sampler's: whether levels that it replays have more regret, when they are played again, than new
ones at the same time, in units of return. It is measured after the replay was decided, by another training of A2C.
"""

from typing import Any

import numpy as np

from ..testbeds.learned_rules import SETS, LearnedRules, Levels, Trained
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, part, rates_told, summary

OURS, UNIFORM, LOSS = "algorithmic regret", "uniform", "positive value loss"
SHOWN = "mean over both sets"
RANDOM, UNTRAINED, A2C = "random policies", "agents of an untrained rule", "agents of A2C"


def transfer(run: Trained) -> float:
    """Share of the optimum in worlds unlike those of training."""
    return run.transfer


def parts(found: Found[Levels, Trained]) -> dict[str, Part]:
    """Over both rivals, and what is replayed."""
    return {
        **leads(found, transfer, margin=0.03),
        "regret on replayed levels over new ones": part(found[OURS].each(lambda run: run.shift), margin=0.02),
    }


def details(found: Found[Levels, Trained]) -> dict[str, Any]:
    """Shares of the optimum by set, and regrets."""
    measured = [found.testbed.measured(seed) for seed in found.seed_list]
    without = {
        name: {one: sum(of[i][one] for of in measured) / len(measured) for one in SETS}
        for i, name in enumerate((RANDOM, UNTRAINED, A2C))
    }
    told = {
        **{name: (of[SETS[1]] + of[SETS[2]]) / 2 for name, of in without.items()},
        **{name: float(of.mean()) for name, of in found.each(transfer).items()},
    }
    return {
        "seeds": found.seeds,
        "meta-updates": found.testbed.meta_steps,
        "learning rates": rates_told(found),
        SHOWN: told,
        "without meta-training": without,
        **{
            one: summary({name: [run.earned[one] for run in of.runs] for name, of in found.outcomes.items()})
            for one in SETS
        },
        "regret on replayed levels over new ones": summary(found.each(lambda run: run.shift)),
        "regret over training, in quarters": {
            name: [float(quarter.mean()) for quarter in np.array_split(of.mean(axis=0), 4)]
            for name, of in found.each(lambda run: run.regret).items()
        },
    }


CLAIM = Comparison(
    handle="groove",
    sentence="Meta-training on levels of high algorithmic regret makes a learned optimiser generalise better than "
    "uniform levels and than other scores (Jackson et al. 2023, abstract)",
    effect="what agents of the rule earn, as a share of the optimum in larger grids and in worlds that are no grids, "
    "minus the same of each rival; and regret on replayed levels minus on new ones",
    testbed=LearnedRules(),
    conditions={OURS: Levels("regret"), UNIFORM: Levels(), LOSS: Levels("positive_value_loss")},
    ours=OURS,
    baselines=(UNIFORM, LOSS),
    seeds=14,
    tuning=Tuning(transfer, (3e-3, 7e-3, 1.5e-2), 2),
    premise=Premise(
        "Meta-training on uniform levels improves a rule, and A2C learns",
        (SHOWN,),
        lambda of: of[UNIFORM] > of[UNTRAINED] + 0.1 and of[A2C] > of[RANDOM] + 0.1,
    ),
    parts=parts,
    details=details,
    remark="Tabular agents and 300 meta-updates of 32 short lifetimes; the authors have 512 agents and thousands of "
    "updates, and transfer to Atari.",
)
measure = CLAIM.measure
