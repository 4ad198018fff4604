"""Logistic regression by stochastic gradients: a convex problem whose least loss is known, for learning rate schedules.

Labels are drawn from a hidden linear model with some noise; columns of the features have other scales, so that the
problem is badly conditioned. A run takes its steps with batches drawn anew; what counts is the loss on all examples
after the last step, above the least there is.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple, Self

import numpy as np

from ...agents.refined_lr import refined
from ..statistics import Floats

Schedule = Literal["constant", "linear", "cosine", "refined"]


class Problem(NamedTuple):
    """Features ``[n, d]``, labels -1 or 1 ``[n]``, and the least mean loss."""

    features: Floats
    labels: Floats
    least: float


class Trained(NamedTuple):
    """A run: the loss above the least at the start and at the end, and where the schedule has its peak (0 to 1)."""

    before: float
    excess: float
    peak: float


@dataclass(frozen=True, kw_only=True)
class LogisticRegression:
    """The testbed; conditions are names of schedules.

    Attributes:
        examples: n.
        width: d.
        spread: largest scale of a column over the smallest, as a power of ten.
        steps: of gradients.
        batch_size: examples a step.
    """

    examples: int = 512
    width: int = 16
    spread: float = 1.0
    steps: int = 800
    batch_size: int = 8

    def run(self, condition: Schedule, rate: float, seed: int) -> Trained:
        """Trains with a schedule whose largest value is ``rate``; a refined one has a run of linear decay before it."""
        problem = _problem(self, seed)
        schedule = self.schedule(condition, rate, seed)
        weight, _ = self.descend(problem, rate * schedule, seed)
        start = float(np.log(2.0)) - problem.least
        return Trained(start, loss(problem, weight) - problem.least, float(schedule.argmax() / self.steps))

    def schedule(self, condition: Schedule, rate: float, seed: int) -> Floats:
        """Values up to 1, ``[steps]``."""
        done = np.arange(self.steps) / self.steps
        if condition == "constant":
            return np.ones(self.steps)
        if condition == "cosine":
            return np.asarray((1 + np.cos(np.pi * done)) / 2)
        if condition == "linear":
            return np.asarray(1 - done)
        _, norms = self.descend(_problem(self, seed), rate * (1 - done), seed, draws=1)
        return refined(norms)

    def descend(self, problem: Problem, rates: Floats, seed: int, *, draws: int = 0) -> tuple[Floats, Floats]:
        """Weights after all steps, and the gradient's norm at each, ``[steps]``; other ``draws``, other batches."""
        rng = np.random.default_rng([2310, seed, draws])
        weight, norms = np.zeros(self.width), np.empty(self.steps)
        for t, rate in enumerate(rates):
            rows = rng.integers(self.examples, size=self.batch_size)
            gradient = slope(problem.features[rows], problem.labels[rows], weight)
            norms[t] = np.linalg.norm(gradient)
            weight = weight - rate * gradient
        return weight, norms

    def smallest(self) -> Self:
        """Few steps."""
        return replace(self, steps=40)


def loss(problem: Problem, weight: Floats) -> float:
    """Mean log(1 + exp(-y w.x))."""
    return float(np.logaddexp(0.0, -problem.labels * (problem.features @ weight)).mean())


def slope(features: Floats, labels: Floats, weight: Floats) -> Floats:
    """Gradient of the mean loss, ``[d]``."""
    away = 1 / (1 + np.exp(np.clip(labels * (features @ weight), -500, 500)))
    return np.asarray(-(labels * away) @ features / len(labels))


@lru_cache(maxsize=256)
def _problem(bed: LogisticRegression, seed: int) -> Problem:
    from scipy.optimize import minimize

    rng = np.random.default_rng([7831, seed])
    scale = 10 ** rng.uniform(-bed.spread, 0, bed.width)
    features = rng.normal(size=(bed.examples, bed.width)) * scale
    hidden = rng.normal(size=bed.width) / scale / np.sqrt(bed.width) * 2
    chance = 1 / (1 + np.exp(-features @ hidden))
    labels = np.where(rng.random(bed.examples) < chance, 1.0, -1.0)
    drawn = Problem(features, labels, 0.0)
    best = minimize(
        lambda weight: loss(drawn, weight),
        np.zeros(bed.width),
        jac=lambda weight: slope(features, labels, weight),
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return drawn._replace(least=float(best.fun))
