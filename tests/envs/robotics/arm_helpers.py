"""What tests of the arm's tasks share."""

from typing import Any

import mujoco
import numpy as np

from tiltyard.envs.robotics.arm import ArmLanes


def act(lanes: ArmLanes, action: Any, steps: int = 1) -> None:
    """The same action in every lane, again and again."""
    for _ in range(steps):
        lanes.advance(np.tile(np.array(action, np.float32), (lanes.num_envs, 1)), np.ones(lanes.num_envs, bool))


def deepest_overlap(lanes: ArmLanes) -> float:
    """Metres by which any two bodies overlap now."""
    data, worst = mujoco.MjData(lanes.model), 0.0
    for row in lanes._rows:
        mujoco.mj_setState(lanes.model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_fwdPosition(lanes.model, data)
        worst = max(worst, -min(data.contact.dist, default=0.0))
    return worst
