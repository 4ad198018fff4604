"""Pendulum as a real system of gravity 10 with a simulator of gravity 15, and the gap between their dynamics."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.vector import AutoresetMode

from ...agents import make
from ...agents.control.datasets import Transitions
from ...agents.control.h2o import H2O
from ..statistics import Floats
from .control import Control, Phase

TASK, REAL_GRAVITY, SIMULATED_GRAVITY = "Pendulum-v1", 10.0, 15.0
REAL_STEPS = 3000
SHARED: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": 10_000,
    "learning_starts": 500,
    "gradient_steps": 1,
}
NETWORKS = {"net_arch": [64, 64]}
SETTINGS = {**SHARED, "policy_kwargs": NETWORKS}

Array = npt.NDArray[Any]


def pendulum(gravity: float) -> gymnasium.Env[Any, Any]:
    """The task with this gravity."""
    return gymnasium.make(TASK, g=gravity)


def simulator() -> gymnasium.Env[Any, Any]:
    """What agents train in."""
    return pendulum(SIMULATED_GRAVITY)


def real_data(seed: int, steps: int, settings: Mapping[str, Any]) -> Transitions:
    """What SAC saw while it trained ``steps`` steps in reality; stopped about when it first swings up."""
    agent: Any = make("sac", pendulum(REAL_GRAVITY), seed=100 + seed, **{"device": "cpu", **settings})
    buffer = agent.learn(steps).replay_buffer
    n = buffer.size()
    ends = buffer.dones[:n, 0] > 0
    ends[-1] = True
    episodes = np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int64)
    rewards = buffer.rewards[:n, 0].copy()
    return Transitions(
        observations=buffer.observations[:n, 0].copy(),
        actions=agent.policy.unscale_action(buffer.actions[:n, 0]).astype(np.float32),
        rewards=rewards,
        next_observations=buffer.next_observations[:n, 0].copy(),
        terminations=np.zeros(n, np.float32),
        ends=ends,
        episodes=episodes,
        episode_returns=np.bincount(episodes, rewards).astype(np.float64),
    )


@lru_cache(maxsize=128)
def replayed(seed: int) -> Transitions:
    """The real data of a seed, the same for all conditions."""
    return real_data(seed, REAL_STEPS, SETTINGS)


@dataclass(frozen=True)
class RealReturn:
    """Scores an agent by the mean return of its deterministic policy in reality.

    Attributes:
        episodes: played.
        steps: of each.
    """

    episodes: int = 20
    steps: int = 200

    def __call__(self, agent: Any, seed: int) -> float:
        """See the class."""
        same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
        env = gymnasium.make_vec(TASK, self.episodes, "sync", vector_kwargs=same_step, g=REAL_GRAVITY)
        observations, _ = env.reset(seed=10_000 + 100 * seed)
        total = np.zeros(self.episodes)
        for _ in range(self.steps):
            actions, _ = agent.predict(observations, deterministic=True)
            observations, rewards, _, _, _ = env.step(actions)
            total += rewards
        env.close()
        return float(total.mean())


def true_errors(observations: Array, actions: Array, next_observations: Array) -> Floats:
    """How far each simulated next observation is from what reality would have shown, ``[N]``.

    Args:
        observations: ``[N, 3]`` cos, sin and speed of the angle.
        actions: ``[N, 1]`` in the task's units.
        next_observations: ``[N, 3]`` of the simulator.
    """
    env: Any = pendulum(REAL_GRAVITY).unwrapped
    env.reset(seed=0)
    found = []
    for (cosine, sine, speed), action, simulated in zip(observations, actions, next_observations, strict=True):
        env.state = np.array([np.arctan2(sine, cosine), speed])
        found.append(np.linalg.norm(env.step(action)[0] - simulated))
    return np.array(found)


@dataclass(frozen=True)
class GapCorrelations:
    """Rank correlation of H2O's two measures of the dynamics gap with the true one; of other agents nothing.

    The next states that its u is averaged over should be drawn near the simulator's (``next_state_scale=0.03``): with
    deviations of the size of the data's own they are as improbable in reality as in the simulator.

    Attributes:
        judged: transitions that the simulator made.
    """

    judged: int = 1000

    def __call__(self, agent: Any) -> dict[str, float]:
        """See the class."""
        if not isinstance(agent, H2O):
            return {}
        batch = agent.replayed(self.judged)
        transitions = (batch.observations, batch.actions, batch.next_observations)
        with th.no_grad():
            gap = agent.dynamics_gap(*transitions).numpy()
            ratio = -agent.discriminators.log_ratio(*transitions).numpy()
        actions = agent.policy.unscale_action(batch.actions.numpy())
        errors = true_errors(batch.observations.numpy(), actions, batch.next_observations.numpy())
        return {"u(s, a)": rank_correlation(gap, errors), "-log ratio(s'|s, a)": rank_correlation(ratio, errors)}


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's, of values without ties."""
    first, second = (np.argsort(np.argsort(values)) - (len(values) - 1) / 2 for values in (one, other))
    return float((first * second).sum() / (first**2).sum())


REALITY_GAP = Control(
    env=simulator,
    settings=SETTINGS,
    data=replayed,
    phases=(Phase("steps", 5000), Phase("steps", 500), Phase("steps", 500)),
    score=RealReturn(),
    at_end=GapCorrelations(),
    small={
        "settings": {**SETTINGS, "learning_starts": 8},
        "data": lambda seed: real_data(seed, 210, {**SHARED, "learning_starts": 300}),
        "score": RealReturn(2, 5),
        "at_end": GapCorrelations(10),
    },
)
"""Agents learn in the simulator, with real data at hand; scores are in reality, three at the end."""
