"""Snapshot starts: SAC on HalfCheetah, whose early training episodes may begin where the scripted expert has been.

The teacher is that expert: ten of its episodes, a snapshot every ten steps. Scores are of the bare environment, on test
problems, which always begin natively.
"""

from functools import lru_cache
from typing import Any

import gymnasium

from ...wrappers.curricula.s3rl import S3RL
from ...wrappers.curricula.snapshots import Snapshots, teacher_snapshots
from .control import Agent, Control, Env, evenly, first_reward, normalised_return

TASK, STEPS, TEACHER_EPISODES = "tiltyard/HalfCheetah-v5", 8_000, 10
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
    """SAC whose training episodes begin at the teacher's states for the first tenth of all steps; see ``S3RL``."""

    def wrap(env: Env) -> Env:
        return S3RL(env, snapshots(), snapshot_steps=STEPS // 10, **how)

    return Agent("sac", wrap=wrap)


CHEETAH = Control(
    env=TASK,
    settings=SETTINGS,
    phases=evenly(STEPS, 8),
    score=normalised_return(TASK, 5),
    small={"score": first_reward(TASK)},
)
"""Scores at eight evenly spaced moments."""
