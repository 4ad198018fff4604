"""What wrappers are given: settings that are numbers, and what environments return; mistakes are named."""

from collections.abc import Iterable
from numbers import Integral, Real
from traceback import walk_tb
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import SyncVectorEnv, VectorEnv, VectorObservationWrapper, VectorWrapper

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
        ValueError: rewards or actions that are not one per environment.
    """
    try:
        observation, reward, terminated, truncated, info = env.step(actions)
    except (TypeError, ValueError) as error:
        innermost = list(walk_tb(error.__traceback__))[-1][0]
        if innermost.f_code is not SyncVectorEnv.step.__code__:  # else it was writing an environment's reward down
            raise
        if isinstance(actions, list | tuple | np.ndarray) and len(actions) != env.num_envs:
            raise ValueError(f"{len(actions)} actions for {env.num_envs} environments: give each one") from error
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


def check_returns(returns: Iterable[float]) -> None:
    """Refuses returns of episodes that are NaN or infinite, and can be compared with no other (``ValueError``)."""
    if wrong := [value for value in returns if not np.isfinite(value)]:
        raise ValueError(
            f"the return of an episode is {wrong[0]}, which can be compared with no other: correct the environment's "
            "rewards, which are finite numbers"
        )


def check_observations(env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> None:
    """Refuses an environment whose numbers a wrapper beneath has changed: who reads metres would read something else.

    Raises:
        ValueError: an observation wrapper of Gymnasium's, such as ``NormalizeObservation``, is beneath.
    """
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper | VectorWrapper):
        if isinstance(layer, gymnasium.ObservationWrapper | VectorObservationWrapper):
            raise ValueError(
                f"this reward reads observations as {layer.unwrapped} gives them, and {type(layer).__name__} beneath "
                "changes them: put that wrapper around the reward's"
            )
        layer = layer.env


def own_reward(info: dict[str, Any], reward: Any) -> Any:
    """The environment's own reward of a step: what a reward wrapper beneath tells of it, else ``reward``."""
    return info.get("true_reward", reward)


def own_rewards(info: dict[str, Any], rewards: Any) -> Any:
    """:func:`own_reward` of each environment of a vector, ``[n]``; steps that ended an episode tell it at its end."""
    own = rewards
    for told, there in ((info, True), (info.get("final_info", {}), info.get("_final_info", False))):
        if "true_reward" in told:
            own = np.where(told.get("_true_reward", True) & np.asarray(there), told["true_reward"], own)
    return own
