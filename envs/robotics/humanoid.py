"""Gymnasium's ``Humanoid-v5``, batched, with the same numbers bit for bit: see :mod:`.locomotion`.

The task is of Tassa, Erez and Todorov, Synthesis and Stabilization of Complex Behaviors through Online Trajectory
Optimization, 2012. It pays five a step for merely not falling; success is therefore a matter of distance alone.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..core import BatchedVectorEnv, Bools, Floats, Info, SingleEnv
from .ant import Roamer
from .experts import along, clock, forward, load_expert, positive, turned, unit

HUMANOID_CAMERA: Mapping[str, Any] = {
    "trackbodyid": 1,
    "distance": 4.0,
    "lookat": (0.0, 0.0, 2.0),
    "elevation": -20.0,
}
# Joints in the order of ``qpos`` as the expert sees them, which swings the right leg, or thinks so: see `expert_view`.
LEG, ARM = ("hip_x", "hip_z", "hip_y", "knee"), ("shoulder1", "shoulder2", "elbow")
JOINTS = (
    *("abdomen_z", "abdomen_y", "abdomen_x"),
    *(f"{side}_{joint}" for limb in (LEG, ARM) for side in ("swing", "stance") for joint in limb),
)
MOTORS = ("abdomen_y", "abdomen_z", "abdomen_x", *JOINTS[3:])
SEEN = (
    *("height", "w", "roll", "pitch", "yaw", *JOINTS, "forward", "left", "up"),
    *(f"{name}_rate" for name in ("roll", "pitch", "yaw", *JOINTS)),
    *("sine", "cosine"),
)
# In the mirror right and left change places, and what turns about x or z changes sign, but for the hips, whose axes do.
_TURNED = ("abdomen_z", "abdomen_x", "shoulder1", "shoulder2")
_SWAP = np.array([0, 1, 2, 7, 8, 9, 10, 3, 4, 5, 6, 14, 15, 16, 11, 12, 13])  # of joints, and of motors
_JOINT_SIGN, _MOTOR_SIGN = (
    np.array([-1.0 if name.endswith(_TURNED) else 1.0 for name in names]) for names in (JOINTS, MOTORS)
)


class Humanoid(Roamer):
    """A human figure of thirteen parts, seventeen motors, free to move in space; the episode ends when it falls.

    Reward: that of :class:`Runner`, with the speed of the middle of all mass, + ``reward_survive`` (while healthy) +
    ``reward_contact`` (minus weight times the squared contact forces, cut to ``contact_cost_range``).

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.003 s) an action.
        default_camera_config: attributes of the free camera.
        forward_reward_weight: of the forward speed in the reward.
        ctrl_cost_weight: of the squared action in the reward.
        contact_cost_weight: of the squared contact forces in the reward.
        contact_cost_range: what that cost is cut to.
        healthy_reward: a step, while healthy.
        terminate_when_unhealthy: whether a fall ends the episode.
        healthy_z_range: open interval of the torso's height in metres.
        reset_noise_scale: of the first state, uniform in position and in velocity.
        exclude_current_positions_from_observation: whether x and y are hidden.
        include_cinert_in_observation: whether every body's inertia and mass about the middle of all mass are seen.
        include_cvel_in_observation: whether every body's velocity about it is seen, rotation first.
        include_qfrc_actuator_in_observation: whether the motors' torques are seen.
        include_cfrc_ext_in_observation: whether the contact forces are seen, torque and force of every body.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_distance = 5.0
    expert_name = "humanoid"
    expert_hertz: ClassVar[float] = 2.8

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "humanoid.xml",
        frame_skip: int = 5,
        default_camera_config: Mapping[str, Any] | None = HUMANOID_CAMERA,
        forward_reward_weight: float = 1.25,
        ctrl_cost_weight: float = 0.1,
        contact_cost_weight: float = 5e-7,
        contact_cost_range: tuple[float, float] = (-np.inf, 10.0),
        healthy_reward: float = 5.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (1.0, 2.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **simulation: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            reset_noise_scale=reset_noise_scale,
            exclude_current_positions_from_observation=exclude_current_positions_from_observation,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            **simulation,
        )
        self.contact_cost_weight = contact_cost_weight
        self.contact_cost_range = contact_cost_range
        self.healthy_z_range = healthy_z_range
        shown = {
            "cinert": include_cinert_in_observation,
            "cvel": include_cvel_in_observation,
            "qfrc_actuator": include_qfrc_actuator_in_observation,
            "cfrc_ext": include_cfrc_ext_in_observation,
        }
        self._shown = [name for name in shown if shown[name]]
        self.observation_space = Box(-np.inf, np.inf, self.observe().shape[1:], np.float64)

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """See :meth:`BatchedMujoco.draw`."""
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, self.model.nq), rng.uniform(-scale, scale, self.model.nv)

    def count_readings(self) -> int:
        """See :meth:`read`; also works out where each reading lies."""
        model = self.model
        sizes = {"mass": 2, "ten_length": model.ntendon, "ten_velocity": model.ntendon}
        sizes |= {"cinert": 10 * model.nbody, "cvel": 6 * model.nbody}
        sizes |= {"qfrc_actuator": model.nv, "cfrc_ext": 6 * model.nbody}
        ends = np.cumsum(list(sizes.values())).tolist()
        self._lies = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        return int(ends[-1])

    def read(self, data: mujoco.MjData, readings: Floats) -> None:
        """The middle of all mass (x, y), the tendons, inertias, velocities, torques and contact forces."""
        masses = self.model.body_mass
        readings[:2] = (np.einsum("b,bj->j", masses, data.xipos) / masses.sum())[:2]
        for name, lies in self._lies.items():
            if name != "mass":
                readings[lies] = getattr(data, name).ravel()

    def reading(self, name: str) -> Floats:
        """One reading of all environments ``[n, size]``, by MuJoCo's name; a view."""
        return self.readings[:, self._lies[name]]

    def observe(self) -> Floats:
        """Positions (without x and y, unless asked for), velocities, and what else is asked for."""
        hidden = {"cinert": 10, "cvel": 6, "qfrc_actuator": 6, "cfrc_ext": 6}  # columns of the world and of the root
        return np.concatenate(
            (super().observe(), *(self.reading(name)[:, hidden[name] :] for name in self._shown)), axis=1
        )

    def healthy(self) -> Bools:
        """Whether the torso's height lies inside its range."""
        low, high = self.healthy_z_range
        z = self.qpos[:, 2]
        inside: Bools = (low < z) & (z < high)
        return inside

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`; the control cost is taken of the motors' own float64."""
        forward, survive, healthy = self.measure()
        control = self.ctrl_cost_weight * np.sum(np.square(self._ctrl), axis=1)
        contact = self.contact_cost_weight * np.sum(np.square(self.reading("cfrc_ext")), axis=1)
        contact = contact.clip(*self.contact_cost_range)
        self.terms = {
            "reward_survive": survive,
            "reward_forward": forward,
            "reward_ctrl": -control,
            "reward_contact": -contact,
        }
        return forward + survive - (control + contact), ~healthy & self.terminate_when_unhealthy

    def place(self) -> Info:
        """Where the body is on the floor, and how long the tendons are and how fast they change."""
        tendons = {"tendon_length": self.reading("ten_length"), "tendon_velocity": self.reading("ten_velocity")}
        return {**super().place(), **{name: values.copy() for name, values in tendons.items()}}

    def expert_view(self) -> Floats:
        """What :data:`SEEN` names ``[n, 47]``: posture and velocities in a frame that is turned as the torso is.

        Every half stride the legs change parts. So that one linear policy does for both halves, the body is seen in the
        mirror while its left leg swings. ``roll`` and ``pitch`` are halved angles, ``yaw`` half the sine of the angle
        by which the torso has turned from x; sine and cosine go round once a step.
        """
        time = clock(self.time, self.expert_hertz)
        heading = unit(forward(self.qpos[:, 3:7]))
        posture = positive(turned(self.qpos[:, 3:7], heading))
        posture[:, 3] = 0.5 * heading[:, 1]
        side = self._left(time)[:, None]
        joints, speeds = _mirrored(self.qpos[:, 7:], side), _mirrored(self.qvel[:, 6:], side)
        posture[:, [1, 3]] *= np.where(side, -1, 1)
        velocity = np.concatenate((along(self.qvel[:, :2], heading), self.qvel[:, 2:6]), axis=1)
        velocity[:, [1, 3, 5]] *= np.where(side, -1, 1)
        return np.concatenate((self.qpos[:, 2:3], posture, joints, velocity, speeds, time[:, 2:]), axis=1)

    def _left(self, time: Floats) -> Bools:
        """Where the left leg swings."""
        left: Bools = time[:, 0] < 0
        return left

    def motors(self, outputs: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Actions for what a policy of :meth:`expert_view` puts out, within [-1, 1]: back through the mirror."""
        left = self._left(clock(self.time, self.expert_hertz))[:, None]
        shares = np.where(left, outputs[:, _SWAP] * _MOTOR_SIGN, outputs).astype(np.float32)
        actions: npt.NDArray[np.float32] = shares * self.model.actuator_ctrlrange[:, 1].astype(np.float32)
        return actions

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """A static linear policy of :meth:`expert_view`; see :mod:`.humanoid_gait`."""
        return self.motors(load_expert(self.expert_name).act(self.expert_view()))


def _mirrored(joints: Floats, side: Bools) -> Floats:
    """Angles or speeds of :data:`JOINTS` ``[n, 17]``, in the mirror where ``side`` ``[n, 1]``."""
    return np.where(side, joints[:, _SWAP] * _JOINT_SIGN, joints)


class HumanoidEnv(SingleEnv):
    """``tiltyard/Humanoid-v5``."""

    batched_class = Humanoid


class HumanoidVectorEnv(BatchedVectorEnv):
    """``tiltyard/Humanoid-v5``, native vector."""

    batched_class = Humanoid
