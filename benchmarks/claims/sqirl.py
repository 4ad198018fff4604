"""Does what random exploration and a few backups need tell what PPO needs?

Sixteen small stochastic processes: walks whose right direction alternates, walks from a trap that pays a little, locks
of which one action leads on, and random ones; in all of them one action in ten slips. PPO with one hidden layer sees
state and step; its need is the episodes until its deterministic policy, exactly evaluated, earns 0.95 of the best
return. A seed's value is the rank correlation, over the processes, of a prediction with PPO's need: episodes that SQIRL
needs, which runs on other draws; and, as a baseline, states times actions times steps, as bounds for strategic
exploration grow. Beside it: the exact stochastic effective horizon.
"""

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ..testbeds.tabular import Needs, Predictor, TabularTasks, by_effective_horizon, by_size, by_sqirl
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import part, summary

SOLVED = "share of runs in which PPO gets there"
SQIRL, SIZE, EXACT = "SQIRL", "size", "stochastic effective horizon"


def correlation(run: Needs) -> float:
    """Of the prediction's ranks with those of PPO's need."""
    return float(spearmanr(run.predicted, run.ppo).statistic)


def parts(found: Found[Predictor, Needs]) -> dict[str, Part]:
    """SQIRL's correlation, and by how much it exceeds that of the size."""
    each = found.each(correlation)
    over = each[SQIRL] - each[SIZE]
    return {
        "correlation of SQIRL's need": part(each[SQIRL], highest=1.0, margin=0.1),
        "minus that of the size": part(over, highest=1 - float(each[SIZE].mean()), margin=0.1),
        "correlation of the effective horizon": part(each[EXACT], highest=1.0, margin=0.1, decides=False),
    }


def details(found: Found[Predictor, Needs]) -> dict[str, Any]:
    """Correlations and needs."""
    bed = found.testbed
    ppo = np.array([run.ppo for run in found[SQIRL].runs])
    return {
        "seeds": found.seeds,
        "rank correlation with PPO's need": summary(found.each(correlation)),
        SOLVED: float((ppo < bed.most).mean()),
        "episodes of PPO, median": dict(zip(bed.processes, np.median(ppo, axis=0).tolist(), strict=True)),
        "predictions, median": {
            name: dict(zip(bed.processes, np.median(of, axis=0).round(2).tolist(), strict=True))
            for name, of in found.each(lambda run: run.predicted).items()
        },
        "settings of PPO": bed.settings,
    }


CLAIM = Comparison(
    handle="sqirl",
    sentence="What SQIRL, random exploration and a few backups, needs predicts what deep RL needs in stochastic "
    "environments (Laidlaw et al. 2023, abstract)",
    effect="rank correlation over processes of SQIRL's need of episodes with PPO's; and minus that of the size",
    testbed=TabularTasks(),
    conditions={SQIRL: by_sqirl, SIZE: by_size, EXACT: by_effective_horizon},
    ours=SQIRL,
    baselines=(SIZE,),
    seeds=range(100, 180),
    premise=Premise("PPO gets there in most runs", (SOLVED,), lambda share: share > 0.5),
    parts=parts,
    details=details,
    remark="Measured first with 6 other seeds, which left the lead over the size undecided; 80 were chosen by its "
    "deviation there.",
)
measure = CLAIM.measure
