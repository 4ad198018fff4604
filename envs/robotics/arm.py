"""A six-joint arm with a parallel gripper under Cartesian impedance control, batched; tasks add their parts.

The model (``arm.xml``) is ours and of primitives only. The wheels at hand ship arms for other purposes (Gymnasium's
Pusher is a two-link toy, gymnasium-robotics' Fetch is driven through a weld to a mocap body, without torques), and the
better public models are meshes of tens of megabytes outside any wheel. Six joints are enough: the impedance then acts
on every joint, and there is no null space to hold. Reach 0.9 m, 7 kg moving, torques limited joint by joint.

The controller is that of SERL's robot. With the tool at pose x, moving at v, and a target pose x*::

    F = K clip(x* - x, -D, D) - B v        tau = J^T F + gravity

so that the target may be far away while the force stays below ``K D``, and free motion below ``K D / B``: accurate in
the air, gentle in contact. Gains are those of the authors' insertion task: K = 2000 N/m, B = 89 N s/m; in rotation
theirs is 150 N m on the vector part of the error's quaternion, about half the angle, cut at 0.02, which is 75 N m/rad
cut at 3 N m here, and B = 7 N m s/rad. Departures: errors are cut along the target's axes, not the base's; the authors'
filter of the target, limit of the torque's rate, integral (zero in their task) and null space term have no counterpart.

It runs inside MuJoCo, in every physics step, without Python: MuJoCo's actuators can act between two sites, so six of
them are springs from the target's frame to the tool, each with the force limit ``K D`` (a limit on the force is a limit
on the error), six more are dampers without a limit, and ``gravcomp`` holds the weight, within the joints' limits. The
dampers are integrated implicitly, which lets a step be 4 ms. The target is a mocap body that nothing collides with.

Paper: SERL: A Software Suite for Sample-Efficient Robotic Reinforcement Learning (Luo et al., 2024), its controller for
contact-rich tasks; the law and the gains as in the authors' serl_franka_controllers and their peg configuration.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..core import Bools, Floats, Info
from ..seeding import problem_rng
from .batched import BatchedBounded
from .camera_view import CameraView

Place = tuple[float, float, float]

JOINTS = 6
STIFFNESS = 2000.0  # N/m, of the springs in arm.xml
GRIPPER = 12  # its actuator
OPEN = 0.08  # metres between the fingers, at most
HOME = (0.0, 0.2, 0.2, 0.0, np.pi / 2 - 0.4, 0.0)  # forward, tool down: where solving for joints begins
DOWN = np.array([0.0, 1.0, 1.0, 0.0]) / np.sqrt(2)  # quaternion of the tool pointing down at yaw 0


def part(name: str) -> Path:
    """The path of a model beside this file."""
    return Path(__file__).parent / name


def arm_spec(task: mujoco.MjSpec, *, in_world: Sequence[str] = (), in_hand: Sequence[str] = ()) -> mujoco.MjSpec:
    """The arm on its table with the named bodies of ``task`` added, not yet compiled.

    Args:
        task: bodies at home in its world.
        in_world: those that stand on the table.
        in_hand: those that are held firmly, their frame in the middle between the fingertips, z along the tool.

    Raises:
        ValueError: a body that ``task`` does not have.
    """
    arm = mujoco.MjSpec.from_file(str(part("arm.xml")))
    for name in (*in_world, *in_hand):
        if task.body(name) is None:
            raise ValueError(f"the task's model has no body {name!r}: it has {[b.name for b in task.bodies]}")
    for name in in_world:
        arm.worldbody.add_frame().attach_body(task.body(name), "", "")
    for name in in_hand:
        arm.site("tcp").attach_body(task.body(name), "", "")
    return arm


def turned(yaw: npt.ArrayLike) -> Floats:
    """Quaternions ``[..., 4]`` (w first) of the tool pointing down and turned by ``yaw`` (radians) about the vertical.

    The product of ``(cos yaw/2, 0, 0, sin yaw/2)`` and ``DOWN``.
    """
    half = np.asarray(yaw, np.float64) / 2
    c, s, zero = np.cos(half), np.sin(half), np.zeros_like(half)
    quaternions: Floats = np.stack((zero, c - s, c + s, zero), axis=-1) / np.sqrt(2)
    return quaternions


def attitude(quaternions: Floats) -> Floats:
    """Roll, pitch and yaw ``[n, 3]`` (radians) away from pointing down, of tool quaternions ``[n, 4]``.

    Yaw is the turn about the vertical (swing-twist), roll and pitch twice the quaternion's x and y: exact at first
    order, and the tool tilts by hundredths.
    """
    w, x, y, z = quaternions.T
    # q times the conjugate of DOWN, times sqrt 2
    rest = np.stack((x + y, z - w, -(z + w), y - x), axis=1) / np.sqrt(2)
    rest = np.where(rest[:, :1] < 0, -rest, rest)
    return np.stack((2 * rest[:, 1], 2 * rest[:, 2], 2 * np.arctan2(rest[:, 3], rest[:, 0])), axis=1)


def solve_joints(model: mujoco.MjModel, data: mujoco.MjData, position: Floats, yaw: float) -> Floats:
    """Joint angles ``[6]`` with the tool at ``position`` (metres), pointing down at ``yaw``; Newton's method from HOME.

    Raises:
        ValueError: when the arm cannot reach it.
    """
    tcp, wanted, turn = model.site("tcp").id, turned(yaw), np.zeros(3)
    jacobian, quaternion, error = np.zeros((6, model.nv)), np.zeros(4), np.zeros(6)
    data.qpos[:] = model.qpos0
    data.qpos[:JOINTS] = HOME
    for _ in range(30):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mju_mat2Quat(quaternion, data.site_xmat[tcp])
        mujoco.mju_subQuat(turn, wanted, quaternion)
        error[:3] = position - data.site_xpos[tcp]
        error[3:] = data.site_xmat[tcp].reshape(3, 3) @ turn
        if np.abs(error).max() < 1e-9:
            return np.array(data.qpos[:JOINTS])
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], tcp)
        change = np.linalg.lstsq(jacobian[:, :JOINTS], error, rcond=None)[0]
        data.qpos[:JOINTS] += np.clip(change, -0.5, 0.5)
    raise ValueError(f"the arm cannot reach {np.round(position, 3).tolist()} m at yaw {yaw:.2f}: come closer")


class BatchedArm(BatchedBounded):
    """A task of the arm: it builds its model by :func:`arm_spec`, places the tool by :meth:`place`, sees and scores.

    Actions, ``Box(-1, 1)`` float32: ``dx, dy, dz`` (times ``step_length``), ``dyaw`` (times ``step_angle``), and with
    ``gripper`` the opening asked for (-1 closed, 1 open). As on SERL's robot the target is the tool's *measured* pose
    plus the increment, so that nothing winds up while the tool is held. The target is kept inside the workspace;
    ``info["clamped"]`` says when that changed it.

    Pixels of the wrist's (or another) camera are an observation by Gymnasium's own wrapper, with or without the state::

        env = gymnasium.make(
            "tiltyard/PegInsertion-v0", render_mode="rgb_array", camera_name="wrist", width=128, height=128
        )
        env = gymnasium.wrappers.AddRenderObservation(env, render_only=False)  # Dict(state=..., pixels=[128, 128, 3])

    Args:
        num_envs: number of environments.
        error_clip: most position error (metres, along the target's x, y, z) that the springs act on.
        step_length: metres an action of 1 moves the target.
        step_angle: radians an action of 1 turns it.
        gripper: whether the gripper is the agent's; else it stays where the task put it.
        frame_skip: physics steps (of 4 ms) an action: 10 Hz, as SERL's.
        camera_name: "side", "close" or "wrist"; machines without OpenGL see the same in software.
        **simulation: see :class:`BatchedBounded`.
    """

    workspace: ClassVar[tuple[Place, Place]] = ((0.3, -0.3, 0.02), (0.6, 0.3, 0.4))
    """Lowest and highest x, y, z of the tool's target, metres."""
    yaw_limit: ClassVar[float] = 1.2
    """Most turn of the target either way from :attr:`yaw_middle`, radians."""
    yaw_middle: ClassVar[float] = 0.0
    """At 0 the fingers close along y, at 90 degrees along x."""

    def __init__(
        self,
        num_envs: int,
        *,
        error_clip: tuple[float, float, float] = (0.01, 0.01, 0.01),
        step_length: float = 0.01,
        step_angle: float = 0.05,
        gripper: bool = False,
        frame_skip: int = 25,
        camera_name: str | None = "side",
        **simulation: Any,
    ) -> None:
        if not (min(error_clip) > 0 and 0 < step_length < np.inf and 0 < step_angle < np.inf):
            raise ValueError(
                "error_clip (three lengths), step_length and step_angle must be positive, the last two finite, got "
                f"{error_clip}, {step_length} and {step_angle}"
            )
        super().__init__(num_envs, xml_file="arm.xml", frame_skip=frame_skip, camera_name=camera_name, **simulation)
        camera = {key: self._open_view.keywords[key] for key in ("camera_id", "camera_name")}
        self._open_view = partial(self._open_view, software=partial(CameraView, **camera))
        self.model.actuator_forcerange[:3] = STIFFNESS * np.outer(error_clip, (-1, 1))
        size = 5 if gripper else 4
        self.action_space = Box(-1, 1, (size,), np.float32)
        self._scale = np.array([step_length] * 3 + [step_angle])
        self.gripper = gripper
        self.clamped: Bools = np.zeros(num_envs, np.bool_)
        position, quaternion = mujoco.mjtState.mjSTATE_MOCAP_POS, mujoco.mjtState.mjSTATE_MOCAP_QUAT
        self._mocap: Floats = self.part(position).reshape(num_envs, -1, 3)
        target = self.model.body("target").mocapid[0]
        self._target: Floats = self._mocap[:, target]
        self._target_turn: Floats = self.part(quaternion).reshape(num_envs, -1, 4)[:, target]
        weight = self.model.body_subtreemass[self.model.body("hand").id] * self.model.opt.gravity
        self._weight: Floats = weight  # of all beyond the force sensor, newtons

    def count_readings(self) -> int:
        """All sensors."""
        return int(self.model.nsensordata)

    def read(self, data: mujoco.MjData, readings: Floats) -> None:
        """Takes the sensors at the state itself; those of a step's end are of the physics step before."""
        mujoco.mj_forward(self.model, data)
        readings[:] = data.sensordata

    def sensed(self, name: str) -> Floats:
        """The readings ``[n, size]`` of one sensor of the model."""
        sensor = self.model.sensor(name)
        return self.readings[:, sensor.adr[0] : sensor.adr[0] + sensor.dim[0]]

    def _generator(self, index: int, seed: int, episode: int) -> np.random.Generator:
        return problem_rng(self.split, seed, episode)

    def begin(self, indices: Any, seeds: Any, episodes: Any) -> None:
        """See :meth:`BatchedEnv.begin`."""
        super().begin(indices, seeds, episodes)
        self.clamped[indices] = False

    def place(self, index: int, position: Floats, yaw: float, opening: float) -> None:
        """Puts the arm at rest with its tool, and the target, at a pose, the fingers ``opening`` metres apart."""
        self.qpos[index, :JOINTS] = solve_joints(self.model, self._data[0], position, yaw)
        self.qpos[index, JOINTS : JOINTS + 2] = opening / 2
        self._ctrl[index, GRIPPER] = opening
        self._target[index], self._target_turn[index] = position, turned(yaw)

    def command(self, actions: npt.NDArray[np.floating], active: Bools) -> None:
        """Moves the targets of the active environments; see the class."""
        position, yaw = self.sensed("position"), attitude(self.sensed("orientation"))[:, 2]
        asked = np.column_stack((position, yaw)) + actions[:, :4] * self._scale
        low, high = self.workspace
        yaws = self.yaw_middle - self.yaw_limit, self.yaw_middle + self.yaw_limit
        target = np.clip(asked, (*low, yaws[0]), (*high, yaws[1]))
        self.clamped = np.where(active, (target != asked).any(axis=1), self.clamped)
        self._target[active] = target[active, :3]
        self._target_turn[active] = turned(target[active, 3])
        if self.gripper:
            self._ctrl[active, GRIPPER] = OPEN * (1 + np.clip(actions[active, 4], -1, 1)) / 2

    def force(self) -> Floats:
        """The force ``[n, 3]`` (newtons, along the base's axes) on the tool, by the wrist's sensor, less the weight.

        Free of contact it is the tool's inertia, as on a real sensor.
        """
        return -_rotate(self.sensed("orientation"), self.sensed("force")) - self._weight

    def torque(self) -> Floats:
        """The torque ``[n, 3]`` (newton metres about the wrist, along the base's axes) on the tool, by the sensor."""
        return -_rotate(self.sensed("orientation"), self.sensed("torque"))

    def target_offset(self) -> Floats:
        """How far ``[n, 4]`` the last target is from the tool: x, y, z (metres) and yaw (radians)."""
        yaw = attitude(self._target_turn)[:, 2] - attitude(self.sensed("orientation"))[:, 2]
        return np.column_stack((self._target - self.sensed("position"), yaw))

    def step_info(self) -> Info:
        """See :meth:`BatchedEnv.step_info`; ``clamped`` says that the target asked for was outside the workspace."""
        return {**super().step_info(), "clamped": self.clamped.copy()}


def _rotate(quaternions: Floats, vectors: Floats) -> Floats:
    """``vectors`` ``[n, 3]`` of frames with these orientations ``[n, 4]``, in the base's frame."""
    w, axis = quaternions[:, :1], quaternions[:, 1:]
    across = np.cross(axis, vectors)
    return vectors + 2 * (w * across + np.cross(axis, across))
