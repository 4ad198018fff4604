"""River swim with continuous actions: a small reward at the near bank, a large one against the current at the far bank.

After RiverSwim of Strehl and Littman, An analysis of model-based interval estimation for Markov decision processes
(2008), whose six states are an interval here, and whose two actions a velocity.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from .control import Agent, Control, Trained, evenly

NEAR, FAR = 0.005, 1.0
"""Rewards a step at either bank, as of the original, where they are 5 and 10,000 (of which here is less)."""
SETTINGS: dict[str, Any] = {
    "batch_size": 64,
    "buffer_size": 10_000,
    "learning_starts": 200,
    "gamma": 0.97,
    "tau": 0.01,
    "policy_kwargs": {"net_arch": [32, 32]},
}


class River(gymnasium.Env[Any, Any]):
    """Place in [0, 1], from 0; an action in [-1, 1] moves by a tenth of it, less the current, with some noise.

    Args:
        current: taken off every step.
        steps: of an episode.
    """

    observation_space = Box(0, 1, (1,), np.float32)
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, current: float = 0.03, steps: int = 40) -> None:
        self.current, self.steps = current, steps

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """At the near bank."""
        super().reset(seed=seed)
        self.place, self.step_count = 0.0, 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Moves; pays within a twentieth of a bank."""
        moved = 0.1 * float(action[0]) - self.current + 0.02 * self.np_random.normal()
        self.place = float(np.clip(self.place + moved, 0, 1))
        self.step_count += 1
        reward = FAR if self.place >= 0.95 else NEAR if self.place <= 0.05 else 0.0
        return self._seen(), reward, False, self.step_count >= self.steps, {}

    def _seen(self) -> Any:
        return np.array([self.place], np.float32)


class Upstream:
    """The best policy: always against the current."""

    def predict(self, observation: Any, deterministic: bool = True) -> tuple[Any, None]:
        """As of SB3's policies."""
        return np.ones(1, np.float32), None


def mean_return(policy: Any, episodes: int, steps: int) -> float:
    """Of test episodes, which no agent trains on."""
    env, total = River(steps=steps), 0.0
    for seed in range(1_000_000, 1_000_000 + episodes):
        seen, over = env.reset(seed=seed)[0], False
        while not over:
            seen, reward, _, over, _ = env.step(policy.predict(seen, deterministic=True)[0])
            total += reward
    return total / episodes


@dataclass(frozen=True, kw_only=True)
class RiverSwim:
    """The testbed: scores are returns in units of the best policy's.

    Attributes:
        settings: of all agents.
        learnt: steps in the environment.
        moments: at which agents are scored, evenly.
        steps: of an episode.
        episodes: of a score.
    """

    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)
    learnt: int = 2000
    moments: int = 4
    steps: int = 40
    episodes: int = 5

    def score(self, agent: Any, seed: int) -> float:
        """The mean return over the best policy's."""
        best = mean_return(Upstream(), self.episodes, self.steps)
        return mean_return(agent, self.episodes, self.steps) / best if best else 0.0

    def run(self, condition: Agent, rate: float, seed: int) -> Trained[float]:
        """Trains a condition."""
        bed = Control(
            env=lambda: River(steps=self.steps),
            settings=self.settings,
            phases=evenly(self.learnt, self.moments),
            score=self.score,
        )
        return bed.run(condition, rate, seed)

    def smallest(self) -> Self:
        """Hardly any updates."""
        return replace(self, settings={**self.settings, "learning_starts": 8}, learnt=16, moments=2, episodes=1)
