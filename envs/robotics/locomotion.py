"""Planar runners: Gymnasium's ``HalfCheetah-v5``, ``Hopper-v5``, ``Walker2d-v5``, batched, the same bit for bit.

Observations, rewards and ends of episodes are those of Gymnasium (Towers et al., Gymnasium: A Standard Interface for
Reinforcement Learning Environments, 2024; the tasks are of Wawrzyński 2007 and of Erez, Tassa and Todorov 2012), and
so are the keywords and their defaults. Added: ``success``, the test split, the expert. The four-legged ``Ant-v5``,
which leaves the plane, is in :mod:`.ant`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..core import BatchedVectorEnv, Bools, Floats, Info, SingleEnv
from .batched import BatchedMujoco, check_noise
from .experts import clock, load_expert

HALF_CHEETAH_CAMERA: Mapping[str, Any] = {"distance": 4.0}
HOPPER_CAMERA: Mapping[str, Any] = {"trackbodyid": 2, "distance": 3.0, "lookat": (0.0, 0.0, 1.15), "elevation": -20.0}
WALKER_CAMERA: Mapping[str, Any] = {**HOPPER_CAMERA, "distance": 4.0}


class Runner(BatchedMujoco):
    """A body that is paid for running along x and charged for its effort.

    Reward: ``reward_forward`` (weight times metres a second) + ``reward_ctrl`` (minus weight times the squared
    action), and what a task adds. Success: the body is now at least ``success_distance`` metres ahead of where the
    episode began, and has not fallen; the info's ``goal_x`` names the place.
    """

    success_distance: ClassVar[float]
    expert_name: ClassVar[str]
    expert_hertz: ClassVar[float | None] = None
    """Strides a second of an expert that keeps time by a clock."""
    places: ClassVar[int] = 1
    """Columns of ``qpos``, from the first, that say where the body is rather than how it is held."""

    def __init__(
        self,
        num_envs: int,
        *,
        forward_reward_weight: float,
        ctrl_cost_weight: float,
        reset_noise_scale: float,
        exclude_current_positions_from_observation: bool,
        **simulation: Any,
    ) -> None:
        super().__init__(num_envs, **simulation)
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.reset_noise_scale = check_noise(reset_noise_scale)
        self._first_seen = self.places * exclude_current_positions_from_observation  # column of qpos
        size = self.model.nq + self.model.nv - self._first_seen
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.x_velocity: Floats = np.zeros(num_envs)
        self.terms: dict[str, Floats] = {}

    def seen_velocity(self) -> Floats:
        """The velocities ``[n, nv]`` as the agent sees them."""
        return self.qvel

    def observe(self) -> Floats:
        """Positions (without x, unless asked for) and velocities, ``[n, nq - 1 + nv]`` float64."""
        return np.concatenate((self.qpos[:, self._first_seen :], self.seen_velocity()), axis=1)

    def fallen(self) -> Bools:
        """Environments whose body is no longer upright; some bodies cannot fall."""
        return np.zeros(self.num_envs, np.bool_)

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        self.x_velocity = (self.qpos[:, 0] - qpos_before[:, 0]) / self.dt
        forward = self.forward_reward_weight * self.x_velocity
        cost = self.ctrl_cost_weight * np.sum(np.square(actions), axis=1)
        self.terms = {"reward_forward": forward, "reward_ctrl": -cost.astype(np.float64)}
        return forward + self.terms["reward_ctrl"], np.zeros(self.num_envs, np.bool_)

    def place(self) -> Info:
        """Columns that say where the body is."""
        return {"x_position": self.qpos[:, 0].copy()}

    def reset_info(self) -> Info:
        """Where the body starts, and ``goal_x``, where it succeeds."""
        return {**self.place(), "goal_x": self.first_qpos[:, 0] + self.success_distance}

    def step_info(self) -> Info:
        """See the class; the reward's terms also stand at the top level, where Gymnasium has them."""
        ahead = self.qpos[:, 0] >= self.first_qpos[:, 0] + self.success_distance
        return {
            **super().step_info(),
            **self.place(),
            "x_velocity": self.x_velocity,
            **self.terms,
            "reward_terms": dict(self.terms),
            "success": ahead & ~self.fallen() & ~self.unstable,
        }

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """A static linear policy of :meth:`expert_view`, clipped to the space; see :mod:`.experts`."""
        return load_expert(self.expert_name).act(self.expert_view())

    def expert_view(self) -> Floats:
        """Posture and velocities, and for an expert with a clock the sine and cosine of one and two turns a stride."""
        seen = np.concatenate((self.qpos[:, self.places :], self.seen_velocity()), axis=1)
        if self.expert_hertz is None:
            return seen
        return np.concatenate((seen, clock(self.time, self.expert_hertz)), axis=1)


