"""Peg insertion: a square peg in the gripper, a square hole in a board, a reward only when it is in.

The sparse, contact-rich task of SERL (Luo et al., 2024), with the authors' frequency, force limits and length of
episode, on our arm and with our geometry; :mod:`.arm` has the controller. The grasp is taken as firm: the peg is a part
of the hand, so that it neither slips nor costs contacts.
"""

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..core import BatchedVectorEnv, Bools, Floats, Info, SingleEnv
from .arm import ArmLanes, arm_spec, attitude, part

PEG = 0.01  # half the peg's side
PROTRUSION = 0.05  # of the peg below the tool's point
RIM = 0.04  # height of the hole's rim, and depth of the hole
BOARD = 0.05  # half the board's side
SUCCESS_DEPTH = 0.02
HOLES = ((0.45, -0.05), (0.55, 0.05))  # lowest and highest x, y
START = 0.04  # most distance of the first pose from the hole, each way
HEIGHTS = (0.02, 0.06)  # of the tip above the rim at first
YAW = 0.25  # most turn at first, radians

# What one unit of the observation is, in SI: so chosen that a network sees numbers around one.
UNITS = np.repeat([0.01, 0.1, 0.1, 1.0, 10.0, 1.0, 0.01, 0.1, 0.1], [3, 3, 3, 3, 3, 3, 3, 1, 3])


