"""Rollout size: a softmax over many tokens, a tenth of them correct, that takes policy-gradient steps on N rollouts.

Rewards are 1 and -1, centred by the mean of the N (as in GRPO without scaling), and the logits take the gradient of the
sampled rollouts, with repeats. The mass of all correct tokens rises with any N; which of them rise and which lose to
those that happened to be sampled is what N decides.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from ..statistics import Floats


class Mass(NamedTuple):
    """Probabilities of the correct tokens ``[correct]``, before and after."""

    before: Floats
    after: Floats

    @property
    def losing(self) -> float:
        """The share of correct tokens that are less likely than before."""
        return float((self.after < self.before).mean())


@dataclass(frozen=True, kw_only=True)
class RolloutSize:
    """The testbed; conditions are numbers of rollouts a step.

    Attributes:
        tokens: V.
        correct: share of them that is correct.
        steps: of the logits.
        step_size: learning rate, so small that the mass of correct tokens rises by about a third.
    """

    tokens: int = 2000
    correct: float = 0.1
    steps: int = 100
    step_size: float = 1.0

    def run(self, condition: int, rate: float, seed: int) -> Mass:
        """Trains the softmax of ``seed`` with so many rollouts a step."""
        start, rng = np.random.default_rng([2510, seed]), np.random.default_rng([2510, seed, condition])
        right = start.random(self.tokens) < self.correct
        logits = start.normal(size=self.tokens)
        before = chance = _softmax(logits)
        for _ in range(self.steps):
            drawn = np.minimum(chance.cumsum().searchsorted(rng.random(condition)), self.tokens - 1)
            reward = np.where(right[drawn], 1.0, -1.0)
            advantage = reward - reward.mean()
            gradient = np.bincount(drawn, advantage, self.tokens) - advantage.sum() * chance
            logits = logits + self.step_size / condition * gradient
            chance = _softmax(logits)
        return Mass(before[right], chance[right])

    def smallest(self) -> Self:
        """Few steps."""
        return replace(self, tokens=200, steps=20)


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())
