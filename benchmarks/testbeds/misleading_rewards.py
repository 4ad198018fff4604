"""A line with a goal at one end, and heuristics of a designer: one points to the goal, one to the other end.

The primary reward is paid once, at the goal. A heuristic is a number a place, paid at every step, or the potential of
shaping; the misleading one pays more for waiting at the wrong end than the goal does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch as th

from ...agents import make
from ...wrappers import VectorPotentialShaping
from ..sqirl import Tabular
from ..statistics import Floats
from .tabular import Processes, slippery

SETTINGS: dict[str, Any] = {"gamma": 0.95, "ent_coef": 0.01, "policy_kwargs": {"net_arch": []}}
HEURISTICS = ("helpful", "misleading")
PAY = 0.1
"""The most that a heuristic pays a step."""


def line(length: int, horizon: int, start: int) -> Tabular:
    """Left or right on a line whose right end pays 1 once; afterwards nothing happens any more.

    Which action goes right alternates from place to place, so that one preference for all places goes nowhere.
    """
    states = length + 1
    transitions, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for place in range(length - 1):
        transitions[place, place % 2, max(place - 1, 0)] = transitions[place, 1 - place % 2, place + 1] = 1
    transitions[length - 1 :, :, length] = 1
    rewards[length - 1] = 1
    return Tabular(slippery(transitions), rewards, horizon=horizon, start=start)


def heuristic(name: str, length: int) -> Floats:
    """What is paid a step, ``[length + 1]``: more towards the goal and as much after it, or at the left end alone."""
    if name == "helpful":
        return np.asarray(PAY * np.minimum(np.arange(length + 1) / (length - 1), 1.0))
    return np.asarray(PAY * (np.arange(length + 1) == 0))


class Designed(NamedTuple):
    """How a condition uses a heuristic, if at all; what it learns with is always the agent ``barfi``."""

    added: bool = False
    potential: bool = False
    learnt: bool = False


class Learnt(NamedTuple):
    """Of one heuristic: primary returns after each part of training, and the mean weight of the heuristic at last."""

    returns: Floats  # [moments], in units of the best
    weight: float


@dataclass(frozen=True, kw_only=True)
class MisleadingRewards:
    """The testbed.

    Attributes:
        length: places.
        horizon: steps of an episode.
        start: place of the start, near the wrong end.
        num_envs: episodes of an iteration.
        iterations: of training.
        moments: at which the deterministic policy is evaluated exactly.
        settings: of all.
    """

    length: int = 11
    horizon: int = 16
    start: int = 2
    num_envs: int = 8
    iterations: int = 60
    moments: int = 10
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def learn(self, condition: Designed, name: str, rate: float, seed: int) -> Learnt:
        """Trains with one heuristic."""
        mdp, paid = line(self.length, self.horizon, self.start), heuristic(name, self.length)
        env: Any = Processes(self.num_envs, mdp)
        observed, states = env.observed, mdp.size[0]
        if condition.potential:
            env = VectorPotentialShaping(env, lambda seen: seen[:, :states] @ paid, gamma=self.settings["gamma"])
        settings = {**self.settings, "n_steps": self.horizon, "learning_rate": rate}
        settings |= {} if condition.learnt else {"reward_learning_rate": 0.0}
        agent: Any = make("barfi", env, seed=seed, device="cpu", **settings)
        weights = th.as_tensor(paid, dtype=th.float32)
        if condition.added:
            agent.auxiliary = lambda seen, actions: seen[:, :states] @ weights
        every, returns = np.arange(states), []
        for _ in range(self.moments):
            agent.learn(self.num_envs * self.horizon * self.iterations // self.moments, reset_num_timesteps=False)
            seen = np.concatenate([observed(every, step) for step in range(self.horizon)])
            policy = agent.predict(seen, deterministic=True)[0].reshape(self.horizon, -1)
            returns.append(mdp.returns(policy) / mdp.optimum())
        weight = float(agent.alignment.weights(th.as_tensor(seen))[:, 2].mean().detach())
        return Learnt(np.array(returns), weight)

    def run(self, condition: Designed, rate: float, seed: int) -> dict[str, Learnt]:
        """Trains with each heuristic."""
        return {name: self.learn(condition, name, rate, seed) for name in HEURISTICS}

    def smallest(self) -> Self:
        """Few iterations of few episodes."""
        return replace(self, iterations=2, moments=2, num_envs=2)
