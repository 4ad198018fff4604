"""Environments of other packages whose episodes no time limit ends, and how long an evaluation waits for them."""

from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import TimeLimit

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

LONGEST = 100_000
"""Steps after which an evaluation gives up on an episode that no time limit ends."""
REMEDY = "register it with max_episode_steps, or wrap it in gymnasium.wrappers.TimeLimit"


def is_endless(env: "VecEnv") -> bool:
    """Whether no time limit ends the episodes of a ``VecEnv`` made by :func:`tiltyard.wrappers.spaces.sb3_env`.

    A time limit is one that the environment is registered with, is made with, or is wrapped in.
    """
    vector = env.unwrapped.env.unwrapped  # type: ignore[attr-defined]
    if vector.spec is not None and vector.spec.max_episode_steps:
        return False
    single: Any = vector.envs[0] if isinstance(vector, SyncVectorEnv) else None
    while isinstance(single, gymnasium.Wrapper):
        if isinstance(single, TimeLimit):
            return False
        single = single.env
    return True


def warning_of(env_id: str) -> str:
    """What is said of an endless environment before training begins."""
    return (
        f"{env_id} has no time limit, and an evaluation fails if one of its episodes does not end within {LONGEST:,} "
        f"steps: {REMEDY}"
    )


def error_of(env: "VecEnv") -> str:
    """What an evaluation says that gives up on an episode of ``env``."""
    spec = env.unwrapped.env.unwrapped.spec  # type: ignore[attr-defined]
    name = "the environment" if spec is None else spec.id
    return f"an evaluation episode of {name} has not ended after {LONGEST:,} steps, and no time limit ends it: {REMEDY}"
