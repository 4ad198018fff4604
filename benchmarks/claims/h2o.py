"""Does H2O, with a little real data and an incorrect simulator, beat either alone and both mixed as they are?

The real system is Gymnasium's Pendulum-v1; its simulator has another gravity. The real data are the replay of a short
training run of SAC in reality: so little that learning from them alone does not solve the task. All conditions have the
same networks and batches: H2O, on the data and the simulator; CQL on the data alone, as many updates as the others take
steps; SAC in the simulator alone; and SAC in the simulator with part of each batch from the data. Each gets its
learning rate and one setting of its own (H2O's beta, CQL's weight, SAC's temperature, the share of data in a batch) by
tuning on the return in reality, which favours nobody: two values at every rate.

Scores are in reality, from the same test starts, the mean of three evaluations at the end. Each baseline is a part of
the claim; returns are at most 0, and 50 count as none. ``details`` also tell whether what H2O takes for the dynamics
gap follows the true one: rank correlations, over transitions that the simulator made, of u(s, a) and of -log
P_real/P_sim(s'|s, a) with the distance between the simulator's next state and reality's.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..testbeds.control import Agent, Trained, mean_score
from ..testbeds.pendulum_gap import NETWORKS, REAL_GRAVITY, REALITY_GAP, SHARED, SIMULATED_GRAVITY
from .claim import Comparison, Found, Premise, Tuning
from .effects import interval, leads, summary

GAP = "rank correlation with the true gap"
H2O = Agent("h2o", {"discriminator_width": 64, "next_state_scale": 0.03}, preloaded=True)
BASELINES = {
    "CQL on the data": Agent("cql", {"n_actions": 4}, offline=True, rates=("learning_rate", "actor_learning_rate")),
    "SAC in the simulator": Agent("sac"),
    "naive mixing": Agent("sac", {"offline_ratio": 0.5}, preloaded=True),
}
FORMS = {
    "H2O": (H2O, H2O.given(beta=0.1)),
    "CQL on the data": (BASELINES["CQL on the data"], BASELINES["CQL on the data"].given(min_q_weight=1.0)),
    "SAC in the simulator": (BASELINES["SAC in the simulator"], BASELINES["SAC in the simulator"].given(ent_coef=0.2)),
    "naive mixing": (BASELINES["naive mixing"], BASELINES["naive mixing"].given(offline_ratio=0.75)),
}


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Returns, gaps and data."""
    scores, bed = found.each(mean_score), found.testbed
    gaps = [run.at_end for run in found["H2O"].runs]
    behaviour = [float(np.mean(bed.data(seed).episode_returns)) for seed in found.seed_list]
    return {
        "seeds": found.seeds,
        "return in reality": summary(scores),
        "return in reality, by seed": {name: [round(float(one), 1) for one in of] for name, of in scores.items()},
        "H2O minus each": summary(found.minus(mean_score)),
        "mean return of the data": round(float(np.mean(behaviour)), 1),
        GAP: {kind: asdict(interval([gap[kind] for gap in gaps])) for kind in gaps[0]},
        "gravity": {"real": REAL_GRAVITY, "simulated": SIMULATED_GRAVITY},
        "real transitions": len(bed.data(0)),
        "steps": bed.moments[-1],
        "settings of all": SHARED | NETWORKS,
        "settings of each": {name: dict(of.condition.at(of.rate).settings) for name, of in found.outcomes.items()},
    }


CLAIM = Comparison(
    handle="h2o",
    sentence="From limited real data and an imperfect simulator, H2O learns policies that earn more in reality than "
    "offline learning from the data, online learning in the simulator, or both mixed (Niu et al. 2022, table 1)",
    effect="return in reality of H2O minus that of CQL on the data, SAC in the simulator, and naive mixing",
    testbed=REALITY_GAP,
    conditions={"H2O": H2O, **BASELINES},
    ours="H2O",
    baselines=tuple(BASELINES),
    seeds=60,
    tuning=Tuning(mean_score, (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3), 3, variants=FORMS),
    premise=Premise("What H2O takes for the dynamics gap follows the true one", (GAP,)),
    parts=lambda found: leads(found, mean_score, top=0.0, margin=50.0),
    details=details,
)
measure = CLAIM.measure