class PegInsertion(ArmLanes):
    """Put the peg at least 20 mm into the hole: reward ``inserted`` of 1, and the end; 0 on every other step.

    The hole is anywhere in a square of 10 cm, square itself and never turned; the tip starts up to 4 cm from it each
    way, 2 to 6 cm above the rim and turned by up to 0.25 rad. All of it is drawn by the seed and named in the reset's
    info. Peg and hole have sharp edges: the tip must be within ``clearance`` of the hole's middle along x and y, and
    (at 1 mm) within 0.1 rad of its yaw.

    Actions: ``dx, dy, dz`` of 1 cm and ``dyaw`` of 0.05 rad at most, 10 a second; see :class:`ArmLanes`.

    Observation, 25 float32, along the base's axes (z up), the unit in brackets:

    ======  =======================================================================
    0-2     tip of the peg from the middle of the hole's rim as observed [cm]
    3-5     roll, pitch and yaw of the tool from straight down [0.1 rad]
    6-8     velocity of the tool's point [0.1 m/s]
    9-11    angular velocity of the tool [rad/s]
    12-14   force on the tool at the wrist, weight taken off [10 N]
    15-17   torque on the tool at the wrist [N m]
    18-20   the last target from the tool's point [cm]
    21      the last target's yaw from the tool's [0.1 rad]
    22-24   the hole's rim as observed, from (0.5, 0, 0.04) m [0.1 m]
    ======  =======================================================================

    The tool's position is the sum of the hole's, the first three numbers and the peg's 5 cm.

    Args:
        num_envs: number of lanes.
        clearance: gap between the peg and each wall of the hole when it is in the middle, metres.
        hole_noise: standard deviation of the error, one an episode, of the observed x and y of the hole, metres.
        error_clip: see :class:`ArmLanes`: here at most 6 N sideways and 20 N down.
        **simulation: see :class:`ArmLanes`.

    Raises:
        ValueError: a clearance outside (0, 0.01], a negative or infinite noise.
    """

    workspace = ((0.39, -0.11, 0.05), (0.61, 0.11, 0.2))
    yaw_limit = 0.5
    lane_state = (*ArmLanes.lane_state, "hole_error")

    def __init__(
        self,
        num_envs: int,
        *,
        clearance: float = 0.001,
        hole_noise: float = 0.0,
        error_clip: tuple[float, float, float] = (0.003, 0.003, 0.01),
        **simulation: Any,
    ) -> None:
        if not 0 < clearance <= 0.01:
            raise ValueError(f"clearance must be above 0 and at most 0.01 m, got {clearance}")
        if not 0 <= hole_noise < np.inf:
            raise ValueError(f"hole_noise must be a finite length of at least 0 m, got {hole_noise}")
        self.clearance, self.hole_noise = clearance, hole_noise
        super().__init__(num_envs, error_clip=error_clip, **simulation)
        self._board: Floats = self._mocap[:, self.model.body("board").mocapid[0]]
        self.hole_error: Floats = np.zeros((num_envs, 2))  # of the observed hole, metres
        self.observation_space = Box(-np.inf, np.inf, UNITS.shape, np.float32)

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        """The arm, with the peg in its hand and the board, whose hole is as wide as the clearance asks."""
        task = mujoco.MjSpec.from_file(str(part("peg_insertion.xml")))
        hole = PEG + self.clearance
        wall = (BOARD - hole) / 2
        for name, side, size in (
            ("wall_front", (1, 0), (wall, BOARD)),
            ("wall_back", (-1, 0), (wall, BOARD)),
            ("wall_left", (0, 1), (hole, wall)),
            ("wall_right", (0, -1), (hole, wall)),
        ):
            geom = task.geom(name)
            geom.pos = (*((hole + wall) * np.array(side)), 0)
            geom.size = (*size, RIM / 2)
        return arm_spec(task, in_world=["board"], in_hand=["peg"]).compile()

    def start(self, lane: int, rng: np.random.Generator) -> None:
        """See :meth:`MujocoLanes.start`."""
        hole = rng.uniform(*HOLES)
        aside, height, yaw = rng.uniform(-START, START, 2), rng.uniform(*HEIGHTS), rng.uniform(-YAW, YAW)
        self.hole_error[lane] = self.hole_noise * rng.standard_normal(2)
        self._board[lane] = (*hole, RIM / 2)
        self.place(lane, np.array([*(hole + aside), RIM + height + PROTRUSION]), yaw, opening=2 * PEG)

    def tip(self) -> Floats:
        """The middle of the peg's lower end from the middle of the hole's rim, ``[n, 3]`` metres."""
        return self.sensed("tip") - self._board - (0, 0, RIM / 2)

    def inserted(self) -> Bools:
        """Whether the tip is in the hole and deep enough; a millimetre is allowed for contacts that give."""
        tip = self.tip()
        inside = (np.abs(tip[:, :2]) <= self.clearance + 0.001).all(axis=1)
        deep: Bools = inside & (tip[:, 2] <= -SUCCESS_DEPTH)
        return deep

    def observe(self) -> npt.NDArray[np.float32]:
        """See the class, ``[n, 25]``."""
        error = np.column_stack((self.hole_error, np.zeros(self.num_envs)))
        seen = (
            self.tip() - error,
            attitude(self.sensed("orientation")),
            self.sensed("velocity"),
            self.sensed("spin"),
            self.force(),
            self.torque(),
            self.target_offset(),
            self._board + error - (0.5, 0.0, RIM / 2),
        )
        observations: npt.NDArray[np.float32] = (np.concatenate(seen, axis=1) / UNITS).astype(np.float32)
        return observations

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`MujocoLanes.score`."""
        success = self.inserted()
        return success.astype(np.float64), success

    def reset_info(self) -> Info:
        """``hole`` (x, y in metres), and where the ``tip`` starts from its rim (metres), at which ``yaw`` (radians)."""
        yaw = attitude(self.sensed("orientation"))[:, 2]
        return {"hole": self._board[:, :2].copy(), "tip": self.tip(), "yaw": yaw}

    def step_info(self) -> Info:
        """See :meth:`Lanes.step_info`; ``depth`` is how far the tip is below the rim, metres."""
        success = self.inserted()
        return {
            **super().step_info(),
            "depth": -self.tip()[:, 2],
            "reward_terms": {"inserted": success.astype(np.float64)},
            "success": success,
        }

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """Align above the hole as observed, descend, and search in a spiral when the tip stands on the rim instead.

        It sees no more than the agent. Slow over the last centimetre, so that the peg comes down where it was aligned.
        """
        seen, yaw = self.tip(), attitude(self.sensed("orientation"))[:, 2]
        seen[:, :2] -= self.hole_error
        height, aside = seen[:, 2], np.abs(seen[:, :2]).max(axis=1)
        entered = (height < -0.001) & (aside < PEG)
        standing = ~entered & (height < 0.001) & (self.force()[:, 2] > 1.0)
        aligned = (aside < 0.4 * self.clearance) & (np.abs(yaw) < 20 * self.clearance)
        hover = np.where(aside > 0.01, 0.01, 0.004)
        slow = np.where(height > 0.006, 0.004 - height, -0.004)
        down = np.where(aligned, slow, hover - height)
        down[standing], down[entered] = -0.002, -0.01
        across = np.where(standing[:, None], self._spiral(), 0.0) - seen[:, :2]
        actions: npt.NDArray[np.float32] = np.clip(np.column_stack((across, down, -yaw)) / self._scale, -1, 1)
        return actions.astype(np.float32)

    def _spiral(self) -> Floats:
        """Where on a spiral to press now, ``[n, 2]`` metres.

        It reaches as far as the hole may be off, its turns a clearance apart, at an even speed, anew every 3 s.
        """
        reach = self.clearance + 2.5 * self.hole_noise
        share = np.sqrt(self.time / 3.0 % 1.0)
        angle = 2 * np.pi * share * reach / self.clearance
        places: Floats = (reach * share)[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
        return places


class PegInsertionEnv(SingleEnv):
    """``tiltyard/PegInsertion-v0``."""

    lanes_class = PegInsertion


class PegInsertionVectorEnv(BatchedVectorEnv):
    """``tiltyard/PegInsertion-v0``, native vector."""

    lanes_class = PegInsertion
