"""Cart-poles of many pole lengths: which lengths to train on, so that the policies serve them all.

Policies are linear feedbacks through tanh, trained by the cross-entropy method on a small budget, so that training
fails in some contexts, and transfer falls with the distance of the lengths. Physics are Gymnasium's CartPole's with a
continuous force.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...wrappers.curricula.mbtl import SourceSelection

Floats = npt.NDArray[np.float64]
FORCE, GRAVITY, CART, POLE, STEP = 10.0, 9.8, 1.0, 0.1, 0.02
ANGLE, TRACK, START = 0.21, 2.4, 0.15
"""Where an episode fails, and how far from rest it begins."""
LENGTHS = (0.05, 8.0)
"""Half-lengths of poles in metres, geometrically spaced."""


def moved(state: Floats, push: Floats, lengths: Floats) -> Floats:
    """States ``[n, 4]`` (place, speed, angle, turn) a step later, under forces ``[n]`` on the carts."""
    _, speed, angle, turn = state.T
    cosine, sine = np.cos(angle), np.sin(angle)
    inertia = (push + POLE * lengths * turn**2 * sine) / (CART + POLE)
    turning = (GRAVITY * sine - cosine * inertia) / (lengths * (4 / 3 - POLE * cosine**2 / (CART + POLE)))
    pushing = inertia - POLE * lengths * turning * cosine / (CART + POLE)
    after: Floats = state + STEP * np.stack([speed, pushing, turn, turning], axis=1)
    return after


def upright(policies: Floats, lengths: Floats, starts: Floats, steps: int) -> Floats:
    """Share of ``steps`` ``[n]`` that policies ``[n, 4]`` keep poles upright, from ``starts`` ``[n, 4]``."""
    state, alive, kept = starts.copy(), np.ones(len(starts), np.bool_), np.zeros(len(starts))
    for _ in range(steps):
        state = moved(state, FORCE * np.tanh((policies * state).sum(axis=1)), lengths)
        alive &= (np.abs(state[:, 2]) < ANGLE) & (np.abs(state[:, 0]) < TRACK)
        state[~alive] = 0
        kept += alive
    return kept / steps


class Choice(NamedTuple):
    """What one way to choose contexts reached."""

    performance: Floats  # [k] mean over all contexts, after 1, ..., k trainings
    sources: list[int]


Strategy = Callable[["Contexts", np.random.Generator, int], Choice]


@dataclass(frozen=True)
class Contexts:
    """Contexts with what every policy trained in one does in all.

    Attributes:
        lengths: ``[n]``.
        transfer: ``[n, n]`` performance of the policy of context i in context j.
        multitask: ``[k]`` mean performance over all contexts of one policy trained on all at once, with the budget of
            1, ..., k trainings.
    """

    lengths: Floats
    transfer: Floats
    multitask: Floats

    def served(self, sources: list[int]) -> Choice:
        """Each context by its best source, after each of the ``sources``."""
        return Choice(np.maximum.accumulate(self.transfer[sources], axis=0).mean(axis=1), sources)

    @property
    def independent(self) -> float:
        """Mean performance where each context has a policy of its own."""
        return float(self.transfer.diagonal().mean())


def mbtl(contexts: Contexts, rng: np.random.Generator, count: int) -> Choice:
    """Sources by model-based transfer learning, over the logarithm of the length."""
    selection = SourceSelection(np.log(contexts.lengths)[:, None])
    for _ in range(count):
        source = selection.choose()
        selection.observe(source, contexts.transfer[source, source], contexts.transfer[source])
    return contexts.served(selection.sources)


def random(contexts: Contexts, rng: np.random.Generator, count: int) -> Choice:
    """Sources drawn without replacement."""
    return contexts.served(rng.permutation(len(contexts.lengths))[:count].tolist())


def equidistant(contexts: Contexts, rng: np.random.Generator, count: int) -> Choice:
    """Of each number of sources the performance of as many equally spaced ones, which must be known beforehand."""
    n = len(contexts.lengths)
    spaced = [[int((i + 0.5) * n / k) for i in range(k)] for k in range(1, count + 1)]
    return Choice(np.array([contexts.served(one).performance[-1] for one in spaced]), spaced[-1])


def multitask(contexts: Contexts, rng: np.random.Generator, count: int) -> Choice:
    """One policy for all contexts."""
    return Choice(contexts.multitask[:count], [])


@dataclass(frozen=True, kw_only=True)
class CartPoles:
    """The testbed.

    Attributes:
        count: contexts.
        trainings: the most sources.
        rounds: of the cross-entropy method in a training.
        population: policies a round, of which the best quarter goes on.
        episodes: a policy and round.
        tests: episodes of an evaluation.
        steps: of an episode.
    """

    count: int = 30
    trainings: int = 10
    rounds: int = 8
    population: int = 16
    episodes: int = 2
    tests: int = 20
    steps: int = 200

    @lru_cache(maxsize=64)  # noqa: B019 (frozen, and few)
    def contexts(self, seed: int) -> Contexts:
        """Trains a policy in each context, and one in all with as much as several of these."""
        rng = np.random.default_rng([2408, seed])
        lengths = np.geomspace(*LENGTHS, self.count)
        policies = self.train(lengths[:, None], rng, self.rounds)
        several = [
            self.train(lengths[None], rng, max(1, self.rounds * k * self.episodes // self.count))[0]
            for k in range(1, self.trainings + 1)
        ]
        every = self.evaluate(np.concatenate([policies, several]), lengths, rng)
        return Contexts(lengths, every[: self.count], every[self.count :].mean(axis=1))

    def train(self, lengths: Floats, rng: np.random.Generator, rounds: int) -> Floats:
        """Policies ``[m, 4]`` of ``lengths`` ``[m, l]``: a policy plays ``episodes`` rounds over its l lengths."""
        m, several = lengths.shape
        episodes = self.episodes if several == 1 else 1
        mean, deviation = np.zeros((m, 4)), np.ones((m, 4))
        for _ in range(rounds):
            tried = mean[:, None] + deviation[:, None] * rng.normal(size=(m, self.population, 4))
            size = (m, self.population, several * episodes)
            starts = rng.uniform(-START, START, (m, 1, size[2], 4))
            every = np.broadcast_to(np.repeat(lengths, episodes, axis=1)[:, None], size)
            played = np.broadcast_to(tried[:, :, None], (*size, 4)), np.broadcast_to(starts, (*size, 4))
            flat = played[0].reshape(-1, 4), every.reshape(-1), played[1].reshape(-1, 4)
            scores = upright(*flat, self.steps).reshape(size).mean(axis=2)
            best = np.argsort(-scores, axis=1)[:, : max(2, self.population // 4)]
            elite = np.take_along_axis(tried, best[:, :, None], axis=1)
            mean, deviation = elite.mean(axis=1), elite.std(axis=1) + 0.05
        return mean

    def evaluate(self, policies: Floats, lengths: Floats, rng: np.random.Generator) -> Floats:
        """Performance ``[m, n]`` of policies ``[m, 4]`` at lengths ``[n]``, from the same starts."""
        m, n, starts = len(policies), len(lengths), rng.uniform(-START, START, (self.tests, 4))
        flat = np.repeat(policies, n * self.tests, axis=0), np.tile(np.repeat(lengths, self.tests), m)
        scores = upright(*flat, np.tile(starts, (m * n, 1)), self.steps)
        return np.asarray(scores.reshape(m, n, self.tests).mean(axis=2))

    def run(self, condition: Strategy, rate: float, seed: int) -> Choice:
        """Trains by a strategy; there is no learning rate."""
        return condition(self.contexts(seed), np.random.default_rng([seed, 1]), self.trainings)

    def needed(self, run: Choice, seed: int) -> int:
        """Trainings until independent training is matched; as many as there are contexts where it is not."""
        there = np.flatnonzero(run.performance >= self.contexts(seed).independent)
        return int(there[0]) + 1 if len(there) else self.count

    def smallest(self) -> Self:
        """Few contexts, short episodes."""
        return replace(self, count=6, trainings=3, rounds=2, tests=2, steps=40)
