"""Gymnasium's ``Ant-v5``, batched, with the same numbers bit for bit: see :mod:`.locomotion`.

The task is of Schulman et al., High-Dimensional Continuous Control Using Generalized Advantage Estimation, 2015. It
pays one a step for merely standing, about 1000 an episode; success is therefore a matter of distance alone.

No wheel that Tiltyard depends on holds the model of a quadruped robot, so that none is offered: Ant stands for one, at
the conditions of D5RL (Rafailov et al., D5RL: Diverse Datasets for Data-Driven Deep Reinforcement Learning, 2024) where
these carry over to it. D5RL's legged tasks are a simulated Unitree A1 (authors' code, ``legged_mujoco``). Alike are 20
actions a second, states instead of images, and agents that learn from a dataset first and in the environment then. Not
alike are the A1's twelve joints, whose actions are wanted angles and not torques; its reward, for keeping one walking
speed in a given posture, less the energy spent; its end, a tilt of 60 degrees; and its bumps and ramps. Its randomised
friction and mass are :class:`~tiltyard.wrappers.RandomPhysics` here.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ... import unknown
from ..core import BatchedVectorEnv, Bools, Floats, Info, SingleEnv
from .locomotion import Runner

ANT_CAMERA: Mapping[str, Any] = {"distance": 4.0}


class Roamer(Runner):
    """A runner that is free to move in space. Its speed is that of a point, which :meth:`read` keeps first: x and y.

    Reward: that of :class:`Runner`, with the speed of that point, and what a task adds.
    """

    places = 2

    def __init__(self, num_envs: int, *, healthy_reward: float, terminate_when_unhealthy: bool, **runner: Any) -> None:
        super().__init__(num_envs, **runner)
        self.healthy_reward = healthy_reward
        self.terminate_when_unhealthy = terminate_when_unhealthy
        self.y_velocity: Floats = np.zeros(num_envs)
        self._before: Floats = self.readings[:, :2]

    @abstractmethod
    def healthy(self) -> Bools:
        """Whether the body is held as it should be."""

    def fallen(self) -> Bools:
        """Not healthy."""
        return ~self.healthy()

    def advance(self, actions: npt.NDArray[np.floating], active: Bools) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.advance`."""
        self._before = self.readings[:, :2].copy()
        return super().advance(actions, active)

    def place(self) -> Info:
        """Where the body is on the floor, and how far from where the model stands."""
        plane = self.qpos[:, :2]
        distance = np.sqrt(np.vecdot(plane, plane))
        return {"x_position": plane[:, 0].copy(), "y_position": plane[:, 1].copy(), "distance_from_origin": distance}

    def step_info(self) -> Info:
        """See :meth:`Runner.step_info`."""
        return {**super().step_info(), "y_velocity": self.y_velocity}

    def measure(self) -> tuple[Floats, Floats, Bools]:
        """Takes the speeds of the last step; ``reward_forward`` and ``reward_survive`` ``[n]``, and who is healthy."""
        self.x_velocity, self.y_velocity = ((self.readings[:, :2] - self._before) / self.dt).T.copy()
        healthy = self.healthy() & ~self.unstable
        survive: Floats = healthy.astype(np.float64) * self.healthy_reward
        return self.x_velocity * self.forward_reward_weight, survive, healthy


class Ant(Roamer):
    """A ball on four legs of two joints each, eight motors, free to move in space; the episode ends when it falls.

    Reward: that of :class:`Runner`, with the speed of ``main_body``, + ``reward_survive`` (while healthy) +
    ``reward_contact`` (minus weight times the squared contact forces, each cut to ``contact_force_range``).

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.01 s) an action.
        default_camera_config: attributes of the free camera.
        forward_reward_weight: of the forward speed in the reward.
        ctrl_cost_weight: of the squared action in the reward.
        contact_cost_weight: of the squared contact forces in the reward.
        healthy_reward: a step, while healthy.
        main_body: number or name of the body whose speed is paid.
        terminate_when_unhealthy: whether a fall ends the episode.
        healthy_z_range: closed interval of the torso's height in metres.
        contact_force_range: what the torques (Nm) and forces (N) of contact are cut to.
        reset_noise_scale: of the first state, uniform in position and normal in velocity.
        exclude_current_positions_from_observation: whether x and y are hidden.
        include_cfrc_ext_in_observation: whether the contact forces are seen, torque and force of every body.
        **simulation: see :class:`BatchedMujoco`.
    """

    success_distance = 25.0
    expert_name = "ant"
    expert_hertz = 2.2

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "ant.xml",
        frame_skip: int = 5,
        default_camera_config: Mapping[str, Any] | None = ANT_CAMERA,
        forward_reward_weight: float = 1,
        ctrl_cost_weight: float = 0.5,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        main_body: int | str = 1,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **simulation: Any,
    ) -> None:
        self.main_body = main_body
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
        self.healthy_z_range = healthy_z_range
        self.contact_force_range = contact_force_range
        self.include_cfrc_ext_in_observation = include_cfrc_ext_in_observation
        self.observation_space = Box(-np.inf, np.inf, self.observe().shape[1:], np.float64)

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        """See :meth:`BatchedMujoco.build_model`; refuses a ``main_body`` that the model does not have."""
        model = super().build_model(xml_file)
        names = [model.body(i).name for i in range(model.nbody)]
        if isinstance(self.main_body, str):
            if self.main_body not in names:
                raise ValueError(unknown("main_body", self.main_body, filter(None, names)))
        elif not 0 <= self.main_body < model.nbody:
            raise ValueError(f"main_body must be a name, or a number from 0 to {model.nbody - 1}, got {self.main_body}")
        return model

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """See :meth:`BatchedMujoco.draw`."""
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, self.model.nq), scale * rng.standard_normal(self.model.nv)

    def sources(self, data: mujoco.MjData) -> tuple[Floats, ...]:
        """Where the main body was when MuJoCo last placed it (x, y), and torque and force of contact on every body."""
        return data.xpos[self.model.body(self.main_body).id, :2], data.cfrc_ext

    @property
    def contact_forces(self) -> Floats:
        """``[n, 6 * bodies]``, the world first, cut to ``contact_force_range``."""
        return np.clip(self.readings[:, 2:], *self.contact_force_range)

    def observe(self) -> Floats:
        """Positions (without x and y, unless asked for), velocities, and contact forces if asked for."""
        if not self.include_cfrc_ext_in_observation:
            return super().observe()
        return np.concatenate((super().observe(), self.contact_forces[:, 6:]), axis=1)

    def healthy(self) -> Bools:
        """Whether the torso's height lies inside its range, in a state of finite numbers."""
        low, high = self.healthy_z_range
        z = self.qpos[:, 2]
        sound: Bools = np.isfinite(self._motion).all(axis=1)
        return sound & (low <= z) & (z <= high)

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        super().score(actions, qpos_before)
        forward, survive, healthy = self.measure()
        contact = self.contact_cost_weight * np.sum(np.square(self.contact_forces), axis=1)
        control = self.terms["reward_ctrl"]
        self.terms = {
            "reward_forward": forward,
            "reward_ctrl": control,
            "reward_contact": -contact,
            "reward_survive": survive,
        }
        return forward + survive - (contact - control), ~healthy & self.terminate_when_unhealthy


class AntEnv(SingleEnv):
    """``tiltyard/Ant-v5``."""

    batched_class = Ant


class AntVectorEnv(BatchedVectorEnv):
    """``tiltyard/Ant-v5``, native vector."""

    batched_class = Ant
