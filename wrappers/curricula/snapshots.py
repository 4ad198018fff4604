"""Snapshots of environments: one at a time, and along a teacher's episodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from ...envs.core import SingleEnv
from .clustering import Floats

Info = dict[str, Any]


@dataclass(frozen=True)
class Snapshots:
    """States along a teacher's episodes.

    Attributes:
        states: n of them, as the environment's ``snapshot()`` gives them.
        values: ``[n]`` what the teacher expects to earn from each.
        returns: of the teacher's episodes.
    """

    states: tuple[Any, ...]
    values: Floats
    returns: tuple[float, ...]


def teacher_snapshots(
    env: gymnasium.Env[Any, Any],
    policy: Any = None,
    *,
    episodes: int = 10,
    save_every: int = 10,
    value: Callable[[Any], float] | None = None,
    gamma: float = 0.99,
    seed: int = 0,
) -> Snapshots:
    """Plays a teacher and keeps where it has been.

    The authors take a state's value from the teacher's critic. A teacher without one has its own discounted returns
    instead; where a time limit cuts an episode, the rest counts as if it paid the episode's mean reward for ever.

    Args:
        env: to play in; one of its own, since its episodes are used up.
        policy: with SB3's ``predict``, or a function from observation to action; ``env``'s expert if None.
        episodes: of the teacher.
        save_every: steps between two snapshots; an episode's first state is always one.
        value: of an observation, such as a critic's; None for the returns.
        gamma: discount of the returns, below 1.
        seed: of the first episode.

    Raises:
        TypeError: the environment cannot take snapshots, or no policy is given and it has no expert.
        ValueError: no episodes, no steps between snapshots, or a discount that is not in [0, 1).
    """
    if episodes < 1 or save_every < 1 or not 0 <= gamma < 1:
        raise ValueError(
            f"need episodes and save_every of at least 1 and gamma in [0, 1), got {episodes}, {save_every}, {gamma}"
        )
    act = _actor(env, policy)
    states: list[Any] = []
    values: list[float] = []
    returns: list[float] = []
    for episode in range(episodes):
        found, seen, rewards, terminated = _played(env, act, save_every, seed if episode == 0 else None)
        states += found
        values += [value(one) for one in seen] if value else _returns_to_go(rewards, terminated, gamma)[::save_every]
        returns.append(sum(rewards))
    return Snapshots(tuple(states), np.array(values, np.float64), tuple(returns))


def _actor(env: gymnasium.Env[Any, Any], policy: Any) -> Callable[[Any], Any]:
    if policy is None:
        if not hasattr(env.unwrapped, "expert"):
            raise TypeError(f"{env.unwrapped} has no expert: give the teacher's policy")
        policy = env.unwrapped.expert()
    if hasattr(policy, "predict"):
        return lambda observation: policy.predict(observation, deterministic=True)[0]
    if not callable(policy):
        raise TypeError(f"policy is a function of the observation or has predict(), got {type(policy).__name__}")
    act: Callable[[Any], Any] = policy
    return act


def _played(
    env: gymnasium.Env[Any, Any], act: Callable[[Any], Any], save_every: int, seed: int | None
) -> tuple[list[Any], list[Any], list[float], bool]:
    """One episode: states and observations every so many steps, all rewards, and whether it ended by itself."""
    observation, _ = env.reset(seed=seed)
    states: list[Any] = []
    seen: list[Any] = []
    rewards: list[float] = []
    terminated = truncated = False
    while not (terminated or truncated):
        if len(rewards) % save_every == 0:
            states.append(take_snapshot(env))
            seen.append(observation)
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        rewards.append(float(reward))
    return states, seen, rewards, terminated


def _returns_to_go(rewards: list[float], terminated: bool, gamma: float) -> list[float]:
    """What is earned from each step on, discounted; see :func:`teacher_snapshots` for what a time limit cuts off."""
    ahead = 0.0 if terminated else sum(rewards) / len(rewards) / (1 - gamma)
    found = []
    for reward in reversed(rewards):
        ahead = reward + gamma * ahead
        found.append(ahead)
    return found[::-1]


def take_snapshot(env: gymnasium.Env[Any, Any]) -> Any:
    """All that decides an environment's coming steps, as plain data.

    Raises:
        TypeError: the environment cannot take snapshots.
    """
    bare: Any = env.unwrapped
    if isinstance(bare, SingleEnv):
        return bare.snapshot()
    import mujoco

    _need_mujoco(bare)
    state = np.empty(mujoco.mj_stateSize(bare.model, _mujoco_state()))
    mujoco.mj_getState(bare.model, bare.data, state, _mujoco_state())
    return state


def restore_snapshot(env: gymnasium.Env[Any, Any], state: Any) -> tuple[Any, Info]:
    """Puts an environment into a snapshot of one like it; returns what ``reset`` does.

    In Gymnasium's MuJoCo tasks, places of bodies and contact forces, which there lag a physics step behind, are worked
    out anew: the first observation may differ in forces, and the first reward of Ant and Humanoid by about 1e-4. All
    that comes after is as it was, bit for bit, and in environments of ours everything is.

    Raises:
        TypeError: the environment cannot take snapshots.
        ValueError: a state of another task.
    """
    bare: Any = env.unwrapped
    if isinstance(bare, SingleEnv):
        return bare.restore(state)
    import mujoco

    _need_mujoco(bare)
    size = mujoco.mj_stateSize(bare.model, _mujoco_state())
    if np.shape(state) != (size,):
        raise ValueError(f"this is no state of {bare}: it has {size} numbers, got shape {np.shape(state)}")
    mujoco.mj_setState(bare.model, bare.data, state, _mujoco_state())
    mujoco.mj_forward(bare.model, bare.data)
    mujoco.mj_rnePostConstraint(bare.model, bare.data)
    observation, info = bare._get_obs(), bare._get_reset_info()
    return observation, info


def _mujoco_state() -> int:
    import mujoco

    return int(mujoco.mjtState.mjSTATE_INTEGRATION.value)


def _need_mujoco(bare: Any) -> None:
    from gymnasium.envs.mujoco.mujoco_env import MujocoEnv

    if not isinstance(bare, MujocoEnv):
        raise TypeError(f"{bare} cannot take snapshots: neither an environment of Tiltyard's nor a MuJoCo task")
