"""Time to collision: how long until the ego's box meets another, if all keep their speed and heading.

Time goes in steps of 0.1 s up to, not including, 3 s. The others that count are those ahead, whose middle lies within
30 degrees of the heading as seen from the ego's rear axle; with ``lateral``, which nuPlan sets while the ego is in
several lanes, outside the drivable area or in a junction, all but those behind (beyond 150 degrees). An ego that stands
(0.005 m/s) has no time to collision.

Source: nuplan-devkit 1.2, ``time_to_collision_within_bound.py``.
"""

import numpy as np
import numpy.typing as npt

from .fault import BEHIND, REAR_AXLE
from .geometry import overlap

AHEAD = np.pi / 6  # angle from the heading
STEP, HORIZON = 0.1, 3.0  # s
STANDING = 0.005  # m/s
Array = npt.NDArray[np.float64]


def relevant(ego: Array, others: Array, *, lateral: bool) -> npt.NDArray[np.bool_]:
    """``[n]`` which of ``others`` count; arguments as of :func:`time_to_collision`."""
    forward = np.array([np.cos(ego[2]), np.sin(ego[2])])
    to = others[:, :2] - (ego[:2] - REAR_AXLE * ego[4] * forward)
    angle = np.arccos(np.clip(to @ forward / np.maximum(np.hypot(to[:, 0], to[:, 1]), 1e-12), -1.0, 1.0))
    return np.asarray(angle <= BEHIND if lateral else angle < AHEAD, np.bool_)


def time_to_collision(ego: npt.ArrayLike, others: npt.ArrayLike, *, lateral: bool = False) -> float:
    """Seconds until the first collision, infinite where none is within the horizon.

    Args:
        ego: ``[6]`` x, y, heading, speed, length, width, of the middle of its body.
        others: ``[n, 6]`` the same of those about, without whom it has collided with already.
        lateral: whether those at its sides count.
    """
    one, all_ = np.asarray(ego, np.float64), np.asarray(others, np.float64).reshape(-1, 6)
    if abs(one[3]) <= STANDING or not len(all_):
        return float("inf")
    rest = all_[relevant(one, all_, lateral=lateral)]
    moves = rest[:, 3:4] * np.stack([np.cos(rest[:, 2]), np.sin(rest[:, 2])], axis=1)
    own = one[3] * np.array([np.cos(one[2]), np.sin(one[2])])
    times = STEP * np.arange(1, round(HORIZON / STEP))
    boxes = np.tile(rest[:, [0, 1, 2, 4, 5]], (len(times), 1, 1))
    boxes[:, :, :2] += times[:, None, None] * (moves - own)  # as seen from the ego
    met = overlap(one[[0, 1, 2, 4, 5]], boxes.reshape(-1, 5)).reshape(len(times), -1).any(axis=1)
    return float(times[np.argmax(met)]) if met.any() else float("inf")
