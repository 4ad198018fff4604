"""Snapshot starts: SAC on a hanging pendulum, whose early training episodes may begin where a teacher has been.

The teacher is the scripted swing-up: ten of its episodes, a snapshot every ten steps. Scores are of the bare
environment, whose episodes always begin hanging.
"""

from functools import lru_cache
from typing import Any

from ...wrappers.curricula.s3rl import S3RL
from ...wrappers.curricula.snapshots import Snapshots, teacher_snapshots
from .control import Agent, Control, Env, evenly
from .hanging_pendulum import STEPS as EPISODE
from .hanging_pendulum import SwungUp, limited

STEPS, TEACHER_EPISODES = 4_000, 10
SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 100,
    "batch_size": 128,
    "buffer_size": STEPS,
    "gradient_steps": 1,
    "policy_kwargs": {"net_arch": [64, 64]},
}


@lru_cache
def snapshots(episodes: int = TEACHER_EPISODES) -> Snapshots:
    """States of the teacher's episodes."""
    return teacher_snapshots(limited(), episodes=episodes)


def started(*, truncate_steps: int | None = EPISODE // 10, **how: Any) -> Agent:
    """SAC whose training episodes begin at the teacher's states for the first tenth of all steps; see ``S3RL``.

    They are cut after a tenth of an episode, as the paper's are after 100 steps of 1000.
    """

    def wrap(env: Env) -> Env:
        return S3RL(env, snapshots(), snapshot_steps=STEPS // 10, truncate_steps=truncate_steps, **how)

    return Agent("sac", wrap=wrap)


HANGING = Control(
    env=limited,
    settings=SETTINGS,
    phases=evenly(STEPS, 8),
    score=SwungUp(),
    small={"score": SwungUp(2, 3)},
)
"""Scores at eight evenly spaced moments."""
