"""A linear-quadratic regulator for policy gradients: linear Gaussian policies, few trajectories an update."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from scipy.linalg import solve_discrete_are

from ...agents import make
from .control import Agent, Trained

Floats = npt.NDArray[np.float64]
DYNAMICS, INPUT = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [0.1]])
STATE_COST, INPUT_COST, NOISE = np.eye(2), 0.1 * np.eye(1), 0.02
"""A double integrator of steps of 0.1: place and speed, pushed; costs of both and of the push."""
SETTINGS: dict[str, Any] = {"gamma": 0.99, "policy_kwargs": {"net_arch": []}}


class Regulators(VectorEnv[Any, Any, Any]):
    """Several double integrators side by side, to be brought to rest at 0.

    Args:
        num_envs: regulators.
        steps: of an episode.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, *, steps: int = 30) -> None:
        self.num_envs, self.steps = num_envs, steps
        self.single_observation_space = Box(-1e3, 1e3, (2,), np.float32)
        self.single_action_space = Box(-1e3, 1e3, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws = np.random.default_rng()
        self.state, self.step_count = np.zeros((num_envs, 2)), 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """From places and speeds in [-1, 1]; with ``seed`` (one, or one a regulator) the draws begin anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2302, *np.atleast_1d(np.asarray(seed, np.int64))])
        self.state, self.step_count = self.draws.uniform(-1, 1, (self.num_envs, 2)), 0
        return self.state.astype(np.float32), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all; they end together."""
        pushed = np.asarray(actions, np.float64)
        cost = ((self.state @ STATE_COST) * self.state).sum(axis=1) + ((pushed @ INPUT_COST) * pushed).sum(axis=1)
        self.state = self.state @ DYNAMICS.T + pushed @ INPUT.T + NOISE * self.draws.normal(size=self.state.shape)
        self.state = self.state.clip(-1e3, 1e3)
        self.step_count += 1
        seen, ended, info = self.state.astype(np.float32), self.step_count == self.steps, {}
        if ended:
            every, final = np.ones(self.num_envs, np.bool_), np.empty(self.num_envs, object)
            final[:] = list(seen)
            info = {"final_obs": final, "_final_obs": every, "final_info": {}, "_final_info": every}
            seen, _ = self.reset()
        done = np.full(self.num_envs, ended)
        return seen, (-cost / self.steps).astype(np.float32), done, np.zeros_like(done), info


class Linear:
    """The policy u = -K x.

    Args:
        gain: K, ``[1, 2]``.
    """

    def __init__(self, gain: Floats) -> None:
        self.gain = gain

    def predict(self, observations: Any, deterministic: bool = True) -> tuple[Any, None]:
        """As of SB3's policies."""
        return -np.asarray(observations) @ self.gain.T, None


@lru_cache
def best_gain() -> Floats:
    """The optimal gain of an endless episode, by Riccati's equation."""
    value = solve_discrete_are(DYNAMICS, INPUT, STATE_COST, INPUT_COST)
    found: Floats = np.linalg.solve(INPUT_COST + INPUT.T @ value @ INPUT, INPUT.T @ value @ DYNAMICS)
    return found


@dataclass(frozen=True, kw_only=True)
class LinearQuadratic:
    """The testbed: scores are 0 for doing nothing and 1 for Riccati's policy.

    Attributes:
        trajectories: an iteration.
        steps: of a trajectory.
        learnt: trajectories in all.
        moments: at which agents are scored, evenly.
        tests: episodes of a score.
        settings: of all agents.
    """

    trajectories: int = 2
    steps: int = 30
    learnt: int = 360
    moments: int = 6
    tests: int = 64
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def returns(self, policy: Any) -> float:
        """The mean return of test episodes."""
        env, total = Regulators(self.tests, steps=self.steps), 0.0
        seen, _ = env.reset(seed=1_000_000)
        for _ in range(self.steps):
            seen, rewards, *_ = env.step(policy.predict(seen, deterministic=True)[0])
            total += float(rewards.mean())
        return total

    def score(self, policy: Any) -> float:
        """In units of what there is to gain; not below -1, where policies are unstable."""
        idle, best = self.returns(Linear(np.zeros((1, 2)))), self.returns(Linear(best_gain()))
        return max(-1.0, (self.returns(policy) - idle) / (best - idle))

    def run(self, condition: Agent, rate: float, seed: int) -> Trained[float]:
        """Trains a condition."""
        settings = {**self.settings, **condition.settings, "learning_rate": rate, "n_steps": self.steps}
        env = Regulators(self.trajectories, steps=self.steps)
        agent: Any = make(condition.name, env, seed=seed, device="cpu", **settings)
        scores = []
        for _ in range(self.moments):
            agent.learn(self.steps * self.learnt // self.moments, reset_num_timesteps=False)
            scores.append(self.score(agent))
        return Trained(scores)

    def smallest(self) -> Self:
        """A few trajectories."""
        return replace(self, learnt=16, moments=2, tests=4)
