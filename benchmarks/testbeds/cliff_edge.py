"""A walk along a cliff: the nearer to the edge the better, and how near is safe depends on how wrong the eyes are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ...agents import make
from ..statistics import Floats

EPSILON = 0.4
"""Radius of attacks."""
SPEED, NOISE, FALLEN = 0.2, 0.03, 2.0
"""A step at most, what is added to it by chance, and what is observed after a fall."""
SETTINGS: dict[str, Any] = {
    **{"batch_size": 256, "norm_obs": False, "norm_reward": False, "epsilon": EPSILON, "n_policies": 3},
    **{"return_low": 0.0, "return_high": 1.0, "policy_kwargs": {"net_arch": [16]}},
}


class Cliff(VectorEnv[Any, Any, Any]):
    """Several walkers, who see how far from safe ground they are; the edge is at 1.

    A step pays the distance over the length of the episode, and nothing after a fall.

    Args:
        num_envs: walkers.
        steps: of an episode.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, *, steps: int = 16) -> None:
        self.num_envs, self.steps = num_envs, steps
        self.single_observation_space = Box(-10.0, 10.0, (1,), np.float32)
        self.single_action_space = Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws = np.random.default_rng()
        self.place, self.step_count = np.zeros(num_envs), 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """From safe ground; with ``seed`` (one, or one a walker) the draws begin anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2402, *np.atleast_1d(np.asarray(seed, np.int64))])
        self.place, self.step_count = self.draws.uniform(0, 0.3, self.num_envs), 0
        return self._seen(), {}

    def _seen(self) -> npt.NDArray[np.float32]:
        return self.place[:, None].astype(np.float32)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all; they end together."""
        alive = self.place <= 1
        way = SPEED * np.clip(np.asarray(actions, np.float64)[:, 0], -1, 1) + NOISE * self.draws.normal(size=alive.size)
        self.place = np.where(alive, np.maximum(self.place + way, 0), FALLEN)
        fell = alive & (self.place > 1)
        self.place[fell] = FALLEN
        rewards = np.where(self.place <= 1, self.place, 0) / self.steps
        self.step_count += 1
        seen, ended, info = self._seen(), self.step_count == self.steps, {}
        if ended:
            every, final = np.ones(self.num_envs, np.bool_), np.empty(self.num_envs, object)
            final[:] = list(seen)
            info = {"final_obs": final, "_final_obs": every, "final_info": {}, "_final_info": every}
            seen, _ = self.reset()
        done = np.full(self.num_envs, ended)
        return seen, rewards.astype(np.float32), done, np.zeros_like(done), info


Eyes = Callable[[Any, np.random.Generator], Any]
ATTACKS: dict[str, Eyes] = {
    "none": lambda seen, rng: seen,
    "random": lambda seen, rng: seen + rng.uniform(-EPSILON, EPSILON, seen.shape),
    "half": lambda seen, rng: seen - EPSILON / 2,
    "full": lambda seen, rng: seen - EPSILON,
    "other way": lambda seen, rng: seen + EPSILON,
}
"""Of a test: what is seen in place of the observation, never more than epsilon away."""


class Condition(NamedTuple):
    """What differs from the agent's settings, and whether the bandit acts or the last policy alone."""

    n_policies: int
    first: str
    adapts: bool


class Defended(NamedTuple):
    """Of a run."""

    returns: dict[str, float]  # by attack, mean over the episodes of a test, adaptation included
    each: dict[str, Floats]  # by attack, [policies]


@dataclass(frozen=True, kw_only=True)
class CliffEdge:
    """The testbed.

    Attributes:
        num_envs: walkers.
        steps: of an episode.
        timesteps: of training in all, shared evenly among policies.
        rounds: episodes of a test against each attack, in which the bandit adapts.
        settings: of all.
    """

    num_envs: int = 32
    steps: int = 16
    timesteps: int = 90_000
    rounds: int = 200
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def run(self, condition: Condition, rate: float, seed: int) -> Defended:
        """Trains, and tests against every attack."""
        settings = {**self.settings, "n_steps": self.steps, "learning_rate": rate, "bandit_rounds": self.rounds}
        settings |= {"n_policies": condition.n_policies, "first": condition.first}
        settings |= {"policy_timesteps": self.timesteps // condition.n_policies}
        agent: Any = make("protected", Cliff(self.num_envs, steps=self.steps), seed=seed, device="cpu", **settings)
        agent.learn(self.timesteps)
        policies = [agent.member(index) for index in range(len(agent.members) + 1)]
        tables = {name: np.stack([self.play(one, eyes, seed) for one in policies]) for name, eyes in ATTACKS.items()}
        means = {name: table.mean(axis=1) for name, table in tables.items()}
        if not condition.adapts:
            return Defended({name: float(mean[-1]) for name, mean in means.items()}, means)
        return Defended({name: self.adapt(agent, table) for name, table in tables.items()}, means)

    def play(self, policy: Any, eyes: Eyes, seed: int) -> Floats:
        """Returns ``[rounds]`` of a policy under an attack."""
        env, rng, total = Cliff(self.rounds, steps=self.steps), np.random.default_rng([2402, seed]), np.zeros(1)
        seen, _ = env.reset(seed=[1_000_000, seed])
        for _ in range(self.steps):
            seen, rewards, *_ = env.step(policy.predict(eyes(seen, rng).astype(np.float32), deterministic=True)[0])
            total = total + rewards
        return total

    def adapt(self, agent: Any, table: Floats) -> float:
        """The mean return of the bandit's choices, which begins anew; ``table`` ``[policies, rounds]``."""
        agent.logits.zero_()
        earned = []
        for of_each in table.T:
            earned.append(float(of_each[agent.begin_episode()]))
            agent.end_episode(earned[-1])
        return float(np.mean(earned))

    def smallest(self) -> Self:
        """A few steps."""
        return replace(self, num_envs=4, timesteps=3 * 4 * 16, rounds=4)
