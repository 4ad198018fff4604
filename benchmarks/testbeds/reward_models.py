"""Reward models of varied quality, their scores on benchmarks, and what best-of-n with them comes to.

A solution has eight steps, each right or wrong, and is correct if all are. A reward model sees noisy evidence of each
step and four features of style, and is a logistic regression on preference pairs of a correct and an incorrect
solution. In a world (a seed) there are 24 of them, which differ in the number of pairs, in wrong labels, in the steps
whose evidence they see, and in how style went with correctness in their pairs. All are judged on the same items:

* best of four by skill, errors of a skill being in two of the steps;
* one correct against nine incorrect solutions, drawn alike;
* one against one, the correct solution in the style of people and the other in that of a policy;
* best of 16 and of 64 solutions of a policy: how often it is correct, which is what benchmarks should tell beforehand.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from ..analysis.rewardbench_2 import score
from ..analysis.rewardmath import accuracy, pairwise, reciprocal_rank
from ..statistics import Floats

STEPS, STYLE, SKILLS = 8, 4, 4
PEOPLE = 3.0
"""By how much the style of people is away from that of a policy, in standard deviations."""


class Scores(NamedTuple):
    """Of all reward models of a world, ``[models]`` each: on a benchmark, and downstream."""

    benchmark: Floats
    best_of_16: Floats
    best_of_64: Floats

    def correlation(self, downstream: Floats) -> float:
        """Spearman's, of the benchmark and a downstream result; 0 where the benchmark tells no model from another."""
        from scipy.stats import spearmanr

        return float(spearmanr(self.benchmark, downstream).statistic) if np.ptp(self.benchmark) else 0.0


@dataclass(frozen=True, kw_only=True)
class RewardModels:
    """The testbed; conditions are names of benchmarks, see :func:`_world`.

    Attributes:
        models: in a world.
        items: of every benchmark (of each skill a quarter).
        problems: on which the best of n is taken.
        noise: standard deviation of the evidence of a step.
    """

    models: int = 24
    items: int = 400
    problems: int = 400
    noise: float = 1.0

    def run(self, condition: str, rate: float, seed: int) -> Scores:
        """Scores of the world of ``seed`` on a benchmark; all conditions see the same models."""
        benchmarks, downstream = _world(self, seed)
        return Scores(benchmarks[condition], *downstream)

    def smallest(self) -> Self:
        """Few models and items."""
        return replace(self, models=8, items=40, problems=40)


def features(steps: Floats, style: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """What models see of solutions, ``[..., STEPS + STYLE]``: 2 x right - 1 plus noise, and style."""
    evidence = 2 * steps - 1 + noise * rng.normal(size=steps.shape)
    return np.concatenate([evidence, style], axis=-1)


def _solutions(shape: tuple[int, ...], correct: bool, rng: np.random.Generator) -> Floats:
    """Steps of correct solutions, or of those with one to three errors, ``[*shape, STEPS]``."""
    if correct:
        return np.ones((*shape, STEPS))
    errors = rng.random((*shape, STEPS)).argsort(-1) < rng.integers(1, 4, size=(*shape, 1))
    return np.where(errors, 0.0, 1.0)


def _fitted(bed: RewardModels, rng: np.random.Generator) -> Floats:
    """The weights of one reward model, ``[STEPS + STYLE]``, by logistic regression on differences of pairs."""
    pairs, wrong = int(2 ** rng.uniform(4, 10)), rng.uniform(0, 0.4)
    seen = np.concatenate([rng.random(STEPS) < rng.uniform(0.3, 1.0), np.ones(STYLE, bool)])
    bias = rng.normal(scale=1.5, size=STYLE) * (rng.random(STYLE) < 0.5)
    right = features(_solutions((pairs,), True, rng), rng.normal(size=(pairs, STYLE)) + bias, bed.noise, rng)
    other = features(_solutions((pairs,), False, rng), rng.normal(size=(pairs, STYLE)), bed.noise, rng)
    apart = (right - other) * seen * np.where(rng.random((pairs, 1)) < wrong, -1.0, 1.0)
    weight = np.zeros(STEPS + STYLE)
    for _ in range(12):  # Newton's method, with a ridge of 1
        chance = 1 / (1 + np.exp(-np.clip(apart @ weight, -30, 30)))
        slope = apart.T @ (1 - chance) - weight
        curve = (apart * (chance * (1 - chance))[:, None]).T @ apart + np.eye(len(weight))
        weight = weight + np.linalg.solve(curve, slope)
    return weight


@lru_cache(maxsize=4)
def _world(bed: RewardModels, seed: int) -> tuple[dict[str, Floats], tuple[Floats, Floats]]:
    rng = np.random.default_rng([2410, seed])
    weights = np.stack([_fitted(bed, rng) for _ in range(bed.models)])

    def seen(steps: Floats, style: float = 0.0) -> Floats:
        drawn = rng.normal(size=(*steps.shape[:-1], STYLE)) + style
        return features(steps, drawn, bed.noise, rng)

    skills = {f"skill {i}": seen(_of_skill(bed.items // SKILLS, i)) for i in range(SKILLS)}
    many = np.concatenate(
        [seen(_solutions((bed.items, 1), True, rng)), seen(_solutions((bed.items, 9), False, rng))], axis=1
    )
    styled = np.concatenate(
        [seen(_solutions((bed.items, 1), True, rng), PEOPLE), seen(_solutions((bed.items, 1), False, rng))], axis=1
    )
    likely = rng.uniform(0.6, 0.95, size=(bed.problems, 1, 1))
    written = (rng.random((bed.problems, 64, STEPS)) < likely).astype(float)
    policy, correct = seen(written), np.asarray(written.min(-1))
    benchmarks = {
        "best of four by skill": [score({name: part @ w for name, part in skills.items()}) for w in weights],
        "one to many": [accuracy(many @ w) for w in weights],
        "one to many, reciprocal rank": [reciprocal_rank(many @ w) for w in weights],
        "pairs of other styles": [pairwise(styled @ w) for w in weights],
    }
    downstream = (np.array([_best(policy[:, :n] @ w, correct[:, :n]) for w in weights]) for n in (16, 64))
    few, all_of_them = downstream
    return {name: np.array(values) for name, values in benchmarks.items()}, (few, all_of_them)


def _of_skill(items: int, skill: int) -> Floats:
    """One correct solution and three with an error in the steps of a skill, ``[items, 4, STEPS]``."""
    steps = np.ones((items, 4, STEPS))
    own = STEPS // SKILLS
    for rejected in range(1, 4):
        steps[:, rejected, skill * own + (rejected - 1) % own] = 0.0
    return steps


def _best(rewards: Floats, correct: Floats) -> float:
    """How often the solution with the highest reward is correct."""
    return float(correct[np.arange(len(rewards)), rewards.argmax(1)].mean())