class HalfCheetah(Runner):
    """Gymnasium's ``HalfCheetah-v5``: a two-legged planar body of nine parts, six motors, that cannot fall.

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.01 s) an action.
        default_camera_config: attributes of the free camera.
        forward_reward_weight: of the forward speed in the reward.
        ctrl_cost_weight: of the squared action in the reward.
        reset_noise_scale: of the first state, uniform in position and normal in velocity.
        exclude_current_positions_from_observation: whether x is hidden.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_distance = 100.0
    expert_name = "half_cheetah"

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "half_cheetah.xml",
        frame_skip: int = 5,
        default_camera_config: Mapping[str, Any] | None = HALF_CHEETAH_CAMERA,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 0.1,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
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
            **simulation,
        )

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """See :meth:`BatchedMujoco.draw`."""
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, self.model.nq), scale * rng.standard_normal(self.model.nv)


class Walker(Runner):
    """A runner on legs that is paid for not falling; what both :class:`Hopper` and :class:`Walker2d` are.

    Reward: adds ``reward_survive``, ``healthy_reward`` while :meth:`healthy`.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        healthy_reward: float,
        terminate_when_unhealthy: bool,
        healthy_z_range: tuple[float, float],
        healthy_angle_range: tuple[float, float],
        **runner: Any,
    ) -> None:
        super().__init__(num_envs, **runner)
        self.healthy_reward = healthy_reward
        self.terminate_when_unhealthy = terminate_when_unhealthy
        self.healthy_z_range = healthy_z_range
        self.healthy_angle_range = healthy_angle_range
        self._model_z = float(self.model.qpos0[1])

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """See :meth:`BatchedMujoco.draw`."""
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, self.model.nq), rng.uniform(-scale, scale, self.model.nv)

    def seen_velocity(self) -> Floats:
        """Velocities cut to 10 metres or radians a second."""
        return np.clip(self.qvel, -10, 10)

    def healthy(self) -> Bools:
        """Whether height and angle lie inside their ranges."""
        z, angle = self.qpos[:, 1], self.qpos[:, 2]
        return _inside(z, self.healthy_z_range) & _inside(angle, self.healthy_angle_range)

    def fallen(self) -> Bools:
        """Not healthy."""
        return ~self.healthy()

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        super().score(actions, qpos_before)
        healthy = self.healthy() & ~self.unstable
        survive: Floats = healthy.astype(np.float64) * self.healthy_reward
        self.terms["reward_survive"] = survive
        reward = self.terms["reward_forward"] + survive + self.terms["reward_ctrl"]
        return reward, ~healthy & self.terminate_when_unhealthy

    def place(self) -> Info:
        """Where the body is, and how far above the model's own height."""
        return {**super().place(), "z_distance_from_origin": self.qpos[:, 1] - self._model_z}


class Hopper(Walker):
    """Gymnasium's ``Hopper-v5``: one leg of four parts, three motors; the episode ends when it falls.

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.002 s) an action.
        default_camera_config: attributes of the free camera.
        forward_reward_weight: of the forward speed in the reward.
        ctrl_cost_weight: of the squared action in the reward.
        healthy_reward: a step, while healthy.
        terminate_when_unhealthy: whether a fall ends the episode.
        healthy_state_range: open interval of every position but x and z, and of every velocity.
        healthy_z_range: open interval of the torso's height in metres.
        healthy_angle_range: open interval of the torso's angle in radians.
        reset_noise_scale: of the first state, uniform in position and in velocity.
        exclude_current_positions_from_observation: whether x is hidden.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_distance = 5.0
    expert_name = "hopper"

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "hopper.xml",
        frame_skip: int = 4,
        default_camera_config: Mapping[str, Any] | None = HOPPER_CAMERA,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_state_range: tuple[float, float] = (-100.0, 100.0),
        healthy_z_range: tuple[float, float] = (0.7, float("inf")),
        healthy_angle_range: tuple[float, float] = (-0.2, 0.2),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **simulation: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            healthy_angle_range=healthy_angle_range,
            reset_noise_scale=reset_noise_scale,
            exclude_current_positions_from_observation=exclude_current_positions_from_observation,
            **simulation,
        )
        self.healthy_state_range = healthy_state_range

    def healthy(self) -> Bools:
        """Whether height, angle and the rest of the state lie inside their ranges."""
        state = np.concatenate((self.qpos[:, 2:], self.qvel), axis=1)
        return _inside(state, self.healthy_state_range).all(axis=1) & super().healthy()


class Walker2d(Walker):
    """Gymnasium's ``Walker2d-v5``: a torso on two legs of three parts each, six motors; a fall ends the episode.

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.002 s) an action.
        default_camera_config: attributes of the free camera.
        forward_reward_weight: of the forward speed in the reward.
        ctrl_cost_weight: of the squared action in the reward.
        healthy_reward: a step, while healthy.
        terminate_when_unhealthy: whether a fall ends the episode.
        healthy_z_range: open interval of the torso's height in metres.
        healthy_angle_range: open interval of the torso's angle in radians.
        reset_noise_scale: of the first state, uniform in position and in velocity.
        exclude_current_positions_from_observation: whether x is hidden.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_distance = 5.0
    expert_name = "walker2d"
    expert_hertz = 1.2

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "walker2d_v5.xml",
        frame_skip: int = 4,
        default_camera_config: Mapping[str, Any] | None = WALKER_CAMERA,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.8, 2.0),
        healthy_angle_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **simulation: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            healthy_angle_range=healthy_angle_range,
            reset_noise_scale=reset_noise_scale,
            exclude_current_positions_from_observation=exclude_current_positions_from_observation,
            **simulation,
        )


def _inside(value: Floats, interval: tuple[float, float]) -> Bools:
    inside: Bools = (interval[0] < value) & (value < interval[1])
    return inside


class HalfCheetahEnv(SingleEnv):
    """``tiltyard/HalfCheetah-v5``."""

    batched_class = HalfCheetah


class HalfCheetahVectorEnv(BatchedVectorEnv):
    """``tiltyard/HalfCheetah-v5``, native vector."""

    batched_class = HalfCheetah


class HopperEnv(SingleEnv):
    """``tiltyard/Hopper-v5``."""

    batched_class = Hopper


class HopperVectorEnv(BatchedVectorEnv):
    """``tiltyard/Hopper-v5``, native vector."""

    batched_class = Hopper


class Walker2dEnv(SingleEnv):
    """``tiltyard/Walker2d-v5``."""

    batched_class = Walker2d


class Walker2dVectorEnv(BatchedVectorEnv):
    """``tiltyard/Walker2d-v5``, native vector."""

    batched_class = Walker2d
