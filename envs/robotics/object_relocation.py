"""Object relocation: take a block out of one bin and put it into the other, over the wall between them; and back.

SERL's relocation (Luo et al., 2024), a forward task and its undo that practise for each other without resets, with the
authors' frequency, heading of the hand and two bins, on our arm and with our geometry; :mod:`.arm` has the controller.
The grasp is real: friction between two fingertips and a free block, which slips, tilts and drops.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box

from ... import unknown
from ..core import BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv, check_options
from .arm import GRIPPER, JOINTS, OPEN, BatchedArm, arm_spec, attitude, part
from .relocation_expert import BIN, FAR, HALF, LONG, MIDDLE, NEAR, ORIGIN, UNITS, YAW, YAW_LIMIT, relocate

TASKS = ("forward", "backward")
START = 0.04  # most distance of the block from its bin's middle at first, each way
SPREAD, HEIGHTS, TURN = 0.06, (0.1, 0.16), 0.25  # the same of the tool, its heights, its turn
GRIP = 20.0  # newtons; a block of 0.1 kg needs one
GEARS = 1.0, 200.0  # kg and N s/m of a finger's drive: it closes at 0.1 m/s, and presses no millimetre into a block
AT_REST = 0.01, 0.1  # m/s, rad/s
RELEASED = 0.002  # metres from each finger
SIGHT = 0.02  # as far as gaps to the fingers are measured, metres


class ObjectRelocation(BatchedArm):
    """Put the block into the other bin: reward ``placed`` of 1, and the end; 0 on every other step.

    Two bins of 18 cm lie side by side, a wall of 4 cm, as high as the block, between them. ``forward`` starts with the
    block in the left bin (y > 0) and asks for the right one, ``backward`` is the reverse. Success: the block lies flat
    on the goal's floor, at rest, both fingers at least 2 mm away from it. The block starts up to 4 cm from its bin's
    middle each way, turned at random, the open hand above the same bin; drawn by the seed, named in the reset's info.

    Practice without resets: ``reset(options={"keep_state": True, "task": "backward"})`` begins an episode of that task
    from the present physical state; without "task" environments that keep their state keep their task.
    ``options={"task": ...}`` alone begins a drawn problem of that task. Vectors take one of each or one per
    environment, and ``reset_mask``. A block that already lies in the goal is a success at the first step. Infos tell
    the ``task``, and whether the block is ``recoverable``: where the hand can reach it.

    Actions: ``dx, dy, dz`` of 2 cm and ``dyaw`` of 0.1 rad at most, and the opening; see :class:`BatchedArm`. Around
    yaw 90 degrees, the fingers close along the wall.

    Observation, 31 float32, along the base's axes (z up), the unit in brackets:

    ======  =======================================================================
    0-2     block from the tool's point [5 cm]
    3-5     middle of the goal's floor, where the block's middle would lie, from the block [10 cm]
    6-7     cosine and sine of four times the block's yaw from the tool's
    8       tilt of the block's uppermost face [0.5 rad]
    9-11    velocity of the block [0.1 m/s]
    12-14   tool's point from (0.48, 0, 0.1) m [10 cm]
    15      yaw of the tool from 90 degrees [0.5 rad]
    16-18   velocity of the tool's point [0.1 m/s]
    19      angular velocity of the tool about the vertical [rad/s]
    20-21   opening of the fingers, and the one last asked for less it [4 cm]
    22-23   gaps between the left and the right finger and the block, up to 2 cm [cm]
    24-26   force on the tool at the wrist, weight taken off [10 N]
    27-29   the last target from the tool's point [2 cm]
    30      the last target's yaw from the tool's [0.1 rad]
    ======  =======================================================================

    Args:
        num_envs: number of environments.
        task: "forward" (left to right) or "backward", of problems that do not ask for another.
        step_length: see :class:`BatchedArm`.
        step_angle: see :class:`BatchedArm`.
        **simulation: see :class:`BatchedArm`.

    Raises:
        ValueError: on another task.
    """

    workspace = ((0.405, -0.17, 0.015), (0.555, 0.17, 0.2))
    yaw_middle = YAW
    yaw_limit = YAW_LIMIT
    env_state = (*BatchedArm.env_state, "backward")
    reset_options = ("keep_state", "task")

    def __init__(
        self,
        num_envs: int,
        *,
        task: str = "forward",
        step_length: float = 0.02,
        step_angle: float = 0.1,
        **simulation: Any,
    ) -> None:
        self._default = _is_backward(task, "task")
        super().__init__(num_envs, step_length=step_length, step_angle=step_angle, gripper=True, **simulation)
        self.backward: Bools = np.full(num_envs, self._default)
        self._begun: Bools = np.zeros(num_envs, np.bool_)
        self._asked: tuple[Bools, Bools] | None = None
        place, speed = (
            int(joint[0]) for joint in (self.model.joint("block").qposadr, self.model.joint("block").dofadr)
        )
        self.block_pose: Floats = self.qpos[:, place : place + 7]
        self.block_motion: Floats = self.qvel[:, speed : speed + 6]
        self.observation_space = Box(-np.inf, np.inf, UNITS.shape, np.float32)

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        """The arm, the bins and the block, and sensors of the gaps between the fingers and the block."""
        spec = arm_spec(mujoco.MjSpec.from_file(str(part("object_relocation.xml"))), in_world=["bins", "block"])
        spec.actuator("gripper").forcerange = (-GRIP, GRIP)
        geom = mujoco.mjtObj.mjOBJ_GEOM
        for side in ("left", "right"):
            spec.add_sensor(
                name=f"{side}_gap",
                type=mujoco.mjtSensor.mjSENS_GEOMDIST,
                objtype=geom,
                objname=f"{side}_finger",
                reftype=geom,
                refname="block",
                cutoff=SIGHT,
            )
        model = spec.compile()
        fingers = [model.joint(f"{side}_finger").dofadr[0] for side in ("left", "right")]
        model.dof_armature[fingers], model.dof_damping[fingers] = GEARS
        mujoco.mj_setConst(model, mujoco.MjData(model))  # what the compiler had worked out from the inertia
        # MuJoCo 3.11's native collision detector gives nearly parallel faces a distance of 0 in a tenth of positions.
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)
        return model

    @contextmanager
    def asked(self, options: Mapping[str, Any] | None, indices: Ints) -> Iterator[None]:
        """Inside, episodes that begin on ``indices`` are those that ``reset``'s options ask for.

        Raises:
            ValueError: on an option that is unknown or of the wrong kind; nothing has changed.
            ResetNeeded: there is no state to keep yet.
        """
        options = check_options(options, (*self.reset_options, "reset_mask"))
        keep = self._keep(options.get("keep_state", False))
        if (~self._begun[indices] & keep[indices]).any():
            raise ResetNeeded("there is no state to keep yet: call reset() without keep_state first")
        self._asked = keep, self._tasks(options.get("task"), keep)
        try:
            yield
        finally:
            self._asked = None

    def _keep(self, value: Any) -> Bools:
        mask = np.asarray(value)
        if mask.dtype != np.bool_ or mask.shape not in ((), (self.num_envs,)):
            each = "" if self.num_envs == 1 else f", or one for each of the {self.num_envs} environments"
            raise ValueError(f"options['keep_state'] must be True or False{each}, got {value!r}")
        return np.broadcast_to(mask, (self.num_envs,))

    def _tasks(self, value: Any, keep: Bools) -> Bools:
        if value is None:
            return np.where(keep, self.backward, self._default)
        if not isinstance(value, Sequence | np.ndarray) or len(value) != self.num_envs or isinstance(value, str):
            return np.full(self.num_envs, _is_backward(value, "options['task']"))
        return np.array([_is_backward(task, "options['task']") for task in value])

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """See :meth:`BatchedEnv.begin`; environments asked to keep their state begin an episode from it."""
        keep, tasks = self._asked or (np.zeros(self.num_envs, np.bool_), np.full(self.num_envs, self._default))
        self.backward[indices] = tasks[indices]
        kept, fresh = indices[keep[indices]], ~keep[indices]
        self.first_qpos[kept] = self.qpos[kept]
        self.unstable[kept] = self.clamped[kept] = False
        super().begin(indices[fresh], seeds[fresh], episodes[fresh])
        self._begun[indices] = True

    def start(self, index: int, rng: np.random.Generator) -> None:
        """See :meth:`BatchedMujoco.start`."""
        middle = np.array([MIDDLE, -BIN if self.backward[index] else BIN])
        block, turn = middle + rng.uniform(-START, START, 2), rng.uniform(-np.pi / 4, np.pi / 4)
        tool = middle + rng.uniform(-SPREAD, SPREAD, 2)
        height, yaw = rng.uniform(*HEIGHTS), self.yaw_middle + rng.uniform(-TURN, TURN)
        self.block_pose[index] = (*block, HALF, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
        self.place(index, np.array([*tool, height]), yaw, opening=OPEN)

    def tasks(self) -> npt.NDArray[np.str_]:
        """Each environment's task, ``[n]`` of "forward" and "backward"."""
        return np.where(self.backward, "backward", "forward")

    def goal(self) -> Floats:
        """Where the block's middle would lie in the goal's middle, ``[n, 3]`` metres."""
        side = np.where(self.backward, BIN, -BIN)
        return np.column_stack((np.full(self.num_envs, MIDDLE), side, np.full(self.num_envs, HALF)))

    def gaps(self) -> Floats:
        """Metres between the left and the right finger and the block, ``[n, 2]``, at most 2 cm."""
        return np.column_stack((self.sensed("left_gap"), self.sensed("right_gap")))

    def opening(self) -> Floats:
        """Metres between the fingers, and the opening last asked for, ``[n, 2]``."""
        return np.column_stack((self.qpos[:, JOINTS : JOINTS + 2].sum(axis=1), self._ctrl[:, GRIPPER]))

    def placed(self) -> Bools:
        """Whether the block lies in the goal, at rest and released."""
        block, speed, spin = (self.sensed(f"block{what}") for what in ("", "_velocity", "_spin"))
        x, y = np.abs(block[:, 0] - MIDDLE), block[:, 1] * np.where(self.backward, 1, -1)
        lying = (x < LONG) & (y > NEAR) & (y < FAR) & (np.abs(block[:, 2] - HALF) < 0.002)
        still = (np.abs(speed) < AT_REST[0]).all(axis=1) & (np.abs(spin) < AT_REST[1]).all(axis=1)
        done: Bools = lying & still & (self.gaps() >= RELEASED).all(axis=1)
        return done

    def recoverable(self) -> Bools:
        """Whether the block is where the hand can take it: above the table and inside the workspace."""
        block, (low, high) = self.sensed("block"), np.array(self.workspace)
        inside = ((block[:, :2] >= low[:2]) & (block[:, :2] <= high[:2])).all(axis=1)
        reachable: Bools = inside & (block[:, 2] > 0) & (block[:, 2] < high[2] + HALF) & ~self.unstable
        return reachable

    def block_turn(self) -> Floats:
        """The block's yaw from the tool's, up to 45 degrees as its sides are alike, and its tilt, ``[n, 2]`` rad."""
        axes = _axes(self.sensed("block_orientation"))  # [n, 3, 3], one axis of the block a column
        indices, up = np.arange(self.num_envs), np.abs(axes[:, 2]).argmax(axis=1)
        side = axes[indices, :, (up + 1) % 3]
        yaw = np.arctan2(side[:, 1], side[:, 0]) - attitude(self.sensed("orientation"))[:, 2]
        tilt = np.arccos(np.minimum(np.abs(axes[indices, 2, up]), 1.0))
        return np.column_stack(((yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4, tilt))

    def observe(self) -> npt.NDArray[np.float32]:
        """See the class, ``[n, 31]``."""
        block, tool, opening, turn = self.sensed("block"), self.sensed("position"), self.opening(), self.block_turn()
        seen = (
            block - tool,
            self.goal() - block,
            np.cos(4 * turn[:, :1]),
            np.sin(4 * turn[:, :1]),
            turn[:, 1:],
            self.sensed("block_velocity"),
            tool - ORIGIN,
            attitude(self.sensed("orientation"))[:, 2:] - self.yaw_middle,
            self.sensed("velocity"),
            self.sensed("spin")[:, 2:],
            opening[:, :1],
            opening[:, 1:] - opening[:, :1],
            self.gaps(),
            self.force(),
            self.target_offset(),
        )
        observations: npt.NDArray[np.float32] = (np.concatenate(seen, axis=1) / UNITS).astype(np.float32)
        return observations

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        success = self.placed()
        return success.astype(np.float64), success

    def reset_info(self) -> Info:
        """``task``, ``block`` and ``goal`` (x, y, z in metres), ``recoverable``."""
        names = {"block": self.sensed("block").copy(), "goal": self.goal()}
        return {"task": self.tasks(), **names, "recoverable": self.recoverable()}

    def step_info(self) -> Info:
        """See :meth:`BatchedEnv.step_info`; ``task`` and ``recoverable`` as in the class."""
        success = self.placed()
        return {
            **super().step_info(),
            "task": self.tasks(),
            "recoverable": self.recoverable(),
            "reward_terms": {"placed": success.astype(np.float64)},
            "success": success,
        }

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """See :mod:`.relocation_expert`: it sees what the agent sees."""
        wanted = relocate(self.observe())
        wanted[:, :4] /= self._scale
        return wanted.clip(-1, 1).astype(np.float32)


def _is_backward(task: Any, name: str) -> bool:
    if not isinstance(task, str) or task not in TASKS:
        raise ValueError(unknown(name, task, TASKS))
    return task == "backward"


def _axes(quaternions: Floats) -> Floats:
    """Rotation matrices ``[n, 3, 3]`` of unit quaternions ``[n, 4]``."""
    w, x, y, z = quaternions.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    matrices: Floats = np.array(rows).transpose(2, 0, 1)
    return matrices


class ObjectRelocationEnv(SingleEnv):
    """``tiltyard/ObjectRelocation-v0``."""

    batched_class = ObjectRelocation
    batched: ObjectRelocation

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """See :meth:`SingleEnv.reset`; ``options`` may ask for a ``task``, and to ``keep_state``."""
        with self.batched.asked(options, np.zeros(1, np.int64)):
            return super().reset(seed=seed, options=options)


class ObjectRelocationVectorEnv(BatchedVectorEnv):
    """``tiltyard/ObjectRelocation-v0``, native vector."""

    batched_class = ObjectRelocation
    batched: ObjectRelocation

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """See :meth:`BatchedVectorEnv.reset`; ``options`` may ask for a ``task`` and to ``keep_state``."""
        with self.batched.asked(options, np.flatnonzero(self._reset_mask(options))):
            return super().reset(seed=seed, options=options)
