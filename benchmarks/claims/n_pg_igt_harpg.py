"""Does a corrected momentum save policy gradients trajectories?

A linear-quadratic regulator with a linear Gaussian policy, no value function and two trajectories an update, so that
single gradients are mostly noise. N-PG-IGT and N-HARPG are compared with a step of the same kind along the newest
gradient alone, at equal numbers of trajectories: N-HARPG spends two rollouts an update. The length of steps is tuned
alike. Scored is the return of the deterministic policy, mean over training (0 doing nothing, 1 Riccati's policy).
"""

from typing import Any

from ..testbeds.control import Agent, Trained, last_score, mean_score
from ..testbeds.linear_quadratic import LinearQuadratic
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, mean_curves, part, summary

PLAIN, IGT, HARPG = "N-PG", "N-PG-IGT", "N-HARPG"
SCORES = "return in units of Riccati's, mean over training"


def parts(found: Found[Agent, Trained[float]]) -> dict[str, Part]:
    """The lead of each of the paper's two methods."""
    harpg = found[HARPG].each(mean_score) - found[PLAIN].each(mean_score)
    reach = 1 - float(found[PLAIN].each(mean_score).mean())
    igt = leads(found, mean_score, margin=0.05)[f"over {PLAIN}"]
    return {f"{IGT} over {PLAIN}": igt, f"{HARPG} over {PLAIN}": part(harpg, highest=reach, margin=0.05)}


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Scores and curves."""
    return {
        "seeds": found.seeds,
        "trajectories": found.testbed.learnt,
        SCORES: {name: float(of.mean()) for name, of in found.each(mean_score).items()},
        f"{SCORES}, with intervals": summary(found.each(mean_score)),
        "at the end": summary(found.each(last_score)),
        "mean curve": mean_curves(found, 3),
        "settings of all": found.testbed.settings,
    }


CLAIM = Comparison(
    handle="n-pg-igt-harpg",
    sentence="Momentum with implicit gradient transport, or with a Hessian-aided correction, improves the sample "
    "complexity of stochastic policy gradient methods (Fatkhullin et al. 2023, abstract)",
    effect="return, mean over training, of N-PG-IGT and of N-HARPG minus that of normalised policy gradient without "
    "momentum, at equal numbers of trajectories",
    testbed=LinearQuadratic(),
    conditions={
        IGT: Agent("n-pg-igt-harpg", {"variant": "n-pg-igt"}),
        HARPG: Agent("n-pg-igt-harpg", {"variant": "n-harpg"}),
        PLAIN: Agent("n-pg-igt-harpg", {"variant": "n-pg"}),
    },
    ours=IGT,
    baselines=(PLAIN,),
    seeds=range(100, 140),
    tuning=Tuning(score=mean_score, grid=(0.01, 0.03, 0.1, 0.3), seeds=5),
    premise=Premise(
        "Noise costs: without momentum less than 0.9 of what there is to gain is earned over training",
        (SCORES, PLAIN),
        lambda share: share < 0.9,
    ),
    parts=parts,
    details=details,
    remark="Measured first with 8 other seeds and one for tuning, which left both leads undecided: the rate chosen for "
    "N-PG was too high for some of the seeds.",
)
measure = CLAIM.measure
