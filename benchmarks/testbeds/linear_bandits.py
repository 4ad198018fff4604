"""Linear bandits, each with weights and arms of its own.

As in the experiments of Lin et al., Transformers as Decision Makers (2023), there are five features, ten arms and noise
of deviation 1.5. Weights are normal, and each arm's features uniform in [-1, 1]; they are shown at every pull. A reward
is their inner product with Gaussian noise. All noise of an episode is drawn when it begins.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from ...envs import InvalidAction
from ...envs.actions import numbers
from ...envs.core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ...envs.seeding import Split, check_split, problem_rng


class LinearBandits(BatchedEnv):
    """The bandits, batched. Observations are the arms' features; ``info["means"]`` at reset is what each arm pays.

    Args:
        num_envs: bandits.
        arms: of each, A.
        features: of each arm, d.
        pulls: of an episode.
        noise: standard deviation of a reward.
        split: "train" or "test".
        render_mode: None.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    env_state = ("arms", "weights", "noises", "pulled", "last")

    def __init__(
        self,
        num_envs: int,
        *,
        arms: int = 10,
        features: int = 5,
        pulls: int = 50,
        noise: float = 1.5,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if arms < 2 or features < 1 or pulls < 1 or not noise >= 0:
            raise ValueError(
                "a linear bandit has at least 2 arms, 1 feature, 1 pull and no negative noise, got "
                f"{arms}, {features}, {pulls} and {noise}"
            )
        self.pulls, self.noise, self.split = pulls, noise, check_split(split)
        self.observation_space, self.action_space = Box(-1.0, 1.0, (arms, features)), Discrete(arms)
        self.arms, self.weights = np.zeros((num_envs, arms, features)), np.zeros((num_envs, features))
        self.noises = np.zeros((num_envs, pulls))
        self.pulled, self.last = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)
        self._rewards = np.zeros(num_envs)

    @property
    def means(self) -> Floats:
        """What each arm pays ``[n, A]``."""
        return np.asarray(np.einsum("nai,ni->na", self.arms, self.weights))

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Draws features, weights, and the noise of all pulls."""
        for index, seed, one in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            rng = problem_rng(self.split, seed, one)
            self.arms[index] = rng.uniform(-1, 1, self.arms.shape[1:])
            self.weights[index] = rng.normal(size=self.weights.shape[1])
            self.noises[index] = self.noise * rng.normal(size=self.pulls)
            self.pulled[index] = self.last[index] = 0

    def check(self, actions: Any) -> Ints:
        """Arms ``[n]``."""
        count = self.arms.shape[1]
        wanted = f"an action is an arm from 0 to {count - 1}"
        arms = numbers(actions, (self.num_envs,), kinds="iu", wanted=wanted).astype(np.int64)
        if arms.min() < 0 or arms.max() >= count:
            raise InvalidAction(f"{wanted}, got {arms.tolist()!r:.100}")
        return arms

    def advance(self, actions: Ints, active: Bools) -> tuple[Floats, Bools]:
        """Pulls an arm of each."""
        rows = np.arange(self.num_envs)
        rewards = self.means[rows, actions] + self.noises[rows, np.minimum(self.pulled, self.pulls - 1)]
        self._rewards = np.where(active, rewards, 0.0)
        self.last = np.where(active, actions, self.last)
        self.pulled = self.pulled + active
        return self._rewards.copy(), active & (self.pulled >= self.pulls)

    def observe(self) -> npt.NDArray[np.float32]:
        """Features of the arms ``[n, A, d]``."""
        return self.arms.astype(np.float32)

    def reset_info(self) -> Info:
        """The means."""
        return {"means": self.means}

    def step_info(self) -> Info:
        """Whether the arm was the best."""
        return {"success": self.last == self.expert_actions(), "reward_terms": {"reward": self._rewards}}

    def expert_actions(self) -> Ints:
        """The best arm of each."""
        best: Ints = self.means.argmax(axis=1)
        return best


class LinearBanditEnv(SingleEnv):
    """One bandit; keywords as of :class:`LinearBandits`."""

    batched_class = LinearBandits


class LinearBanditVectorEnv(BatchedVectorEnv):
    """Several bandits; keywords as of :class:`LinearBandits`."""

    batched_class = LinearBandits
