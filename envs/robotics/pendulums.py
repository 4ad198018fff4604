"""Gymnasium's ``InvertedPendulum-v5`` and ``InvertedDoublePendulum-v5``, batched, the same bit for bit.

A cart on a rail of two metres holds up a pole, or two on top of each other (the first is the task of Barto, Sutton and
Anderson, Neuronlike Adaptive Elements That Can Solve Difficult Learning Control Problems, 1983). Keywords, defaults,
observations, rewards and ends are Gymnasium's (Towers et al., 2024). Added: ``success``, the test split, the expert.
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..core import BatchedVectorEnv, Bools, Floats, Info, SingleEnv
from .batched import BatchedMujoco, check_noise

PENDULUM_CAMERA: Mapping[str, Any] = {"trackbodyid": 0, "distance": 2.04}
SMALL = 1e-6  # step of finite differences


def regulator(model: mujoco.MjModel, frame_skip: int, state_cost: Floats, action_cost: float) -> Floats:
    """The gain ``K`` ``[nu, 2 nv]`` of the linear-quadratic regulator ``u = -K (qpos, qvel)`` about the model's rest.

    The model's own steps are differentiated, and the Riccati equation iterated to its fixed point::

        P = Q + A' P (A - B K)        K = (R + B' P B)^-1 B' P A

    Paper: Contributions to the Theory of Optimal Control (Kalman, 1960), in discrete time.

    Args:
        model: with as many positions as velocities.
        frame_skip: physics steps an action.
        state_cost: the diagonal of ``Q`` ``[2 nv]``.
        action_cost: the diagonal of ``R``.
    """
    data, n = mujoco.MjData(model), 2 * model.nv

    def step(x: Floats) -> Floats:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = model.qpos0 + x[: model.nv]
        data.qvel[:], data.ctrl[:] = x[model.nv : n], x[n:]
        mujoco.mj_step(model, data, nstep=frame_skip)
        return np.concatenate((data.qpos - model.qpos0, data.qvel))

    moves = SMALL * np.eye(n + model.nu)
    slopes = np.stack([(step(move) - step(-move)) / (2 * SMALL) for move in moves], axis=1)
    a, b = slopes[:, :n], slopes[:, n:]
    cost, effort = np.diag(state_cost), action_cost * np.eye(model.nu)
    value, gain = cost, np.zeros((model.nu, n))
    for _ in range(10_000):
        last, gain = gain, np.linalg.solve(effort + b.T @ value @ b, b.T @ value @ a)
        if np.abs(gain - last).max() < 1e-10:
            break
        value = cost + a.T @ value @ (a - b @ gain)
    return gain


class Balancer(BatchedMujoco):
    """A cart that keeps something upright by running along its rail; the episode ends when it falls.

    Success: upright now, ``success_seconds`` or more after the episode began. As only falls and the time limit end an
    episode, at its end that says that nothing fell.
    """

    success_seconds: ClassVar[float] = 10.0
    state_cost: ClassVar[tuple[float, ...]]
    """Of the expert's regulator: positions, then velocities."""
    action_cost: ClassVar[float]

    def __init__(self, num_envs: int, *, reset_noise_scale: float, **simulation: Any) -> None:
        super().__init__(num_envs, **simulation)
        self.reset_noise_scale = check_noise(reset_noise_scale)
        self.observation_space = Box(-np.inf, np.inf, self.observe().shape[1:], np.float64)
        self.terms: dict[str, Floats] = {}

    @abstractmethod
    def upright(self) -> Bools:
        """Environments in which nothing has fallen ``[n]``."""

    def reset_info(self) -> Info:
        """The angles at which the poles begin, radians ``[n, poles]``."""
        return {"pole_angles": self.first_qpos[:, 1:].copy()}

    def step_info(self) -> Info:
        """See the class; the reward's terms also stand at the top level, where Gymnasium has them."""
        long_enough = self.time >= self.success_seconds - 1e-9  # seconds are a sum of steps
        return {
            **super().step_info(),
            **self.terms,
            "reward_terms": dict(self.terms),
            "success": self.upright() & long_enough & ~self.unstable,
        }

    @cached_property
    def _gain(self) -> Floats:
        return regulator(self.model, self.frame_skip, np.array(self.state_cost), self.action_cost)

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """A linear-quadratic regulator, clipped to the space; see :func:`regulator`."""
        low, high = self.model.actuator_ctrlrange.T
        # A plain sum a row, as in LinearPolicy: a matrix product's rounding would hang on how many rows there are.
        push = -(self._motion[:, None, :] * self._gain[None]).sum(axis=2)
        actions: npt.NDArray[np.float32] = push.clip(low, high).astype(np.float32)
        return actions


