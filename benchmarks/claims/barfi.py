"""Does a learnt mixture of primary and auxiliary rewards serve whether or not the auxiliary reward misleads?

On a line the primary reward is paid once, at the far end. A helpful heuristic grows towards it, a misleading one pays
for waiting at the other end; a designer does not know which he has, so that the mean over both decides. All conditions
are REINFORCE of the agent ``barfi``. Scored is the primary return of the deterministic policy, mean over training.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..testbeds.misleading_rewards import HEURISTICS, Designed, Learnt, MisleadingRewards
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, summary

BARFI, NAIVE, SHAPING, PRIMARY = "BARFI", "naive addition", "potential-based shaping", "primary reward alone"
SCORES = "primary return, mean over training"
WEIGHTS = "mean weight of the heuristic at the end, 1 in the beginning"
Run = dict[str, Learnt]


def score(run: Run) -> float:
    """Primary return, mean over training and both heuristics."""
    return float(sum(one.returns.mean() for one in run.values()) / len(run))


def of(name: str) -> Callable[[Run], float]:
    """With one heuristic."""
    return lambda run: float(run[name].returns.mean())


def parts(found: Found[Designed, Run]) -> dict[str, Part]:
    """BARFI's lead, mean over both heuristics; and with each of them beside it."""
    every = leads(found, score, margin=0.05) | leads(found, score, [PRIMARY], margin=0.05, decides=False)
    for name in HEURISTICS:
        alone = leads(found, of(name), margin=0.05, decides=False)
        every |= {f"{over}, {name} heuristic": one for over, one in alone.items()}
    return every


def details(found: Found[Designed, Run]) -> dict[str, Any]:
    """Returns by heuristic, and the weights of heuristics in the learnt reward."""
    means = {kind: {name: float(each.mean()) for name, each in found.each(of(kind)).items()} for kind in HEURISTICS}
    return {
        "seeds": found.seeds,
        SCORES: means,
        "with intervals": {kind: summary(found.each(of(kind))) for kind in HEURISTICS},
        WEIGHTS: {kind: float(np.mean([run[kind].weight for run in found[BARFI].runs])) for kind in HEURISTICS},
        "settings of all": found.testbed.settings,
    }


CLAIM = Comparison(
    handle="barfi",
    sentence="A bi-level behaviour alignment reward is robust to misspecified heuristics, where naive addition and "
    "potential-based shaping fall short (Gupta et al. 2023, abstract)",
    effect="primary return, mean over training and both heuristics, of BARFI minus that of each baseline",
    testbed=MisleadingRewards(),
    conditions={
        BARFI: Designed(added=True, learnt=True),
        NAIVE: Designed(added=True),
        SHAPING: Designed(potential=True),
        PRIMARY: Designed(),
    },
    ours=BARFI,
    baselines=(NAIVE, SHAPING),
    seeds=range(100, 180),
    tuning=Tuning(score=score, grid=(0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), seeds=3),
    premise=Premise(
        "Added naively, one heuristic earns more than the primary reward alone, the other less than half as much",
        (SCORES,),
        lambda of: of["helpful"][NAIVE] > of["helpful"][PRIMARY] > 2 * of["misleading"][NAIVE],
    ),
    parts=parts,
    details=details,
    remark="Measured first with 20 other seeds, which left the lead over potential-based shaping undecided.",
)
measure = CLAIM.measure
