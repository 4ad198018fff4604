"""Does an agent of SAC learn faster when its early episodes begin where a teacher has been?

HalfCheetah, which cannot fall, so that truncation has something to cut (a beginner on Hopper falls before a hundred
steps). The teacher is the task's scripted expert: ten of its episodes, a snapshot every ten steps; its steps are not
counted, as in the paper, where trajectories are there before. Conditions differ in the wrapper of their training
environment alone: none; the paper's, for the first tenth of all steps (as its 100,000 of a million), six clusters, a
hundred steps; the same, but episodes from a snapshot go on to their own end; the same with truncation, but with starts
drawn from all snapshots alike.

The score is the area under the learning curve: the mean over eight evenly spaced moments of the normalised return of
the deterministic policy in the bare environment, on test problems, which always begin natively.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..testbeds.control import Agent, Trained, mean_score
from ..testbeds.snapshot_starts import CHEETAH, snapshots, started
from .claim import Comparison, Found, Premise
from .effects import interval, leads, mean_curves, summary

TEACHER = "mean return of the teacher"


def rises(curve: list[float]) -> bool:
    """Whether the last evaluation is better than the first."""
    return curve[-1] > curve[0]


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Areas and curves."""
    others = found.minus(mean_score, ("no truncation", "random states"))
    return {
        "seeds": found.seeds,
        "steps": found.testbed.moments[-1],
        TEACHER: round(float(np.mean(snapshots().returns)), 1),
        "area under the curve": summary(found.each(mean_score)),
        "S3RL minus": {n: asdict(interval(of)) for i, (n, of) in enumerate(others.items(), 10)},
        "mean curve": mean_curves(found, 4),
        "settings of all": found.testbed.settings,
    }


CLAIM = Comparison(
    handle="s3rl",
    sentence="Integrating S3RL with SAC improves sample efficiency and average return (Zhao et al. 2024, abstract)",
    effect="area under the normalised learning curve of SAC with S3RL minus that of SAC alone",
    testbed=CHEETAH,
    conditions={
        "alone": Agent("sac", wrap=lambda env: env),
        "S3RL": started(),
        "no truncation": started(truncate_steps=None),
        "random states": started(clusters=1),
    },
    ours="S3RL",
    baselines=("alone",),
    seeds=5,
    premise=Premise("SAC alone learns: in the end it earns more than in the beginning", ("mean curve", "alone"), rises),
    parts=lambda found: leads(found, mean_score),
    details=details,
    remark="Nothing is learnt in 8,000 steps of HalfCheetah, with or without S3RL.",
)
measure = CLAIM.measure
