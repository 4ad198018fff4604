"""Preference factors: policies aligned in every combination of data, algorithm, reward model and training prompts.

The worlds are those of :mod:`.alignment`. Each factor has two levels: pairs with 30% or 5% of their labels flipped;
DPO on these pairs or policy gradients on the proxy's reward with a KL penalty (what PPO does where it takes one step on
each batch); a proxy that sees half of the features or all; and prompts of the policy gradient that are a quarter of
those of the pairs, or all. The last two say nothing about DPO, as in the paper.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from ..statistics import Floats
from .alignment import Alignment, World, _proxy, _tilted, _world

FACTORS = ("data", "algorithm", "reward model", "prompts")


class Levels(NamedTuple):
    """Of each factor, whether it is at its second level, and the weight of the KL penalty (beta)."""

    data: bool
    algorithm: bool
    reward_model: bool
    prompts: bool
    beta: float = 0.1

    @property
    def cell(self) -> tuple[bool, ...]:
        """The levels alone."""
        return tuple(self[:4])


@dataclass(frozen=True, kw_only=True)
class PreferenceFactors:
    """The testbed; conditions are :class:`Levels`, outcomes true win rates against the reference on held-out prompts.

    Attributes:
        bed: sizes of the worlds.
        flipped: shares of wrong labels at both levels.
        group: completions of a prompt in a step of the policy gradient.
    """

    bed: Alignment = Alignment(width=16, pairs=512, steps=300)
    flipped: tuple[float, float] = (0.3, 0.05)
    group: int = 4

    def run(self, condition: Levels, rate: float, seed: int) -> float:
        """The win rate at the end of training."""
        bed = replace(self.bed, flipped=self.flipped[condition.data])
        world, rng = _world(bed, seed), np.random.default_rng([2406, seed])
        theta = np.zeros(bed.width)
        proxy = world.proxy if condition.reward_model else self._poor(world)
        prompts = bed.trained if condition.prompts else max(1, bed.trained // 4)
        for _ in range(bed.steps):
            if condition.algorithm:
                theta = theta + rate * self._policy_gradient(world, theta, proxy, prompts, condition.beta, rng)
            else:
                apart = world.pairs[rng.integers(len(world.pairs), size=bed.batch_size)]
                wrong = 1 / (1 + np.exp(np.clip(condition.beta * (apart @ theta), -30, 30)))
                theta = theta + rate * condition.beta * wrong @ apart / len(apart)
        return bed._judged(world, theta)[1]

    def _poor(self, world: World) -> Floats:
        """The weights of a proxy that sees the first half of the features."""
        half = self.bed.width // 2
        return np.concatenate([_proxy(world.pairs[:, :half]), np.zeros(self.bed.width - half)])

    def _policy_gradient(
        self, world: World, theta: Floats, proxy: Floats, prompts: int, beta: float, rng: np.random.Generator
    ) -> Floats:
        """Mean over a batch of A (features - their mean under the policy), A the centred penalised reward."""
        asked = rng.integers(prompts, size=self.bed.batch_size // self.group)
        features, reference = world.features[asked], world.reference[asked]
        chance = _tilted(reference, features @ theta)
        below = chance.cumsum(-1)[:, None] < rng.random((len(asked), self.group, 1))
        drawn = below.sum(-1).clip(max=self.bed.completions - 1)
        written = np.take_along_axis(features, drawn[..., None], 1)
        ratio = np.log(np.take_along_axis(chance / reference, drawn, 1))
        reward = written @ proxy - beta * ratio
        centred = written - np.einsum("nc,ncf->nf", chance, features)[:, None]
        return np.asarray(((reward - reward.mean(1, keepdims=True))[..., None] * centred).mean((0, 1)))

    def smallest(self) -> Self:
        """Few steps and prompts."""
        return replace(self, bed=self.bed.smallest())
