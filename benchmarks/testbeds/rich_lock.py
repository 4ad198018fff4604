"""Combination lock of low rank: few latent states, each of which is seen in many ways, and known true features.

The latent lock is that of :mod:`.combination_lock`, with actions that are chosen outright and finitely many
observations, so that a baseline can count them.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch as th
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from scipy.linalg import hadamard
from torch import Tensor

from ...agents import make
from ...agents.control.contrastive_features import subspace_alignment
from ...agents.control.contrastive_policy import ContrastivePolicy
from .control import Agent

CONSOLATION = 0.1
"""What half of the episodes that failed earn."""
SETTINGS: dict[str, Any] = {"gradient_steps": 16, "learning_starts": 64, "policy_kwargs": {"net_arch": []}}
"""A linear network decodes the latent states."""


class RichLocks(VectorEnv[Any, Any, Any]):
    """Several locks of one combination side by side.

    A latent state is A, B or failed. At step h one of ``choices`` actions, another in A than in B, leads to A or B, a
    coin says which, and all others to failure for good. Held to the end it pays 1. The observation is a Hadamard matrix
    times the pair of state and step, one-hot, and ``bits`` random signs, so that each pair is seen in 2^bits ways.

    The transitions have rank 2 for every step: next states depend on whether the lock held, and the step.

    Args:
        num_envs: locks.
        horizon: steps of an episode.
        choices: actions.
        bits: of the observation that mean nothing.
        combination: seed of the good actions.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self, num_envs: int, *, horizon: int = 7, choices: int = 4, bits: int = 6, combination: int = 0
    ) -> None:
        self.num_envs, self.horizon, self.choices, self.bits = num_envs, horizon, choices, bits
        self.good = np.random.default_rng([2207, combination]).integers(choices, size=(2, horizon))
        self.width = 1 << int(np.ceil(np.log2(3 * (horizon + 1) + bits)))
        self.rotation = hadamard(self.width) / np.sqrt(self.width)
        self.single_observation_space = Box(-4.0, 4.0, (self.width,), np.float32)
        self.single_action_space = Discrete(choices)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws = np.random.default_rng()
        self.state, self.step_count = np.zeros(num_envs, np.int64), 0
        self.episodes, self.first = 0, 0  # episodes that ended, and the number of the first of them that held (0: none)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """All at the first step, in A or B; with ``seed`` (one, or one a lock) the stream of draws begins anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2207, *np.atleast_1d(np.asarray(seed, np.int64))])
        self.state, self.step_count = self.draws.integers(2, size=self.num_envs), 0
        return self._seen(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all; they end together."""
        held = self.holds(self.state, self.step_count, np.asarray(actions))
        self.state = np.where(held, self.draws.integers(2, size=self.num_envs), 2)
        self.step_count += 1
        seen, ended = self._seen(), self.step_count == self.horizon
        rewards, info = np.zeros(self.num_envs), {}
        if ended:
            rewards = np.where(held, 1.0, CONSOLATION * self.draws.integers(2, size=self.num_envs))
            if held.any() and not self.first:
                self.first = self.episodes + int(held.argmax()) + 1
            self.episodes += self.num_envs
            every, final = np.ones(self.num_envs, np.bool_), np.empty(self.num_envs, object)
            final[:] = list(seen)
            info = {"final_obs": final, "_final_obs": every, "final_info": {}, "_final_info": every}
            seen, _ = self.reset()
        done = np.full(self.num_envs, ended)
        return seen, rewards.astype(np.float32), done, np.zeros_like(done), info

    def holds(self, states: Any, step: Any, actions: Any) -> Any:
        """Which actions ``[n]`` keep the lock from failure in latent states ``[n]`` at a step (or one each)."""
        return (states < 2) & (actions == self.good[np.minimum(states, 1), step])

    def _seen(self) -> Any:
        steps = np.full(self.num_envs, self.step_count)
        return self.observed(self.state, steps, self.signs(self.num_envs, self.draws))

    def signs(self, n: int, draws: np.random.Generator) -> Any:
        """Of ``n`` observations, ``[n, bits]``."""
        return draws.choice([-0.5, 0.5], size=(n, self.bits))

    def observed(self, states: Any, steps: Any, signs: Any) -> Any:
        """Observations ``[n, width]`` of latent states ``[n]`` at steps ``[n]`` with signs ``[n, bits]``."""
        n, first = len(states), 3 * (self.horizon + 1)
        latent = np.zeros((n, self.width))
        latent[np.arange(n), 3 * steps + states] = 1
        latent[:, first : first + self.bits] = signs
        return (latent @ self.rotation).astype(np.float32)

    def latent(self, observations: Any) -> tuple[Any, Any]:
        """Latent states and steps, ``[n]`` each, that observations ``[n, width]`` are of."""
        pair = (observations @ self.rotation.T)[:, : 3 * (self.horizon + 1)].argmax(axis=1)
        return pair % 3, pair // 3


class Unlocked(NamedTuple):
    """What became of an agent."""

    scores: list[float]  # share of deterministic episodes that hold, at every moment
    found: float  # share of training's episodes that ended before the first of them that held; 1 if none did
    alignment: float  # of the features learnt and the true ones, on pairs of the agent's own, at the end
    untrained: float  # the same of the features it began with, on the same pairs


def alignment(policy: ContrastivePolicy, locks: RichLocks, observations: Tensor, actions: Tensor) -> float:
    """:func:`~tiltyard.agents.control.contrastive_features.subspace_alignment` of learnt and true features.

    The learnt ones count as far as the model depends on them: they are multiplied by what each latent outcome says of
    next states, a sample of all, as outcomes with the same next states are the same. True features are one-hot: the
    step, and whether the lock holds.

    Args:
        policy: with the features.
        locks: of the same combination.
        observations: of the pairs, ``[n, width]``.
        actions: of the pairs, ``[n]``.
    """
    n, rng = len(actions), np.random.default_rng(0)
    states, steps = locks.latent(observations.numpy())
    true = np.zeros((n, 2 * locks.horizon))
    true[np.arange(n), 2 * steps + locks.holds(states, steps, actions.numpy())] = 1
    after = rng.integers(3, size=600), rng.integers(1, locks.horizon + 1, size=600), locks.signs(600, rng)
    with th.no_grad():
        phi = policy.log_phi(observations).exp()[th.arange(n), actions]
        model = phi @ policy.log_psi(th.from_numpy(locks.observed(*after))).softmax(dim=0).T
    return subspace_alignment(model, th.from_numpy(true[:, true.any(axis=0)]))


@dataclass(frozen=True, kw_only=True)
class RichLock:
    """The testbed; a seed is also that of the combination.

    Attributes:
        horizon: steps of an episode.
        choices: actions.
        bits: of the observation that mean nothing.
        num_envs: locks side by side.
        episodes: of training.
        moments: at which agents are scored, evenly.
        tests: episodes of a score.
        settings: of all agents.
    """

    horizon: int = 7
    choices: int = 4
    bits: int = 6
    num_envs: int = 16
    episodes: int = 960
    moments: int = 10
    tests: int = 64
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def locks(self, num_envs: int, seed: int) -> RichLocks:
        """The environment."""
        return RichLocks(num_envs, horizon=self.horizon, choices=self.choices, bits=self.bits, combination=seed)

    def score(self, policy: Any, seed: int) -> float:
        """Share of episodes in which the lock holds to the end."""
        env = self.locks(self.tests, seed)
        seen, _ = env.reset(seed=1_000_000 + seed)
        for _ in range(self.horizon):
            seen, rewards, *_ = env.step(policy.predict(seen, deterministic=True)[0])
        return float((rewards == 1.0).mean())

    def run(self, condition: Agent, rate: float, seed: int) -> Unlocked:
        """Trains a condition."""
        settings = {**self.settings, **condition.settings, "learning_rate": rate, "horizon": self.horizon}
        locks, scores = self.locks(self.num_envs, seed), []
        agent: Any = make(condition.name, locks, seed=seed, device="cpu", **{"train_freq": self.horizon, **settings})
        before = deepcopy(agent.policy)
        for moment in range(1, self.moments + 1):
            rounds = self.episodes * moment // (self.moments * self.num_envs)
            agent.learn(rounds * self.num_envs * self.horizon - agent.num_timesteps, reset_num_timesteps=False)
            scores.append(self.score(agent, seed))
        seen, actions, *_ = agent.transitions()
        pairs = np.random.default_rng([2207, seed]).integers(len(seen), size=1000)
        aligned = [alignment(policy, locks, seen[pairs], actions[pairs]) for policy in (agent.policy, before)]
        return Unlocked(scores, (locks.first or self.episodes) / self.episodes, *aligned)

    def smallest(self) -> Self:
        """A few episodes."""
        return replace(self, horizon=2, num_envs=4, episodes=32, moments=2, tests=8)
