"""Combination lock with rich observations: one action of several leads on at each step, and only the last step pays.

After the continuous lock of Zhou et al., Offline Data Enhanced On-Policy Policy Gradient with Provable Guarantees
(2023), section 6 and lock_continuous.py of the authors' code, smaller; there is a dataset of its nearly good policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from scipy.linalg import hadamard

from ...agents import make
from ...agents.control.datasets import Transitions
from .control import Agent, Trained

Floats = npt.NDArray[np.float64]
TEMPERATURE, NOISE, ANTI_REWARD = 0.1, 0.1, 0.1
"""Of the softmax over an action's numbers; of observations; and what half of the episodes that failed earn."""


class Locks(VectorEnv[Any, Any, Any]):
    """Several locks of one combination side by side.

    A latent state is A, B or failed. At step h one of ``choices`` actions, another in A than in B, leads to A or B, a
    coin says which, and all others to failure for good. An action is ``choices`` numbers in [0, 1], of whose softmax
    the choice is drawn. The observation is a Hadamard matrix times the state and the step, both one-hot, with noise.

    Args:
        num_envs: locks.
        horizon: steps of an episode.
        choices: actions.
        combination: seed of the good actions.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, *, horizon: int = 5, choices: int = 4, combination: int = 0) -> None:
        self.num_envs, self.horizon, self.choices = num_envs, horizon, choices
        rng = np.random.default_rng([2311, combination])
        self.good = rng.integers(choices, size=(2, horizon))  # of A and B at each step
        self.width = 1 << int(np.ceil(np.log2(horizon + 4)))
        self.rotation = hadamard(self.width)
        limit = 2.0 * self.width
        self.single_observation_space = Box(-limit, limit, (self.width,), np.float32)
        self.single_action_space = Box(0.0, 1.0, (choices,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws = np.random.default_rng()
        self.state = np.zeros(num_envs, np.int64)
        self.step_count = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """All at the first step, in A or B; with ``seed`` (one, or one a lock) the stream of draws begins anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2311, *np.atleast_1d(np.asarray(seed, np.int64))])
        self.state, self.step_count = self.draws.integers(2, size=self.num_envs), 0
        return self._seen(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all; they end together."""
        logits = np.asarray(actions, np.float64) / TEMPERATURE
        chosen = (logits + self.draws.gumbel(size=logits.shape)).argmax(axis=1)
        held = self.holds(chosen)
        self.state = np.where(held, self.draws.integers(2, size=self.num_envs), 2)
        self.step_count += 1
        seen, ended = self._seen(), self.step_count == self.horizon
        rewards, info = np.zeros(self.num_envs), {}
        if ended:
            consolation = ANTI_REWARD * self.draws.integers(2, size=self.num_envs)
            rewards = np.where(held, 1.0, consolation)
            every = np.ones(self.num_envs, np.bool_)
            final = np.empty(self.num_envs, object)
            final[:] = list(seen)
            info = {"final_obs": final, "_final_obs": every, "final_info": {}, "_final_info": every}
            seen, _ = self.reset()
        done = np.full(self.num_envs, ended)
        return seen, rewards.astype(np.float32), done, np.zeros_like(done), info

    def holds(self, chosen: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which locks the choices ``[n]`` keep from failure."""
        found: npt.NDArray[np.bool_] = (self.state < 2) & (chosen == self.best())
        return found

    def best(self) -> npt.NDArray[np.int64]:
        """The good choices ``[n]``; of failed locks any."""
        found: npt.NDArray[np.int64] = self.good[np.minimum(self.state, 1), self.step_count]
        return found

    def _seen(self) -> Any:
        latent = np.zeros((self.num_envs, self.width))
        latent[:, : 3 + self.horizon] = NOISE * self.draws.normal(size=(self.num_envs, 3 + self.horizon))
        latent[np.arange(self.num_envs), self.state] += 1
        latent[:, 3 + self.step_count] += 1
        return (latent @ self.rotation).astype(np.float32)


@lru_cache(maxsize=4)
def nearly_good(episodes: int, horizon: int, choices: int, combination: int) -> Transitions:
    """Episodes of the good policy, which at each step acts at random with probability 1 / horizon, as the authors'."""
    env, rng = Locks(episodes, horizon=horizon, choices=choices, combination=combination), np.random.default_rng(7)
    found, (seen, _) = [], env.reset(seed=combination)
    for _ in range(horizon):
        actions = np.eye(choices)[env.best()]
        stray = rng.random(episodes) < 1 / horizon
        actions[stray] = rng.random((int(stray.sum()), choices))
        after, rewards, done, _, info = env.step(actions)
        last = np.stack(list(info["final_obs"])) if done[0] else after
        found.append((seen, actions, rewards, last, done))
        seen = after
    observations, acted, paid, following, ended = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    n = episodes * horizon
    return Transitions(
        observations=observations.reshape(n, -1).astype(np.float32),
        actions=acted.reshape(n, -1).astype(np.float32),
        rewards=paid.reshape(n).astype(np.float32),
        next_observations=following.reshape(n, -1).astype(np.float32),
        terminations=ended.reshape(n).astype(np.float32),
        ends=ended.reshape(n),
        episodes=np.arange(n) // horizon,
        episode_returns=paid.sum(axis=1, dtype=np.float64),
    )


@dataclass(frozen=True, kw_only=True)
class CombinationLock:
    """The testbed; a seed is also that of the combination.

    Attributes:
        horizon: steps of an episode.
        choices: actions.
        num_envs: locks side by side.
        episodes: of the dataset.
        learnt: steps in the environment.
        moments: at which agents are scored, evenly.
        tests: episodes of a score.
        settings: of all agents.
    """

    horizon: int = 10
    choices: int = 4
    num_envs: int = 64
    episodes: int = 2000
    learnt: int = 15_360
    moments: int = 8
    tests: int = 256
    settings: Mapping[str, Any] = field(default_factory=dict)

    def locks(self, num_envs: int, seed: int) -> Locks:
        """The environment."""
        return Locks(num_envs, horizon=self.horizon, choices=self.choices, combination=seed)

    def score(self, policy: Any, seed: int) -> float:
        """Share of episodes that the policy, exploring as it was taught, keeps from failure to the end."""
        env = self.locks(self.tests, seed)
        seen, _ = env.reset(seed=1_000_000 + seed)
        for _ in range(self.horizon):
            seen, rewards, *_ = env.step(policy.predict(seen, deterministic=True)[0])
        return float((rewards == 1.0).mean())

    def run(self, condition: Agent, rate: float, seed: int) -> Trained[float]:
        """Trains a condition."""
        settings = {**self.settings, **condition.settings, "learning_rate": rate}
        agent: Any = make(condition.name, self.locks(self.num_envs, seed), seed=seed, device="cpu", **settings)
        if condition.preloaded or condition.offline:
            data = nearly_good(self.episodes, self.horizon, self.choices, seed)
            agent.learn_offline(data, 0)
        scores = []
        for _ in range(self.moments):
            agent.learn(self.learnt // self.moments, reset_num_timesteps=False)
            scores.append(self.score(agent, seed))
        return Trained(scores)

    def smallest(self) -> Self:
        """A rollout or two."""
        return replace(self, num_envs=4, episodes=20, learnt=80, moments=2, tests=8)
