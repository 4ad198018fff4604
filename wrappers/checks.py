"""What wrappers are given: settings that are numbers, and what a vector environment returns; mistakes are named."""

from numbers import Integral, Real
from traceback import walk_tb
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import SyncVectorEnv, VectorEnv

Stepped = tuple[Any, npt.NDArray[np.float32], Any, Any, dict[str, Any]]


def check_numbers(**settings: Any) -> None:
    """Refuses settings that are no numbers, by their names.

    Raises:
        TypeError: a text, None, a list or whatever else is no number; NaN and infinity are numbers.
    """
    for name, value in settings.items():
        if not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {value!r:.200}")


def check_whole(**settings: Any) -> None:
    """Refuses settings that are no whole numbers (``TypeError``), by their names."""
    for name, value in settings.items():
        if not isinstance(value, Integral):
            raise TypeError(f"{name} must be a whole number, got {value!r:.200}")


def step_checked(env: VectorEnv[Any, Any, Any], actions: Any) -> Stepped:
    """``env.step``, with rewards ``[num_envs]`` in single precision.

    Raises:
        ValueError: rewards that are not one number per environment.
    """
    try:
        observation, reward, terminated, truncated, info = env.step(actions)
    except (TypeError, ValueError) as error:
        innermost = list(walk_tb(error.__traceback__))[-1][0]
        if innermost.f_code is not SyncVectorEnv.step.__code__:  # else it was writing an environment's reward down
            raise
        raise ValueError(
            f"an environment's reward is not one number ({error}): check the environment's wrappers"
        ) from error
    rewards = np.asarray(reward, np.float32)
    if rewards.shape != (env.num_envs,):
        raise ValueError(
            f"rewards must be one number for each of the {env.num_envs} environments, got the shape {rewards.shape}: "
            "check the environment's wrappers"
        )
    return observation, rewards, terminated, truncated, info
