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
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np

from ...wrappers.curricula.s3rl import S3RL
from ...wrappers.curricula.snapshots import Snapshots, teacher_snapshots
from ..testbeds.control import Agent, Control, Env, Trained, evenly, normalised_return
from .claim import Comparison, Found, Premise
from .effects import interval, summary

TASK, STEPS, TEACHER_EPISODES, STREAM = "tiltyard/HalfCheetah-v5", 8_000, 10, 2403
TEACHER = "mean return of the teacher"
SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 500,
    "batch_size": 128,
    "buffer_size": 8_000,
    "gradient_steps": 1,
    "policy_kwargs": {"net_arch": [128, 128]},
}


@lru_cache
def snapshots(episodes: int = TEACHER_EPISODES) -> Snapshots:
    """States of the teacher's episodes."""
    env = gymnasium.make(TASK)
    found = teacher_snapshots(env, episodes=episodes)
    env.close()
    return found


def started(**how: Any) -> Agent:
    """SAC whose training episodes begin at the teacher's states."""

    def wrap(env: Env) -> Env:
        return S3RL(env, snapshots(), snapshot_steps=STEPS // 10, **how)

    return Agent("sac", wrap=wrap)


def area(run: Trained[float]) -> float:
    """Under the learning curve."""
    return float(np.mean(run.scores))


def details(found: Found[Agent, Trained[float]]) -> dict[str, Any]:
    """Areas and curves."""
    areas, curves = found.each(area), found.each(lambda run: run.scores)
    others = enumerate(("no truncation", "random states"))
    return {
        "seeds": found.seeds,
        "steps": sum(phase.amount for phase in found.testbed.phases),
        TEACHER: round(float(np.mean(snapshots().returns)), 1),
        "area under the curve": summary(areas, stream=STREAM),
        "S3RL minus": {n: asdict(interval(areas["S3RL"] - areas[n], 10 + i, stream=STREAM)) for i, n in others},
        "mean curve": {name: rows.mean(axis=0).round(4).tolist() for name, rows in curves.items()},
        "settings of all": SETTINGS,
    }


CLAIM = Comparison(
    handle="s3rl",
    sentence="Integrating S3RL with SAC improves sample efficiency and average return (Zhao et al. 2024, abstract)",
    effect="area under the normalised learning curve of SAC with S3RL minus that of SAC alone",
    testbed=Control(
        env=TASK,
        settings=SETTINGS,
        phases=evenly(STEPS, 8),
        score=normalised_return(TASK, 5),
        small={"score": normalised_return(TASK, 1)},
    ),
    conditions={
        "alone": Agent("sac", wrap=lambda env: env),
        "S3RL": started(),
        "no truncation": started(truncate_steps=None),
        "random states": started(clusters=1),
    },
    ours="S3RL",
    baselines=("alone",),
    seeds=5,
    premise=Premise("The teacher is good", (TEACHER,)),
    estimate=lambda found: interval(found.leads(area)["over alone"], 99, stream=STREAM),
    details=details,
)
measure = CLAIM.measure
