"""Bandits whose arms' means are drawn anew for each problem, and what is known of how to act in them.

An episode is a number of pulls of the same arms. Means are uniform in [0, 1]; a reward is the mean with Gaussian noise
of deviation 0.3, or 1 with the mean as probability, as in the bandits of Lee et al., Supervised Pretraining Can Learn
In-Context Reinforcement Learning (2023). All noise of an episode is drawn when it begins.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from scipy.stats import beta, truncnorm

from ... import unknown
from ...envs import InvalidAction
from ...envs.actions import numbers
from ...envs.core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ...envs.seeding import Split, check_split, problem_rng

KINDS = ("gaussian", "bernoulli")
NOISE = 0.3
GRID = 400
"""Points of a mean's posterior."""


class ArmBandits(BatchedEnv):
    """The bandits, batched. ``info["means"]`` at reset names the problem; there is nothing to see.

    Args:
        num_envs: bandits.
        kind: of rewards, "gaussian" or "bernoulli".
        arms: of each.
        pulls: of an episode.
        split: "train" or "test".
        render_mode: None.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    env_state = ("means", "noise", "pulled", "last")

    def __init__(
        self,
        num_envs: int,
        *,
        kind: str = "gaussian",
        arms: int = 5,
        pulls: int = 100,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if kind not in KINDS:
            raise ValueError(unknown("kind", kind, KINDS))
        if arms < 2 or pulls < 1:
            raise ValueError(f"a bandit has at least 2 arms and 1 pull, got {arms} and {pulls}")
        self.kind, self.arms, self.pulls, self.split = kind, arms, pulls, check_split(split)
        self.observation_space, self.action_space = Box(0.0, 1.0, (1,)), Discrete(arms)
        self.means, self.noise = np.zeros((num_envs, arms)), np.zeros((num_envs, pulls))
        self.pulled, self.last = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)
        self._rewards = np.zeros(num_envs)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Draws means, and the noise of all pulls."""
        for index, seed, one in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            rng = problem_rng(self.split, seed, one)
            self.means[index] = rng.random(self.arms)
            self.noise[index] = rng.normal(size=self.pulls) if self.kind == "gaussian" else rng.random(self.pulls)
            self.pulled[index] = self.last[index] = 0

    def check(self, actions: Any) -> Ints:
        """Arms ``[n]``."""
        wanted = f"an action is an arm from 0 to {self.arms - 1}"
        arms = numbers(actions, (self.num_envs,), kinds="iu", wanted=wanted).astype(np.int64)
        if arms.min() < 0 or arms.max() >= self.arms:
            raise InvalidAction(f"{wanted}, got {arms.tolist()!r:.100}")
        return arms

    def advance(self, actions: Ints, active: Bools) -> tuple[Floats, Bools]:
        """Pulls an arm of each."""
        rows = np.arange(self.num_envs)
        noise = self.noise[rows, np.minimum(self.pulled, self.pulls - 1)]
        means = self.means[rows, actions]
        rewards = means + NOISE * noise if self.kind == "gaussian" else (noise < means).astype(np.float64)
        self._rewards = np.where(active, rewards, 0.0)
        self.last = np.where(active, actions, self.last)
        self.pulled = self.pulled + active
        return self._rewards.copy(), active & (self.pulled >= self.pulls)

    def observe(self) -> npt.NDArray[np.float32]:
        """Zeros ``[n, 1]``."""
        return np.zeros((self.num_envs, 1), np.float32)

    def reset_info(self) -> Info:
        """The means."""
        return {"means": self.means.copy()}

    def step_info(self) -> Info:
        """Whether the arm was the best."""
        return {"success": self.last == self.expert_actions(), "reward_terms": {"reward": self._rewards}}

    def expert_actions(self) -> Ints:
        """The best arm of each."""
        best: Ints = self.means.argmax(axis=1)
        return best


class ArmBanditEnv(SingleEnv):
    """One bandit; keywords as of :class:`ArmBandits`."""

    batched_class = ArmBandits


class ArmBanditVectorEnv(BatchedVectorEnv):
    """Several bandits; keywords as of :class:`ArmBandits`."""

    batched_class = ArmBandits


Policy = Callable[[Ints, Floats, np.random.Generator], Floats]
"""From how often each arm was pulled and the sum of its rewards ``[B, A]`` to probabilities of arms ``[B, A]``."""


def means_of(counts: Ints, sums: Floats) -> Floats:
    """Empirical means; 0 of an arm that was not pulled."""
    return np.asarray(sums / np.maximum(counts, 1))


def best_of(values: Floats) -> Floats:
    """All probability on the largest, of equals the first."""
    return np.asarray(np.eye(values.shape[1])[values.argmax(axis=1)])


def empirical_mean(counts: Ints, sums: Floats, rng: np.random.Generator) -> Floats:
    """Each arm once, then the one of the largest mean."""
    return best_of(np.where(counts == 0, np.inf, means_of(counts, sums)))


def greedy(counts: Ints, sums: Floats, rng: np.random.Generator) -> Floats:
    """The largest mean, of arms that were pulled."""
    return best_of(np.where(counts == 0, -np.inf, means_of(counts, sums)))


def ucb(constant: float) -> Policy:
    r"""The largest :math:`\bar r_a + c / \sqrt{n_a}`, each arm at least once."""

    def policy(counts: Ints, sums: Floats, rng: np.random.Generator) -> Floats:
        bounds = means_of(counts, sums) + constant / np.sqrt(np.maximum(counts, 1))
        return best_of(np.where(counts == 0, np.inf, bounds))

    return policy


def lcb(constant: float) -> Policy:
    r"""The largest :math:`\bar r_a - c / \sqrt{n_a}`, of arms that were pulled."""

    def policy(counts: Ints, sums: Floats, rng: np.random.Generator) -> Floats:
        bounds = means_of(counts, sums) - constant / np.sqrt(np.maximum(counts, 1))
        return best_of(np.where(counts == 0, -np.inf, bounds))

    return policy


def thompson(kind: str) -> Policy:
    """Samples means from the exact posterior, and takes the largest."""

    def policy(counts: Ints, sums: Floats, rng: np.random.Generator) -> Floats:
        u = rng.random(counts.shape)
        if kind == "bernoulli":
            return best_of(np.asarray(beta.ppf(u, 1 + sums, 1 + counts - sums)))
        centre, spread = means_of(counts, sums), NOISE / np.sqrt(np.maximum(counts, 1))
        low, high = -centre / spread, (1 - centre) / spread
        drawn = truncnorm.ppf(u, low, high, loc=centre, scale=spread)
        return best_of(np.where(counts == 0, u, drawn))

    return policy


def optimal_arm_probabilities(counts: Ints, sums: Floats) -> Floats:
    r"""Of Bernoulli arms under uniform priors the probability that each is the best, ``[B, A]``.

    It is the distribution of Thompson sampling's actions, :math:`\int p_a(x) \prod_{b \ne a} F_b(x) dx` with Beta
    densities and distribution functions, by the trapezoidal rule with :data:`GRID` intervals.
    """
    edges = np.linspace(0, 1, GRID + 1)
    below = beta.cdf(edges, (1 + sums)[..., None], (1 + counts - sums)[..., None])  # [B, A, GRID + 1]
    mass, inside = np.diff(below), (below[..., 1:] + below[..., :-1]) / 2
    others = np.stack([np.delete(inside, a, axis=1).prod(axis=1) for a in range(counts.shape[1])], axis=1)
    found = (mass * others).sum(axis=-1)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