class InvertedPendulum(Balancer):
    """Gymnasium's ``InvertedPendulum-v5``: one pole; the episode ends when it leans by more than 0.2 rad.

    Reward: ``reward_survive``, 1 for each step after which the pole stands.

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.02 s) an action.
        default_camera_config: attributes of the free camera.
        reset_noise_scale: of the first state, uniform in position and in velocity.
        **simulation: see :class:`BatchedMujoco`.
    """

    state_cost = (1.0, 10.0, 0.1, 0.1)
    action_cost = 0.1

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "inverted_pendulum.xml",
        frame_skip: int = 2,
        default_camera_config: Mapping[str, Any] | None = PENDULUM_CAMERA,
        reset_noise_scale: float = 0.01,
        **simulation: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            reset_noise_scale=reset_noise_scale,
            **simulation,
        )

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """See :meth:`BatchedMujoco.draw`."""
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, self.model.nq), rng.uniform(-scale, scale, self.model.nv)

    def observe(self) -> Floats:
        """Place and angle, and their velocities ``[n, 4]``: metres, radians, seconds."""
        return self._motion.copy()

    def upright(self) -> Bools:
        """See :meth:`Balancer.upright`."""
        lean: Floats = np.abs(self.qpos[:, 1])
        return lean <= 0.2

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        upright = self.upright() & ~self.unstable
        self.terms = {"reward_survive": upright.astype(np.float64)}
        return self.terms["reward_survive"].copy(), ~upright


class InvertedDoublePendulum(Balancer):
    """Gymnasium's ``InvertedDoublePendulum-v5``: two poles; the episode ends when the tip is not above 1 m (of 1.2 m).

    Reward: ``reward_survive`` + ``distance_penalty`` (minus a hundredth of the tip's squared x and the square of how
    far it is below 2 m) + ``velocity_penalty`` (of the poles' turning).

    Args:
        num_envs: number of environments.
        xml_file: the model.
        frame_skip: physics steps (of 0.01 s) an action.
        default_camera_config: attributes of the free camera; Gymnasium's own if not given.
        healthy_reward: a step, while the tip is above 1 m.
        reset_noise_scale: of the first state, uniform in position and normal in velocity.
        **simulation: see :class:`BatchedMujoco`.
    """

    state_cost = (1.0, 10.0, 10.0, 0.1, 0.1, 0.1)
    action_cost = 1.0

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str = "inverted_double_pendulum.xml",
        frame_skip: int = 5,
        default_camera_config: Mapping[str, Any] | None = None,
        healthy_reward: float = 10.0,
        reset_noise_scale: float = 0.1,
        **simulation: Any,
    ) -> None:
        self.healthy_reward = healthy_reward
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            default_camera_config=default_camera_config,
            reset_noise_scale=reset_noise_scale,
            **simulation,
        )

    def sources(self, data: mujoco.MjData) -> tuple[Floats, ...]:
        """Where MuJoCo last placed the tip (x, y, z), and the force of the rail's ends on the cart."""
        return data.site_xpos[0], data.qfrc_constraint[:1]

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """See :meth:`BatchedMujoco.draw`."""
        scale = self.reset_noise_scale
        return rng.uniform(-scale, scale, self.model.nq), rng.standard_normal(self.model.nv) * scale

    def observe(self) -> Floats:
        """Place, sines and cosines of the angles, velocities and the rail's force cut to 10: ``[n, 9]``."""
        angles = np.ascontiguousarray(self.qpos[:, 1:])
        cut = np.clip(self.qvel, -10, 10), np.clip(self.readings[:, 3:], -10, 10)
        return np.concatenate((self.qpos[:, :1], np.sin(angles), np.cos(angles), *cut), axis=1)

    def upright(self) -> Bools:
        """See :meth:`Balancer.upright`."""
        above: Bools = self.readings[:, 2] > 1
        return above

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        upright = self.upright() & ~self.unstable
        # Number by number: Python's power, which Gymnasium's is, may differ from a product in the last bit.
        places, turns = self.readings[:, :3:2].tolist(), self.qvel[:, 1:3].tolist()
        distance = np.array([0.01 * x**2 + (z - 2) ** 2 for x, z in places])
        velocity = np.array([1e-3 * v**2 + 5e-3 * w**2 for v, w in turns])
        survive: Floats = upright.astype(np.float64) * self.healthy_reward
        self.terms = {"reward_survive": survive, "distance_penalty": -distance, "velocity_penalty": -velocity}
        return survive - distance - velocity, ~upright


class InvertedPendulumEnv(SingleEnv):
    """``tiltyard/InvertedPendulum-v5``."""

    batched_class = InvertedPendulum


class InvertedPendulumVectorEnv(BatchedVectorEnv):
    """``tiltyard/InvertedPendulum-v5``, native vector."""

    batched_class = InvertedPendulum


class InvertedDoublePendulumEnv(SingleEnv):
    """``tiltyard/InvertedDoublePendulum-v5``."""

    batched_class = InvertedDoublePendulum


class InvertedDoublePendulumVectorEnv(BatchedVectorEnv):
    """``tiltyard/InvertedDoublePendulum-v5``, native vector."""

    batched_class = InvertedDoublePendulum
