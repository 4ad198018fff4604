"""Scripted data with slips, and play: an expert that follows goals of its own, not the one it would be rewarded for.

D5RL (Rafailov et al. 2024) has data of scripted policies, of demonstrations, and of people who play with the robot
without a task in mind. Play has many states and skills in it and hardly ever a whole solution, so that what was done
in several episodes has to be put together, and seen under another goal than the one that was followed.

Every episode has a stream of random numbers of its own: what is recorded does not hang on how many environments were
recorded at once.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from ...envs.robotics.drawer_door import GOALS, DrawerDoor
from ...envs.robotics.maze import BatchedMaze
from ...envs.seeding import generator
from .episodes import Array

SCRIPTED, PLAY = 1, 2
"""Streams of an episode's seed."""
SLIP_CHANCE, SLIP_STEPS = 0.05, 5
"""How likely a slip begins at a step of a scripted episode, and the steps for which its one random action is held."""
ATTENTION = 30
"""Steps after which play turns to another goal."""


class ScriptedActor:
    """The expert with Gaussian noise and with slips: now and then, for a few steps, one random action instead.

    Args:
        batched: all environments.
        space: of an action.
        noise: its standard deviation; actions go from -1 to 1.
    """

    def __init__(self, batched: Any, space: Box, noise: float) -> None:
        self._batched, self._space, self._noise = batched, space, noise
        self._streams = [generator(0, SCRIPTED) for _ in range(batched.num_envs)]
        self._left = np.zeros(batched.num_envs, np.int64)
        self._slips = np.zeros((batched.num_envs, *space.shape))

    def begin(self, index: int, seed: int) -> None:
        """The environment's stream starts anew."""
        self._streams[index], self._left[index] = generator(seed, SCRIPTED), 0

    def act(self, observations: Any) -> Array:
        """Actions of all environments ``[n, act]``."""
        actions = np.array(self._batched.expert_actions(), np.float64)
        for index, stream in enumerate(self._streams):
            begins = stream.random() < SLIP_CHANCE
            if begins and not self._left[index]:
                self._left[index] = SLIP_STEPS
                self._slips[index] = stream.uniform(self._space.low, self._space.high)
            noisy = actions[index] + self._noise * stream.standard_normal(self._space.shape)
            actions[index] = self._slips[index] if self._left[index] else noisy
        self._left = np.maximum(self._left - 1, 0)
        return _inside(actions, self._space)


class PlayActor:
    """The expert with its mind on another goal, a new one every :data:`ATTENTION` steps, and with Gaussian noise.

    In mazes its goals are the middles of free cells, in ``DrawerDoor`` the four goals of the cabinet. The environment
    keeps its own goal, which observations and rewards are about.

    Args:
        batched: all environments.
        space: of an action.
        noise: its standard deviation; actions go from -1 to 1.

    Raises:
        TypeError: an environment in which it knows no goals.
    """

    def __init__(self, batched: Any, space: Box, noise: float) -> None:
        if not isinstance(batched, BatchedMaze | DrawerDoor):
            raise TypeError(
                f"play is recorded in mazes and DrawerDoor, whose goals it knows, not in {type(batched).__name__}: "
                "choose another environment or policy"
            )
        self._batched, self._space, self._noise = batched, space, noise
        self._streams = [generator(0, PLAY) for _ in range(batched.num_envs)]
        self._steps = np.zeros(batched.num_envs, np.int64)
        self._goals = batched.goal.copy()

    def begin(self, index: int, seed: int) -> None:
        """The environment's stream starts anew."""
        self._streams[index], self._steps[index] = generator(seed, PLAY), 0

    def act(self, observations: Any) -> Array:
        """Actions of all environments ``[n, act]``."""
        for index in np.flatnonzero(self._steps % ATTENTION == 0).tolist():
            self._goals[index] = self._another(self._streams[index])
        self._steps += 1
        asked = self._batched.goal.copy()
        self._batched.goal[:] = self._goals
        try:
            actions = np.array(self._batched.expert_actions(), np.float64)
        finally:
            self._batched.goal[:] = asked
        for index, stream in enumerate(self._streams):
            actions[index] += self._noise * stream.standard_normal(self._space.shape)
        return _inside(actions, self._space)

    def _another(self, stream: np.random.Generator) -> Any:
        if isinstance(self._batched, BatchedMaze):
            return stream.choice(self._batched.maze.centres)
        return stream.integers(len(GOALS))


def _inside(actions: Array, space: Box) -> Array:
    return actions.clip(space.low, space.high).astype(space.dtype)
