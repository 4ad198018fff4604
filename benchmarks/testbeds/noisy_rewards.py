"""Noisy rewards: the best of six-dimensional actions is to be found from few data whose rewards are mostly noise.

Every state has a best action; the mean reward is 1 there and falls with the squared distance to it. Observed rewards
have Gaussian noise, eight times as much in one half of the states as in the other. Critics that fit few noisy data
again and again have errors, the actor moves to where they are largest, and bootstrapping passes them on (Thrun and
Schwartz, Issues in Using Function Approximation for Reinforcement Learning, 1993): values are over-estimated.
"""

from typing import Any

import gymnasium
import numpy as np
import torch as th
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit

from ...agents.control.heads import Gaussian
from .bias import Bias, Judge
from .control import Control, Env, Phase, Trained

QUIET, LOUD, STEPS = 0.5, 4.0, 50
"""Deviations of the rewards' noise in both halves of the states, and steps of an episode."""
OBSERVED, ACTED = 4, 6
BEST = np.random.default_rng(7).normal(0, 0.5, (ACTED, OBSERVED))
"""Of a state x, the best action is BEST x, clipped to 0.8."""
GAMMA = 0.8
LARGEST = 1 / (1 - GAMMA)
"""The value of the best action in every state, without noise and entropy."""
NET_ARCH = [64, 64]
SHARED: dict[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 100,
    "batch_size": 128,
    "gamma": GAMMA,
    "tau": 0.02,
    "buffer_size": 1000,
    "gradient_steps": 10,
    "ent_coef": 0.1,
}


class NoisyRewards(gymnasium.Env[Any, Any]):
    """States move slowly, by chance and with the first four actions; rewards are noisy where the first is above 0.

    Args:
        quiet: deviation of the rewards' noise in states whose first number is at most 0.
        loud: in the others.
    """

    observation_space = Box(-1.0, 1.0, (OBSERVED,), np.float32)
    action_space = Box(-1.0, 1.0, (ACTED,), np.float32)

    def __init__(self, quiet: float = QUIET, loud: float = LOUD) -> None:
        self.quiet, self.loud = quiet, loud
        self.x = np.zeros(OBSERVED)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """In any state."""
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1, OBSERVED)
        return self.x.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """``info`` has the mean reward, without noise."""
        action = np.clip(np.asarray(action, np.float64), -1, 1)
        mean = 1 - float(np.square(action - np.clip(BEST @ self.x, -0.8, 0.8)).mean())
        reward = mean + (self.loud if self.x[0] > 0 else self.quiet) * self.np_random.normal()
        moved = 0.5 * self.x + 0.3 * action[:OBSERVED] + self.np_random.normal(0, 0.5, OBSERVED)
        self.x = np.clip(moved, -1, 1)
        return self.x.astype(np.float32), reward, False, False, {"mean": mean}


def limited() -> Env:
    """What agents train in."""
    return TimeLimit(NoisyRewards(), STEPS)


def deviations(agent: Any) -> dict[str, float]:
    """The mean deviation of returns that Gaussian critics have learnt in both halves of the states; of others nothing.

    They are those of the transitions that the agent has seen.
    """
    if not isinstance(agent.critic.head, Gaussian):
        return {}
    batch = agent.replayed(500)
    with th.no_grad():
        out = agent.critic.outputs(batch.observations, batch.actions)
        sigma, loud = agent.critic.head.deviation(out).mean(dim=0), batch.observations[:, 0] > 0
    return {"loud": float(sigma[loud].mean()), "quiet": float(sigma[~loud].mean())}


def over_estimation(run: Trained[Bias]) -> float:
    """Signed, in percent of the largest value, mean over the moments."""
    return float(np.mean([one.percent(LARGEST) for one in run.scores]))


NOISY = Control(
    env=limited,
    settings={**SHARED, "policy_kwargs": {"net_arch": NET_ARCH, "activation_fn": th.nn.ReLU}},
    phases=(Phase("steps", 250), Phase("steps", 50)),
    score=Judge(NoisyRewards),
    at_end=deviations,
    small={
        "phases": (Phase("steps", 20), Phase("steps", 2)),
        "settings": {**SHARED, "learning_starts": 16, "gradient_steps": 1, "policy_kwargs": {"net_arch": [8]}},
        "score": Judge(NoisyRewards, 2, 12, 4),
    },
)
"""Biases after 1,500 and 2,000 updates from 250 and 300 steps."""
