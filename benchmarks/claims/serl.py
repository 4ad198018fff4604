"""Do demonstrations help more by RLPD's way of using them than as the first entries of a replay buffer?

Peg insertion under impedance control, a simulated relative of the tasks SERL was shown on, with 20 demonstrations, as
many as SERL's authors gave, anew for each seed. RLPD (row ``serl``) takes half of each batch from the demonstrations
and has ten critics with LayerNorm and four updates a step; SAC has the demonstrations in its replay buffer, drawn
like anything else there, with one update a step or as many as RLPD; SAC from scratch has none.

What counts is how soon: the score is the area under the curve of success. Each form of SAC is a part of
the claim. ``details`` hold what behaviour cloning makes of five times as many
demonstrations, and the authors' figures of real robots that see by cameras.
"""

from dataclasses import asdict
from typing import Any

from ..testbeds.control import Agent, Trained, last_score, mean_score
from ..testbeds.peg import CLONED, CLONING, ENVS, INSERTION, REAL_ROBOTS
from .claim import Comparison, Found, Premise
from .effects import interval, leads, mean_curves, summary

CLONED_SUCCESS = f"success of behaviour cloning on {CLONED} demonstrations"
BASELINES = {
    "SAC, demonstrations preloaded": Agent("sac", {"gradient_steps": ENVS}, preloaded=True),
    "SAC, demonstrations preloaded, 4 updates a step": Agent("sac", {"gradient_steps": 4 * ENVS}, preloaded=True),
    "SAC from scratch": Agent("sac", {"gradient_steps": ENVS}),
}


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Areas, curves and behaviour cloning."""
    bed, cloner = found.testbed, found.testbed.sized(CLONING)
    cloned = [last_score(cloner.run(Agent("bc"), 0.0, seed)) for seed in found.seed_list]
    return {
        "seeds": found.seeds,
        "steps": bed.moments,
        "area under the curve": summary(found.each(mean_score)),
        "RLPD minus each": summary(found.minus(mean_score)),
        "success at the end": summary(found.each(last_score)),
        "mean curve": mean_curves(found, 3),
        "curves, by seed": {name: of.round(3).tolist() for name, of in found.each(lambda run: run.scores).items()},
        CLONED_SUCCESS: asdict(interval(cloned)),
        "test problems an evaluation": bed.score.episodes,
        "settings of all": bed.settings,
        "settings of each": {name: condition.told for name, condition in found.claim.conditions.items()},
        "on real robots": REAL_ROBOTS,
    }


CLAIM = Comparison(
    handle="serl",
    sentence="RLPD's many updates a step, batches half from demonstrations and normalised critics let SERL learn "
    "contact-rich manipulation from sparse rewards in few steps (Luo et al. 2024, sections 4.1 and 5)",
    effect="area under RLPD's curve of success minus that of SAC from scratch and of SAC with the "
    "demonstrations preloaded into its replay buffer",
    testbed=INSERTION,
    conditions={"RLPD": Agent("serl", {"gradient_steps": 4 * ENVS}, preloaded=True), **BASELINES},
    ours="RLPD",
    baselines=tuple(BASELINES),
    seeds=6,
    premise=Premise(
        "Demonstrations hold what is to be learnt: they can be cloned",
        (CLONED_SUCCESS,),
        lambda share: share["estimate"] > 0.5,
    ),
    parts=lambda found: leads(found, mean_score, margin=0.05),
    details=details,
)
measure = CLAIM.measure
