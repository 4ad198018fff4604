"""Does drawing good trajectories more often help where a dataset is mostly poor?

On Pendulum, 380 of 400 trajectories are of random actions and 20 of a scripted swing-up; IQL learns from them with each
sampler, everything else equal: networks, updates, seeds, dataset and temperature (the authors' 0.1). Starts are random
and matter much for the return, which is what advantage weighting, unlike return weighting, allows for.

Tried first, on tuning seeds: 5 good trajectories of 100. There advantage weighting gained nothing (0.23 and -0.05,
uniform 0.21 and 0.19), because at this temperature all the weight fell on one or two trajectories; that the good ones
must be a few dozen is part of what the verdict says. Negative control, in ``details``: where all trajectories are the
swing-up's there is little to prefer. The positive-sided variance tells both datasets apart beforehand.
"""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ...agents.control.trajectory_weighting import positive_sided_variance
from ..testbeds.control import Agent, Trained, last_score
from ..testbeds.pendulum import NETWORKS, SHARED, SwingUps, offline, references
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import interval, leads, part, summary

SPREAD, ALONE = "positive-sided variance of returns", "swing-up alone"
UNIFORM, WEIGHTED, BY_RETURN = "uniform", "advantage-weighting", "return-weighting"


def control(found: Found[Agent, Trained[float]]) -> Found[Agent, Trained[float]]:
    """Both samplers where all trajectories are the swing-up's."""
    mixed: SwingUps = found.testbed.data.__self__
    alone = offline(replace(mixed, good=mixed.trajectories), found.testbed.moments[-1])
    return found.rerun(dict.fromkeys((UNIFORM, WEIGHTED), float("nan")), most=found.seeds, testbed=alone)


def parts(found: Found[Agent, Trained[float]]) -> dict[str, Part]:
    """The lead, and beside it the negative control."""
    alone = part(control(found).minus(last_score)[UNIFORM], margin=0.05, decides=False)
    return {**leads(found, last_score, top=np.inf, margin=0.05), "negative control: swing-up alone": alone}


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Scores, the negative control, and what the datasets are."""
    mixed: SwingUps = found.testbed.data.__self__
    alone, updates = replace(mixed, good=mixed.trajectories), found.testbed.moments[-1]
    spreads = {
        kind: [positive_sided_variance(data.dataset(seed).episode_returns) for seed in found.seed_list]
        for kind, data in {"mixed": mixed, ALONE: alone}.items()
    }
    beds = {"mixed": found, ALONE: control(found)}
    scores = {f"{kind}, {by}": of for kind, bed in beds.items() for by, of in bed.each(last_score).items()}
    by_return = scores[f"mixed, {BY_RETURN}"] - scores[f"mixed, {UNIFORM}"]
    random, expert = references(mixed.episodes, mixed.steps)
    return {
        "seeds": found.seeds,
        "updates": updates,
        "normalised return": summary(scores),
        "return weighting minus uniform, mixed": asdict(interval(by_return)),
        SPREAD: {kind: round(float(np.mean(of)), 1) for kind, of in spreads.items()},
        "mean return": {"random": round(random, 1), "swing-up": round(expert, 1)},
        "settings of all": {key: value for key, value in SHARED.items() if key != "buffer_size"} | NETWORKS,
    }


CLAIM = Comparison(
    handle="trajectory-weighting",
    sentence="Offline RL exploits the few good trajectories of a mostly poor dataset to the full only once they are "
    "drawn more often (Hong et al. 2023, abstract)",
    effect="normalised return (0 random, 1 the swing-up) of IQL with advantage weighting minus with uniform sampling",
    testbed=offline(SwingUps()),
    conditions={by: Agent("iql", {"sampler": by}) for by in (UNIFORM, WEIGHTED, BY_RETURN)},
    ours=WEIGHTED,
    baselines=(UNIFORM,),
    seeds=10,
    premise=Premise(
        "Returns spread where trajectories are mixed, and hardly where they are not",
        (SPREAD,),
        lambda of: of["mixed"] > 2 * of[ALONE],
    ),
    parts=parts,
    details=details,
    remark="Where all trajectories are good, and there is nothing to prefer, advantage weighting gains a little too: "
    "about a hundredth of the lead.",
)
measure = CLAIM.measure
