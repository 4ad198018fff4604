"""A road: parallel lanes along a gently winding line, in road coordinates (s along, d to the left)."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .compiled import compiled
from .state import LANE_WIDTH, World


@compiled
def curvature(world: World, s: float) -> float:
    """Curvature of the road at ``s`` in 1/m, positive to the left: ``bend * sin(2 pi s / wave + phase)``."""
    if world.bend == 0.0:
        return 0.0
    return world.bend * math.sin(2.0 * math.pi * s / world.wave + world.phase)


@compiled
def nearest_lane(world: World, d: float) -> int:
    """The lane (0 is the rightmost) whose middle is nearest to ``d``."""
    return min(max(int(math.floor(d / LANE_WIDTH + 0.5)), 0), world.lanes - 1)


def bearing(world: Any, s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Direction of the road at ``s`` in radians: the integral of :func:`curvature` from 0."""
    turns = 2.0 * np.pi / world["wave"]
    return np.asarray(world["bend"] / turns * (np.cos(world["phase"]) - np.cos(turns * s + world["phase"])))


def centreline(world: Any, start: float, stop: float, step: float = 1.0) -> tuple[npt.NDArray[np.float64], ...]:
    """Points of the reference line for drawing.

    Returns:
        ``s, x, y, bearing``, each ``[m]``; (x, y) is integrated by the midpoint rule from the origin at ``start``.
    """
    s = np.arange(start, stop + step, step)
    middle = bearing(world, s[:-1] + 0.5 * step)
    x = np.concatenate([[0.0], np.cumsum(np.cos(middle) * step)])
    y = np.concatenate([[0.0], np.cumsum(np.sin(middle) * step)])
    return s, x, y, bearing(world, s)
