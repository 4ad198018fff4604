"""Gymnasium's ``Pusher-v5``, batched, with the same numbers bit for bit.

Keywords, defaults, observations and rewards are Gymnasium's (Towers et al., Gymnasium: A Standard Interface for
Reinforcement Learning Environments, 2024). Added: ``success``, the test split, the expert.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..core import BatchedVectorEnv, Bools, Floats, Info, SingleEnv
from .batched import BatchedMujoco
from .push import push, turned_left
from .top_view import TopView

PUSHER_CAMERA: Mapping[str, Any] = {"trackbodyid": -1, "distance": 4.0}
JOINTS = 7


class Pusher(BatchedMujoco):
    """Gymnasium's ``Pusher-v5``: an arm of seven joints pushes a cylinder over a table to a goal.

    Reward: ``reward_dist`` (minus weight times the metres from the cylinder to the goal) + ``reward_ctrl`` (minus
    weight times the squared action) + ``reward_near`` (minus weight times the metres from the arm's tips to the
    cylinder). Success: the cylinder's axis is now within ``success_radius`` of the goal's; the reset info names the
    ``object`` and the ``goal``.

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.01 s) an action.
        default_camera_config: attributes of the free camera.
        reward_near_weight: of the distance from tips to cylinder in the reward.
        reward_dist_weight: of the distance from cylinder to goal in the reward.
        reward_control_weight: of the squared action in the reward.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_radius = 0.05  # metres, the cylinder's own

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "pusher_v5.xml",
        frame_skip: int = 5,
        default_camera_config: Mapping[str, Any] | None = PUSHER_CAMERA,
        reward_near_weight: float = 0.5,
        reward_dist_weight: float = 1,
        reward_control_weight: float = 0.1,
        **simulation: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            **simulation,
        )
        self.reward_near_weight = reward_near_weight
        self.reward_dist_weight = reward_dist_weight
        self.reward_control_weight = reward_control_weight
        self.observation_space = Box(-np.inf, np.inf, (23,), np.float64)
        self.terms: dict[str, Floats] = {}
        self._open_view = partial(self._open_view, software=partial(TopView, region=((-0.3, -0.9), (1.0, 0.4))))

    def sources(self, data: mujoco.MjData) -> tuple[Floats, ...]:
        """Where MuJoCo last placed the arm's tips, the cylinder and the goal."""
        return tuple(data.xpos[self.model.body(name).id] for name in ("tips_arm", "object", "goal"))

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Where the cylinder starts, from the goal (y, x), at least 0.17 m away, and a little motion of the arm."""
        qpos = np.zeros(self.model.nq)
        while True:
            place = np.concatenate((rng.uniform(-0.3, 0, 1), rng.uniform(-0.2, 0.2, 1)))
            if np.linalg.norm(place) > 0.17:
                break
        qpos[-4:-2] = place
        qvel = rng.uniform(-0.005, 0.005, self.model.nv)
        qvel[-4:] = 0
        return qpos, qvel

    @property
    def tips(self) -> Floats:
        """The arm's tips ``[n, 3]``, metres, as MuJoCo last placed them."""
        return self.readings[:, :3]

    @property
    def object(self) -> Floats:
        """The cylinder, likewise."""
        return self.readings[:, 3:6]

    @property
    def goal(self) -> Floats:
        """The goal, likewise."""
        return self.readings[:, 6:]

    def observe(self) -> Floats:
        """Angles and velocities of the joints, then tips, cylinder and goal ``[n, 23]``: radians, metres, seconds."""
        return np.concatenate((self.qpos[:, :JOINTS], self.qvel[:, :JOINTS], self.readings), axis=1)

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        reach, miss = self.object - self.tips, self.object - self.goal
        near = -np.sqrt(np.vecdot(reach, reach)) * self.reward_near_weight
        distance = -np.sqrt(np.vecdot(miss, miss)) * self.reward_dist_weight
        control = -np.square(actions).sum(axis=1) * self.reward_control_weight
        self.terms = {"reward_dist": distance, "reward_ctrl": control.astype(np.float64), "reward_near": near}
        return distance + self.terms["reward_ctrl"] + near, np.zeros(self.num_envs, np.bool_)

    def reset_info(self) -> Info:
        """Where the ``object`` begins and where the ``goal`` is, x and y ``[n, 2]``, metres."""
        first, goal = self._problem()
        return {"object": first, "goal": goal}

    def _problem(self) -> tuple[Floats, Floats]:
        first, goal = (self.model.body(name).pos[:2] for name in ("object", "goal"))
        return first + self.first_qpos[:, [-3, -4]], goal + self.first_qpos[:, [-1, -2]]  # y comes first

    def step_info(self) -> Info:
        """See the class; the reward's terms also stand at the top level, where Gymnasium has them."""
        miss = (self.object - self.goal)[:, :2]
        there: Bools = np.vecdot(miss, miss) <= self.success_radius**2
        info = {**super().step_info(), **self.terms, "reward_terms": dict(self.terms)}
        return {**info, "success": there & ~self.unstable}

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """See :mod:`.push`."""
        angles, velocities = self.qpos[:, :JOINTS], self.qvel[:, :JOINTS]
        first, goal = self._problem()
        side = np.where(turned_left(first, goal), -1.0, 1.0)
        torque = push(angles, velocities, self.tips, self.object, self.goal, side)
        low, high = self.model.actuator_ctrlrange.T
        return torque.clip(low, high).astype(np.float32)


class PusherEnv(SingleEnv):
    """``tiltyard/Pusher-v5``."""

    batched_class = Pusher


class PusherVectorEnv(BatchedVectorEnv):
    """``tiltyard/Pusher-v5``, native vector."""

    batched_class = Pusher
