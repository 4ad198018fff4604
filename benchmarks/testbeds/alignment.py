"""Alignment: policies that learn from preferences, by pairs written once or by pairs of their own, with exact scores.

A prompt has 128 completions that the reference writes with known probabilities. The policy is the reference times
exp(theta . features); the true reward has a part that is linear in these features and one that is not, so that no
policy of this form is best and moving far over-optimises. Pairs of the reference have labels by the true reward
(Bradley-Terry, some of them flipped). From them a proxy, a logistic regression on features, is learnt. The ways:

* ``offline``: the IPO loss on these pairs;
* ``online``: the same loss on pairs of the policy of now, with labels of the proxy;
* ``offline on online pairs``: the pairs of an online run, in another order, with the same labels.

KL to the reference, true win rate and classification of new pairs are exact or nearly so, on prompts held out.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..analysis.online_vs_offline_gap import classification_accuracy, frontier, kl
from ..statistics import Floats

Way = Literal["online", "offline", "offline on online pairs"]


class World(NamedTuple):
    """Prompts: the first ``trained`` to learn from, the others to be judged on."""

    features: Floats  # [N, 128, F]
    reference: Floats  # [N, 128] probabilities
    reward: Floats  # [N, 128] true
    pairs: Floats  # [pairs, F] differences of features, preferred minus other
    proxy: Floats  # [F] weights of the proxy


class Course(NamedTuple):
    """A policy at every moment: KL to the reference and true win rate ``[moments]``; at the end its classification."""

    divergence: Floats
    wins: Floats
    classification: float

    def best(self, budget: float) -> float:
        """The highest win rate within a budget of KL."""
        return float(frontier(self.divergence, self.wins, [budget])[0])


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """The testbed; conditions are names of :data:`Way`.

    Attributes:
        completions: of a prompt.
        width: F.
        trained: prompts to learn from.
        held_out: prompts to be judged on.
        pairs: that the reference wrote.
        flipped: share of labels that are wrong.
        steps: of gradients.
        batch_size: pairs a step.
        every: steps from one moment to the next.
        tau: of the IPO loss, whose target is 1 / (2 tau).
    """

    completions: int = 128
    width: int = 16
    trained: int = 64
    held_out: int = 64
    pairs: int = 2048
    flipped: float = 0.1
    steps: int = 400
    batch_size: int = 32
    every: int = 10
    tau: float = 0.05

    def run(self, condition: Way, rate: float, seed: int) -> Course:
        """Trains a policy of the world of ``seed``."""
        world, rng = _world(self, seed), np.random.default_rng([2405, seed, 1])
        if condition == "online":
            return self._learn(world, rate, rng, None)[0]
        if condition == "offline":
            return self._learn(world, rate, rng, world.pairs)[0]
        _, seen = self._learn(world, rate, rng, None)
        return self._learn(world, rate, rng, rng.permutation(seen))[0]

    def _learn(self, world: World, rate: float, rng: np.random.Generator, data: Floats | None) -> tuple[Course, Floats]:
        theta, seen, moments = np.zeros(self.width), [], []
        for step in range(self.steps + 1):
            if step % self.every == 0:
                moments.append(self._judged(world, theta))
            if step == self.steps:
                break
            if data is None:
                apart = self._own_pairs(world, theta, rng)
                seen.append(apart)
            else:
                apart = data[rng.integers(len(data), size=self.batch_size)]
            away = apart @ theta - 1 / (2 * self.tau)
            theta = theta - rate * 2 * away @ apart / len(apart)
        divergence, wins = map(np.array, zip(*moments, strict=True))
        return Course(divergence, wins, self._classified(world, theta)), np.concatenate(seen or [world.pairs])

    def _own_pairs(self, world: World, theta: Floats, rng: np.random.Generator) -> Floats:
        prompts = rng.integers(self.trained, size=self.batch_size)
        features = world.features[prompts]
        chance = _tilted(world.reference[prompts], features @ theta)
        drawn = (
            (chance.cumsum(-1)[:, None] < rng.random((self.batch_size, 2, 1))).sum(-1).clip(max=self.completions - 1)
        )
        two = np.take_along_axis(features, drawn[..., None], 1)
        apart = two[:, 0] - two[:, 1]
        first = rng.random(self.batch_size) < 1 / (1 + np.exp(-apart @ world.proxy))
        return np.where(first[:, None], apart, -apart)

    def _judged(self, world: World, theta: Floats) -> tuple[float, float]:
        held = slice(self.trained, None)
        reference, reward = world.reference[held], world.reward[held]
        policy = _tilted(reference, world.features[held] @ theta)
        order = reward.argsort(-1)
        ours, theirs = (np.take_along_axis(one, order, -1) for one in (policy, reference))
        below = theirs.cumsum(-1) - theirs / 2
        return float(kl(policy, reference).mean()), float((ours * below).sum(-1).mean())

    def _classified(self, world: World, theta: Floats) -> float:
        rng = np.random.default_rng(0)
        prompts = rng.integers(self.trained, len(world.reward), size=2000)
        drawn = _draw_two(world.reference[prompts], rng)
        features, reward = world.features[prompts], np.take_along_axis(world.reward[prompts], drawn, 1)
        two = np.take_along_axis(features, drawn[..., None], 1)
        return classification_accuracy((two[:, 0] - two[:, 1]) @ theta, reward[:, 0] > reward[:, 1])

    def smallest(self) -> Self:
        """Few steps and prompts."""
        return replace(self, completions=16, trained=8, held_out=8, pairs=64, steps=20, every=5)


@lru_cache(maxsize=64)
def _world(bed: Alignment, seed: int) -> World:
    rng = np.random.default_rng([2405, seed])
    prompts = bed.trained + bed.held_out
    features = rng.normal(size=(prompts, bed.completions, bed.width)) / np.sqrt(bed.width)
    reference = _tilted(np.ones((prompts, bed.completions)), 1.5 * rng.normal(size=(prompts, bed.completions)))
    hidden = rng.normal(size=(bed.width, 8))
    bent = np.sin(2 * features @ hidden) @ rng.normal(size=8)
    reward = 2 * features @ rng.normal(size=bed.width) + bent
    asked = rng.integers(bed.trained, size=bed.pairs)
    drawn = _draw_two(reference[asked], rng)
    worth = np.take_along_axis(reward[asked], drawn, 1)
    first = rng.random(bed.pairs) < 1 / (1 + np.exp(worth[:, 1] - worth[:, 0]))
    first ^= rng.random(bed.pairs) < bed.flipped
    two = np.take_along_axis(features[asked], drawn[..., None], 1)
    apart = np.where(first[:, None], 1.0, -1.0) * (two[:, 0] - two[:, 1])
    return World(features, reference, reward, apart, _proxy(apart))


def _proxy(apart: Floats) -> Floats:
    """Logistic regression by Newton's method, with a ridge of 1."""
    weight = np.zeros(apart.shape[1])
    for _ in range(10):
        chance = 1 / (1 + np.exp(-apart @ weight))
        curve = (apart * (chance * (1 - chance))[:, None]).T @ apart + np.eye(len(weight))
        weight = weight + np.linalg.solve(curve, apart.T @ (1 - chance) - weight)
    return weight


def _tilted(weights: Floats, logits: Floats) -> Floats:
    raised = weights * np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


def _draw_two(chance: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    drawn = (chance.cumsum(-1)[:, None] < rng.random((len(chance), 2, 1))).sum(-1)
    return np.asarray(drawn.clip(max=chance.shape[1] - 1))
