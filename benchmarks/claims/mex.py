"""Do optimistic critics find a sparse reward where TD3 does not?

River swim: the far bank, against the current, pays two hundred times what the near bank does, where every episode
begins, and actions without a plan never get there. MEX and TD3 train with the same networks, batches and budget. Each
has three forms and the same learning rates to choose from, on tuning seeds: MEX the weight of optimism, TD3 the noise
it explores with, which is its only way to go anywhere; MEX explores with the paper's 0.1 throughout.

Scored is the mean return of deterministic episodes over training, in units of the best policy's. ``details`` also has
the share of runs that end at the far bank.
"""

from dataclasses import replace
from typing import Any

from ..testbeds.control import Agent, Trained, last_score, mean_score
from ..testbeds.river_swim import RiverSwim
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, mean_curves, summary

OPTIMISM, NOISE = (0.005, 0.05, 0.5), (0.1, 0.5, 1.0)
MEX, TD3 = Agent("mex", {"optimism_coef": OPTIMISM[0]}), Agent("td3", {"action_noise": NOISE[0]})
ENDS = "share of the best return at the end"


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Scores, curves and what was chosen."""
    return {
        "seeds": found.seeds,
        "steps": found.testbed.learnt,
        "share of the best return, mean over training": summary(found.each(mean_score)),
        ENDS: {name: float(of.mean()) for name, of in found.each(last_score).items()},
        "runs that end above half of the best return": found.count(lambda run: last_score(run) > 0.5),
        "mean curve": mean_curves(found, 3),
        "settings of each": {name: outcome.condition.told for name, outcome in found.outcomes.items()},
        "settings of all": found.testbed.settings,
    }


CLAIM = Comparison(
    handle="mex",
    sentence="MEX outperforms the baseline it is built on by a stable margin where rewards are sparse (Liu et al. "
    "2023, abstract)",
    effect="return, mean over training, in units of the best policy's, of MEX minus that of TD3 with its best noise",
    testbed=RiverSwim(),
    conditions={"MEX": MEX, "TD3": TD3},
    ours="MEX",
    baselines=("TD3",),
    seeds=10,
    tuning=Tuning(
        score=mean_score,
        grid=(0.001, 0.003),
        seeds=2,
        variants={
            "MEX": [replace(MEX, settings={"optimism_coef": coef}) for coef in OPTIMISM],
            "TD3": [replace(TD3, settings={"action_noise": noise}) for noise in NOISE],
        },
    ),
    premise=Premise(
        "TD3 with its best noise leaves something to gain: it ends below 0.9 of the best return",
        (ENDS, "TD3"),
        lambda share: share < 0.9,
    ),
    parts=lambda found: leads(found, mean_score, margin=0.05),
    details=details,
)
measure = CLAIM.measure
