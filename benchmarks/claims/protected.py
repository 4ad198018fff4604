"""Do a few non-dominated policies and a bandit defend better than one policy that is trained for the worst?

Walkers along a cliff earn more the nearer they are to the edge, and how near is safe depends on how far an attack moves
what they see. PROTECTED discovers three policies and adapts to each attack within 200 episodes, which all count. Its
baseline is one policy trained with an adversary that lowers its return; beside it, one trained without. All have the
same steps of training, adversaries' included. Attacks of the test are none of those in training.
"""

from typing import Any

import numpy as np

from ..testbeds.cliff_edge import CliffEdge, Condition, Defended
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, summary

OURS, MINIMAX, NATURAL = "PROTECTED", "minimax training", "training without attacks"
NONE, WORST, MEAN = "without attack", "worst attack", "mean over attacks"
LOSS = "loss to the worst attack of a policy trained without"
SCORES = {
    NONE: lambda run: run.returns["none"],
    WORST: lambda run: min(run.returns.values()),
    MEAN: lambda run: sum(run.returns.values()) / len(run.returns),
}


def parts(found: Found[Condition, Defended]) -> dict[str, Part]:
    """More than minimax training without an attack, and no less under the worst of them; other leads beside it."""
    every: dict[str, Part] = {}
    for name, score in SCORES.items():
        wanted: dict[str, Any] = {"wanted": "no less"} if name == WORST else {}
        decided = leads(found, score, margin=0.05, decides=name != MEAN, **wanted)
        told = leads(found, score, [NATURAL], margin=0.05, decides=False)
        every |= {f"{over}, {name}": one for over, one in (decided | told).items()}
    return every


def details(found: Found[Condition, Defended]) -> dict[str, Any]:
    """Returns by attack; and of each policy that was discovered."""
    attacks = found[OURS].runs[0].returns
    lost = found[NATURAL].each(SCORES[NONE]) - found[NATURAL].each(SCORES[WORST])
    return {
        "seeds": found.seeds,
        LOSS: float(lost.mean()),
        "returns": {name: summary(found.each(score)) for name, score in SCORES.items()},
        "returns by attack": {
            name: {attack: float(np.mean([run.returns[attack] for run in outcome.runs])) for attack in attacks}
            for name, outcome in found.outcomes.items()
        },
        "policies of the first seed, by attack": {
            name: of_each.round(3).tolist() for name, of_each in found[OURS].runs[0].each.items()
        },
        "settings of all": found.testbed.settings,
    }


CLAIM = Comparison(
    handle="protected",
    sentence="Adaptive defence by non-dominated policies has considerably higher natural reward and no less robustness "
    "than minimax training (Liu et al. 2024, abstract and section 5)",
    effect="return of PROTECTED, adaptation included, minus that of minimax training: without attack, and under the "
    "worst of five attacks for each",
    testbed=CliffEdge(),
    conditions={
        OURS: Condition(3, "natural", adapts=True),
        MINIMAX: Condition(1, "minimax", adapts=False),
        NATURAL: Condition(1, "natural", adapts=False),
    },
    ours=OURS,
    baselines=(MINIMAX,),
    seeds=16,
    tuning=Tuning(score=SCORES[MEAN], grid=(0.001, 0.003, 0.01, 0.03), seeds=2),
    premise=Premise("Attacks cost a policy trained without them 0.1 and more", (LOSS,), lambda lost: lost >= 0.1),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
