"""The potentials that environments of ours have of their own: how far there is still to go, from what an agent sees."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict
from gymnasium.vector import VectorEnv

from ...envs.core import BatchedVectorEnv, SingleEnv
from ..checks import check_observations

Potential = Callable[[Any], Any]

DOOR_WAY = 0.3
"""Metres that a door's handle moves a radian, about."""


def published_potential(env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> Potential:
    """Minus the metres still to go: a function of one observation of ``env``, or of a batch of them.

    =======================  =====================================================================================
    mazes                    from the body to the goal, around the walls
    insertion                from the part's tip to the middle of the hole's rim, aside; and above the rim (below it
                             they count in favour)
    ``ObjectRelocation-v0``  from the block to its place, and from the tool to the block
    ``DrawerDoor-v0``        of the goal's part (a radian as 0.3 m), and from the tool to where its handle is held
    =======================  =====================================================================================

    Raises:
        TypeError: the environment has none.
        ValueError: a wrapper has changed its observations.
    """
    from ...envs.robotics.drawer_door import DrawerDoor
    from ...envs.robotics.insertion import Insertion
    from ...envs.robotics.maze import BatchedMaze
    from ...envs.robotics.object_relocation import ObjectRelocation

    check_observations(env)
    bare: Any = env.unwrapped
    batched = bare.batched if isinstance(bare, SingleEnv | BatchedVectorEnv) else None
    if isinstance(batched, BatchedMaze):
        return _MazeWay(batched.maze, isinstance(batched.observation_space, Dict))
    for kind, potential in ((Insertion, _insertion), (ObjectRelocation, _relocation), (DrawerDoor, _drawer_door)):
        if isinstance(batched, kind):
            return potential
    raise TypeError(f"{bare} has no potential of its own: give one, a function of its observations")


@dataclass(frozen=True)
class _MazeWay:
    """The potential of a maze: an object and no closure, so that it can be pickled."""

    maze: Any
    by_goal: bool

    def __call__(self, seen: Any) -> Any:
        here, there = (seen["achieved_goal"], seen["desired_goal"]) if self.by_goal else (seen[..., :2], seen[..., -2:])
        return -self.maze.path_length(here, there)


def _insertion(seen: Any) -> Any:
    from ...envs.robotics.insertion import UNITS

    return -UNITS[0] * (np.linalg.norm(seen[..., :2], axis=-1) + seen[..., 2])


def _relocation(seen: Any) -> Any:
    from ...envs.robotics.relocation_expert import UNITS

    metres = seen[..., :6] * UNITS[:6]
    return -np.linalg.norm(metres[..., :3], axis=-1) - np.linalg.norm(metres[..., 3:], axis=-1)


def _drawer_door(seen: Any) -> Any:
    from ...envs.robotics.drawer_door import DOOR, GOALS, UNITS

    metres = seen * UNITS
    goals = metres[..., 35:39]  # one-hot
    places = goals @ [place for _, place, _ in GOALS.values()]
    is_door = goals @ [float(part == DOOR) for part, _, _ in GOALS.values()]
    drawer, door = np.abs(metres[..., 24] - places), DOOR_WAY * np.abs(metres[..., 26] - places)
    return -np.where(is_door > 0, door, drawer) - np.linalg.norm(metres[..., :3], axis=-1)
