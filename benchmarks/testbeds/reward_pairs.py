"""Reward pairs: finite environments with pairs of rewards, their distances, and what optimising the wrong one loses.

As in the experiments of the STARC paper: 32 states, 4 actions, sparse transitions, discount 0.95; rewards of every
transition are normal, at times sparse, scaled, raised or shaped by a potential; the second of a pair is moved from the
first to another in 16 steps. What a pair loses is the mean of both regrets. A seed is an environment.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from ..analysis.starc import MDP, distance, epic, regret
from ..statistics import Floats

DISTANCES: dict[str, Callable[[Floats, Floats, MDP], float]] = {
    "starc": distance,
    "epic": epic,
    "no canonical form": lambda first, second, _: _apart(first, second),
}


class Pairs(NamedTuple):
    """Of one environment: distances of all pairs ``[pairs]``, and their regrets ``[pairs]``."""

    distances: Floats
    regrets: Floats

    @property
    def correlation(self) -> float:
        """Spearman's, of distances and regrets."""
        from scipy.stats import spearmanr

        return float(spearmanr(self.distances, self.regrets).statistic)


@dataclass(frozen=True, kw_only=True)
class RewardPairs:
    """The testbed; conditions are names of :data:`DISTANCES`.

    Attributes:
        states: S.
        actions: A.
        gamma: discount.
        rewards: pairs of ends in an environment.
        steps: from one end to the other.
    """

    states: int = 32
    actions: int = 4
    gamma: float = 0.95
    rewards: int = 8
    steps: int = 16

    def run(self, condition: str, rate: float, seed: int) -> Pairs:
        """Distances of the environment of ``seed``; all conditions see the same pairs."""
        mdp, pairs, regrets = _drawn(self, seed)
        return Pairs(np.array([DISTANCES[condition](*pair, mdp) for pair in pairs]), regrets)

    def smallest(self) -> Self:
        """Few states and pairs."""
        return replace(self, states=6, actions=2, rewards=2, steps=4)


@lru_cache(maxsize=8)
def _drawn(bed: RewardPairs, seed: int) -> tuple[MDP, list[tuple[Floats, Floats]], Floats]:
    rng = np.random.default_rng([2309, seed])
    logits = rng.normal(size=(bed.states, bed.actions, bed.states))
    kept = (logits > 1) | (logits == logits.max(-1, keepdims=True))
    weights = np.where(kept, np.exp(logits), 0.0)
    mdp = MDP(weights / weights.sum(-1, keepdims=True), bed.gamma)
    pairs = []
    for _ in range(bed.rewards):
        first, last = _reward(mdp, rng), _reward(mdp, rng)
        pairs += [(first, first + step / bed.steps * (last - first)) for step in range(1, bed.steps + 1)]
    lost = [(regret(first, second, mdp) + regret(second, first, mdp)) / 2 for first, second in pairs]
    return mdp, pairs, np.array(lost)


def _reward(mdp: MDP, rng: np.random.Generator) -> Floats:
    reward = rng.normal(size=mdp.transition.shape)
    if rng.random() > 0.8:
        reward = np.where(reward > 3, reward, 0.0)
    if rng.random() > 0.3:
        reward = reward * 10 * rng.random()
    if rng.random() > 0.7:
        reward = reward + 10 * rng.random()
    if rng.random() > 0.5:
        potential = rng.normal(size=len(reward)) * 10 * rng.random() + rng.random()
        reward = reward + mdp.gamma * potential[None, None] - potential[:, None, None]
    return reward


def _apart(first: Floats, second: Floats) -> float:
    lengths = [float(np.linalg.norm(one)) or 1.0 for one in (first, second)]
    return float(np.linalg.norm(first / lengths[0] - second / lengths[1])) / 2
