"""One-step problems whose best action is known, for agents that learn from data."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.datasets import Transitions


class Match(gymnasium.Env[Any, Any]):
    """An episode is one step: the action should equal what is seen."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seen = self.np_random.uniform(-1, 1, 2)[1:].astype(np.float32)  # not what random actions of this seed are
        return self.seen, {}

    def step(self, action: Any) -> Any:
        return self.seen, -float((action[0] - self.seen[0]) ** 2), True, False, {}


class MatchProblem:
    """The environment, data of uniformly random actions in it, and how far a policy is from the best one."""

    env = Match

    def data(self, n: int = 2000, seed: int = 7) -> Transitions:
        """``n`` episodes; the best action for what is seen is as likely as any."""
        rng = np.random.default_rng(seed)
        observations, actions = (rng.uniform(-1, 1, (n, 1)).astype(np.float32) for _ in range(2))
        rewards = -((actions - observations) ** 2)[:, 0]
        every = np.ones(n, np.bool_)
        return Transitions(
            observations,
            actions,
            rewards,
            observations,
            every.astype(np.float32),
            every,
            np.arange(n),
            rewards.astype(float),
        )

    def error(self, agent: Any) -> float:
        """Mean squared distance to the best action over evenly spaced sights; 1/3 for one that always does 0."""
        seen = np.linspace(-1, 1, 201, dtype=np.float32)[:, None]
        with th.no_grad():
            actions, _ = agent.predict(seen, deterministic=True)
        return float(((actions - seen) ** 2).mean())


@pytest.fixture
def match() -> MatchProblem:
    return MatchProblem()
