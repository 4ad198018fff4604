"""Actions of the town's vehicles, and the commands that compiled code takes."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, Space

from ...actions import bounded, numbers
from ..town.state import CONTROLS, MANOEUVRES, WAYPOINT

Action = Literal["box", "discrete", "waypoints"]
CONTROLLERS = {"box": CONTROLS, "discrete": MANOEUVRES, "waypoints": WAYPOINT}
MANOEUVRE_NAMES = ("keep", "left", "right", "faster", "slower")
WAYPOINT_SCALE, WAYPOINT_BASE = np.array([20, 10, 20], np.float32), np.array([20, 0, 20], np.float32)  # m, m, m/s
WANTED = {
    "box": "an action is pedal and steering, two numbers in [-1, 1]",
    "discrete": "an action is an integer: " + ", ".join(f"{i} {name}" for i, name in enumerate(MANOEUVRE_NAMES)),
    "waypoints": "an action is a point to head for and a speed, three numbers in [-1, 1]",
}


def action_space(action: Action) -> Space[Any]:
    """What one agent's actions are."""
    if action == "discrete":
        return Discrete(len(MANOEUVRE_NAMES))
    return Box(-1.0, 1.0, (2 if action == "box" else 3,), np.float32)


def commands_of(action: Action, actions: Any, n: int, invalid_action: str) -> npt.NDArray[np.float32]:
    """Commands ``[n, 3]`` of n actions.

    Raises:
        InvalidAction: an action outside its bounds, or anything else than numbers in the right shape.
    """
    commands = np.zeros((n, 3), np.float32)
    wanted = WANTED[action]
    if action == "discrete":
        array = numbers(actions, (n,), kinds="iu", wanted=wanted)
        commands[:, 0] = bounded(array, 0, len(MANOEUVRE_NAMES) - 1, wanted=wanted)
        return commands
    size = 2 if action == "box" else 3
    array = numbers(actions, (n, size), kinds="fiu", wanted=wanted)
    commands[:, :size] = bounded(array, -1.0, 1.0, wanted=wanted, invalid_action=invalid_action)
    return commands * WAYPOINT_SCALE + WAYPOINT_BASE if action == "waypoints" else commands
