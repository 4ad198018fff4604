"""Gymnasium's ``Reacher-v5``, batched, with the same numbers bit for bit.

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
from .top_view import TopView

REACHER_CAMERA: Mapping[str, Any] = {"trackbodyid": 0}
UPPER, LOWER = 0.1, 0.11  # metres from joint to joint and to the fingertip
GEAR = 200.0  # newton metres an action
ELBOW_LIMIT = 3.0  # radians
STIFFNESS, DAMPING = 50.0, 9.0  # of the expert's joints, which overshoot a little: they have an inertia and a drag of 1


class Reacher(BatchedMujoco):
    """Gymnasium's ``Reacher-v5``: an arm of two joints in the plane brings its fingertip to a target.

    Reward: ``reward_dist`` (minus weight times the metres between them) + ``reward_ctrl`` (minus weight times the
    squared action). Success: the fingertip is now within ``success_radius`` of the target; the reset info names the
    ``target``.

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.01 s) an action.
        default_camera_config: attributes of the free camera.
        reward_dist_weight: of the distance in the reward.
        reward_control_weight: of the squared action in the reward.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_radius = 0.01  # metres: the fingertip's and the target's own

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "reacher.xml",
        frame_skip: int = 2,
        default_camera_config: Mapping[str, Any] | None = REACHER_CAMERA,
        reward_dist_weight: float = 1,
        reward_control_weight: float = 1,
        **simulation: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            **simulation,
        )
        self.reward_dist_weight = reward_dist_weight
        self.reward_control_weight = reward_control_weight
        self.observation_space = Box(-np.inf, np.inf, (10,), np.float64)
        self.terms: dict[str, Floats] = {}
        self._open_view = partial(self._open_view, software=partial(TopView, region=((-0.35, -0.35), (0.35, 0.35))))

    def sources(self, data: mujoco.MjData) -> tuple[Floats, ...]:
        """Where MuJoCo last placed the fingertip and the target."""
        return tuple(data.xpos[self.model.body(name).id] for name in ("fingertip", "target"))

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Departures of joints and velocities; the last two positions are the target itself."""
        qpos = rng.uniform(-0.1, 0.1, self.model.nq)
        while True:
            target = rng.uniform(-0.2, 0.2, 2)
            if np.linalg.norm(target) < 0.2:
                break
        qvel = rng.uniform(-0.005, 0.005, self.model.nv)
        return np.append(qpos[:-2], target), np.append(qvel[:-2], (0.0, 0.0))

    def start(self, index: int, rng: np.random.Generator) -> None:
        """See :meth:`BatchedMujoco.start`."""
        qpos, qvel = self.draw(rng)
        self.qpos[index, :-2] += qpos[:-2]
        self.qpos[index, -2:] = qpos[-2:]
        self.qvel[index, :-2] += qvel[:-2]
        self.qvel[index, -2:] = 0.0

    @property
    def miss(self) -> Floats:
        """From the target to the fingertip ``[n, 3]``, metres, as MuJoCo last placed them."""
        return self.readings[:, :3] - self.readings[:, 3:]

    def observe(self) -> Floats:
        """Cosines and sines of the joints' angles, the target, angular velocities, x and y of :attr:`miss`."""
        angles = np.ascontiguousarray(self.qpos[:, :2])
        parts = np.cos(angles), np.sin(angles), self.qpos[:, 2:], self.qvel[:, :2], self.miss[:, :2]
        return np.concatenate(parts, axis=1)

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        miss = self.miss
        distance = -np.sqrt(np.vecdot(miss, miss)) * self.reward_dist_weight
        control = -np.square(actions).sum(axis=1) * self.reward_control_weight
        self.terms = {"reward_dist": distance, "reward_ctrl": control.astype(np.float64)}
        return distance + self.terms["reward_ctrl"], np.zeros(self.num_envs, np.bool_)

    def reset_info(self) -> Info:
        """The ``target`` ``[n, 2]``, metres."""
        return {"target": self.first_qpos[:, -2:].copy()}

    def step_info(self) -> Info:
        """See the class; the reward's terms also stand at the top level, where Gymnasium has them."""
        miss = self.miss
        close: Bools = np.vecdot(miss, miss) <= self.success_radius**2
        info = {**super().step_info(), **self.terms, "reward_terms": dict(self.terms)}
        return {**info, "success": close & ~self.unstable}

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """Both joints as damped springs to the nearer of the two postures that put the fingertip on the target."""
        first, target = self.first_qpos[:, :2], self.qpos[:, 2:]
        cosine = ((target**2).sum(axis=1) - UPPER**2 - LOWER**2) / (2 * UPPER * LOWER)
        bend = np.arccos(cosine.clip(-1, 1)).clip(0, ELBOW_LIMIT)
        heading = np.arctan2(target[:, 1], target[:, 0])
        turns = []
        for elbow in (bend, -bend):
            shoulder = heading - np.arctan2(LOWER * np.sin(elbow), UPPER + LOWER * np.cos(elbow))
            turn = np.column_stack((shoulder, elbow)) - first
            turn[:, 0] = (turn[:, 0] + np.pi) % (2 * np.pi) - np.pi  # the short way round
            turns.append(turn)
        left, right = turns
        nearer = (left**2).sum(axis=1) <= (right**2).sum(axis=1)
        goal = first + np.where(nearer[:, None], left, right)
        torque = STIFFNESS * (goal - self.qpos[:, :2]) - DAMPING * self.qvel[:, :2]
        return (torque / GEAR).clip(-1, 1).astype(np.float32)


class ReacherEnv(SingleEnv):
    """``tiltyard/Reacher-v5``."""

    batched_class = Reacher


class ReacherVectorEnv(BatchedVectorEnv):
    """``tiltyard/Reacher-v5``, native vector."""

    batched_class = Reacher
