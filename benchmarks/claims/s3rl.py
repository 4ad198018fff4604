"""Does a student of SAC learn faster when its early episodes begin where a teacher has been?

HalfCheetah, which cannot fall, so that truncation has something to cut (a beginner on Hopper falls before a hundred
steps). The teacher is the task's scripted expert: ten of its episodes, a snapshot every ten steps. Four students share
agent, settings, steps and seeds, and differ in the wrapper of their training environment alone:

* ``alone``: none;
* ``S3RL``: the paper's, for the first tenth of all steps (as its 100,000 of a million), six clusters, a hundred steps;
* ``no truncation``: the same, but episodes from a snapshot go on to their own end;
* ``random states``: the same with truncation, but with starts drawn from all snapshots alike.

Score: the area under the learning curve, that is, the mean over eight evenly spaced moments of the normalised return
(0 a random policy, 1 the expert) of the deterministic policy in the bare environment, on test problems, which always
begin natively. The effect is the mean over seeds of the score of S3RL minus that of the student alone. The teacher's
steps are not counted, as in the paper, where trajectories are there before.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np

from ...agents import make
from ...envs.catalogue import find as find_env
from ...wrappers.curricula.s3rl import S3RL
from ...wrappers.curricula.snapshots import Snapshots, teacher_snapshots
from ..evaluation import evaluate
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="s3rl",
    sentence="Integrating S3RL with SAC improves sample efficiency and average return (Zhao et al. 2024, abstract)",
    effect="area under the normalised learning curve of SAC with S3RL minus that of SAC alone",
)

TASK = "tiltyard/HalfCheetah-v5"
SEEDS = 5
STEPS, MOMENTS, EPISODES = 8_000, 8, 5
TEACHER_EPISODES = 10
SETTINGS: Mapping[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 500,
    "batch_size": 128,
    "buffer_size": 8_000,
    "gradient_steps": 1,
    "policy_kwargs": {"net_arch": [128, 128]},
    "device": "cpu",
}

Env = gymnasium.Env[Any, Any]
STUDENTS: Mapping[str, Callable[[Env, Snapshots], Env]] = {
    "alone": lambda env, snapshots: env,
    "S3RL": lambda env, snapshots: S3RL(env, snapshots, snapshot_steps=STEPS // 10),
    "no truncation": lambda env, snapshots: S3RL(env, snapshots, snapshot_steps=STEPS // 10, truncate_steps=None),
    "random states": lambda env, snapshots: S3RL(env, snapshots, snapshot_steps=STEPS // 10, clusters=1),
}


def curve(student: str, snapshots: Snapshots, seed: int) -> list[float]:
    """The normalised returns of one student at :data:`MOMENTS` moments."""
    env = STUDENTS[student](gymnasium.make(TASK), snapshots)
    agent = make("sac", env, seed=seed, **SETTINGS)
    scores = []
    for moment in range(1, MOMENTS + 1):
        agent.learn(STEPS * moment // MOMENTS - agent.num_timesteps, reset_num_timesteps=False)
        scores.append(find_env(TASK).normalise(evaluate(agent, TASK, episodes=EPISODES).mean))
    env.close()
    return scores


def _interval(values: Floats, seed: int) -> Interval:
    return bootstrap_interval(values[:, None], mean, rng=np.random.default_rng([2403, seed]))


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains each student with ``seeds`` seeds (5 by default), on one thread: about eight minutes."""
    count = SEEDS if seeds is None else seeds
    teacher = gymnasium.make(TASK)
    snapshots = teacher_snapshots(teacher, episodes=TEACHER_EPISODES)
    teacher.close()
    curves = {name: np.array([curve(name, snapshots, seed) for seed in range(count)]) for name in STUDENTS}
    areas = {name: found.mean(axis=1) for name, found in curves.items()}
    details = {
        "seeds": count,
        "steps": STEPS,
        "mean return of the teacher": round(float(np.mean(snapshots.returns)), 1),
        "area under the curve": {name: asdict(_interval(area, i)) for i, (name, area) in enumerate(areas.items())},
        "S3RL minus": {
            name: asdict(_interval(areas["S3RL"] - areas[name], 10 + i))
            for i, name in enumerate(("no truncation", "random states"))
        },
        "mean curve": {
            name: [round(float(score), 4) for score in found.mean(axis=0)] for name, found in curves.items()
        },
        "settings of all": {key: value for key, value in SETTINGS.items() if key != "device"},
    }
    return Measurement(_interval(areas["S3RL"] - areas["alone"], 99), details)
