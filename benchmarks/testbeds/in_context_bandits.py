"""DPT in new bandits, beside rules that know bandits: online, from a dataset, and as a distribution over arms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import torch as th
from stable_baselines3.common.utils import LinearSchedule

from ...agents import make
from ...agents.control.dpt_tasks import drawn, mixtures
from ...agents.models.in_context import Context
from ...envs.core import Ints
from ..statistics import Floats
from .arm_bandits import (
    ArmBanditVectorEnv,
    Policy,
    empirical_mean,
    greedy,
    lcb,
    optimal_arm_probabilities,
    thompson,
    ucb,
)

__all__ = ["lcb", "ucb"]

TUNING = 1000
"""The seed whose bandits choose the constants of UCB and LCB; no result comes from it."""
CONSTANTS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
ARMS = 5
ONLINE, OFFLINE, TV, TV_GREEDY, TV_EVEN = "regret", "suboptimality", "TV", "TV of the likeliest", "TV of even odds"
Scores = Mapping[str, float]


@dataclass(frozen=True)
class Rule:
    """A condition: what acts online and what chooses from a dataset, as functions of a constant; None for DPT.

    Attributes:
        online: acts.
        offline: chooses.
        tuned: whether the constant matters.
    """

    online: Callable[[float], Policy] | None = None
    offline: Callable[[float], Policy] | None = None
    tuned: bool = False


DPT = Rule()
UCB = Rule(online=ucb, tuned=True)
LCB = Rule(offline=lcb, tuned=True)
MEAN = Rule(online=lambda constant: empirical_mean, offline=lambda constant: greedy)
THOMPSON = Rule(online=lambda constant: thompson("gaussian"))


@dataclass(frozen=True, kw_only=True)
class InContextBandits:
    """The testbed.

    Attributes:
        pulls: of Gaussian bandits, for regret and datasets.
        short: pulls of Bernoulli bandits, for the distribution over arms.
        sizes: of datasets.
        tests: bandits of a score.
        n_envs: bandits of a round of pretraining.
        rounds: of pretraining with Gaussian bandits.
        short_rounds: of pretraining with Bernoulli bandits.
        gradient_steps: after each.
        settings: of all agents.
        rate: learning rate in the beginning, from where it falls to 0.
    """

    pulls: int = 200
    short: int = 50
    sizes: tuple[int, ...] = (5, 10, 25, 50, 100, 200)
    tests: int = 400
    n_envs: int = 64
    rounds: int = 150
    short_rounds: int = 200
    gradient_steps: int = 6
    settings: tuple[tuple[str, Any], ...] = (("batch_size", 32), ("queries_per_task", 8))
    rate: float = 0.003

    def family(self, kind: str, count: int, split: str) -> ArmBanditVectorEnv:
        """Bandits of a kind."""
        pulls = self.pulls if kind == "gaussian" else self.short
        return ArmBanditVectorEnv(count, kind=kind, arms=ARMS, pulls=pulls, split=split)

    def pretrained(self, kind: str, seed: int) -> Any:
        """The agent, pretrained with bandits of a kind."""
        long = kind == "gaussian"
        rounds, pulls = (self.rounds, self.pulls) if long else (self.short_rounds, self.short)
        env, rate = self.family(kind, self.n_envs, "train"), LinearSchedule(self.rate, 0.0, 1.0)
        fixed: dict[str, Any] = {"learning_rate": rate, "context_length": pulls, "gradient_steps": self.gradient_steps}
        agent: Any = make("dpt", env, seed=seed, device="cpu", **fixed, **dict(self.settings))
        agent.learn(rounds * pulls * self.n_envs, log_interval=None)
        return agent

    def first(self, seed: int) -> int:
        """Names the test bandits of a seed."""
        return 2_000_000 + self.tests * seed

    def run(self, condition: Rule, rate: float, seed: int) -> Scores:
        """Regret and suboptimality as shares of those of arms at random; of DPT also total variation."""
        if condition is DPT:
            agent = self.pretrained("gaussian", seed)
            return self._online_dpt(agent, seed) | self._offline_dpt(agent, seed) | self._distance(seed)
        found: dict[str, float] = {}
        for score, factory in ((ONLINE, condition.online), (OFFLINE, condition.offline)):
            if factory is not None:
                constant = self.constant(factory, score) if condition.tuned else 0.0
                found[score] = self._score(factory(constant), score, seed)
        return found

    @lru_cache(maxsize=8)  # noqa: B019 (frozen, and few)
    def constant(self, factory: Callable[[float], Policy], score: str) -> float:
        """The one of :data:`CONSTANTS` that does best in the bandits of the tuning seed."""
        return min(CONSTANTS, key=lambda constant: self._score(factory(constant), score, TUNING))

    def _score(self, policy: Policy, score: str, seed: int) -> float:
        if score == ONLINE:
            return self._played(policy, seed)
        context, means = self.data(seed)
        counts, sums = told(context)
        rng = np.random.default_rng([2306, seed])
        return float(np.mean([gap(means, policy(counts[:, n], sums[:, n], rng)) for n in self.sizes]))

    def _played(self, policy: Policy, seed: int) -> float:
        """Regret of a rule."""
        env, rng = self.family("gaussian", self.tests, "test"), np.random.default_rng([2306, seed])
        _, info = env.reset(seed=self.first(seed))
        means, rows = info["means"], np.arange(self.tests)
        counts, sums = np.zeros((self.tests, ARMS), np.int64), np.zeros((self.tests, ARMS))
        regrets = []
        for _ in range(self.pulls):
            arms = drawn(rng, policy(counts, sums, rng))
            _, rewards, *_ = env.step(arms)
            counts[rows, arms] += 1
            sums[rows, arms] += rewards
            regrets.append(gap(means, np.eye(ARMS)[arms]))
        return float(np.mean(regrets))

    def _online_dpt(self, agent: Any, seed: int) -> dict[str, float]:
        env = self.family("gaussian", self.tests, "test")
        _, info = env.reset(seed=self.first(seed))
        actions = agent.deploy(env, seed=self.first(seed)).actions
        return {ONLINE: float(np.mean([gap(info["means"], np.eye(ARMS)[arms]) for arms in actions.T]))}

    def data(self, seed: int) -> tuple[Context, Floats]:
        """Datasets of the test bandits by behaviour as in pretraining, and the bandits' means ``[B, A]``."""
        env, rng = self.family("gaussian", self.tests, "test"), np.random.default_rng([2307, seed])
        seen, info = env.reset(seed=self.first(seed))
        behaviour, columns = mixtures(rng, self.tests, ARMS), []
        for _ in range(max(self.sizes)):
            arms = drawn(rng, behaviour)
            _, rewards, *_ = env.step(arms)
            columns.append((arms, rewards))
        arms, rewards = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        nothing = np.zeros((*arms.shape, 1))
        return Context.of(nothing, arms, rewards, nothing), info["means"]

    def _offline_dpt(self, agent: Any, seed: int) -> dict[str, float]:
        context, means = self.data(seed)
        seen, gaps = np.zeros((self.tests, 1), np.float32), []
        for n in self.sizes:
            some = Context(*(part[:, :n] for part in context))
            arms, _ = agent.predict(seen, state=some, deterministic=True)
            gaps.append(gap(means, np.eye(ARMS)[arms]))
        return {OFFLINE: float(np.mean(gaps))}

    def _distance(self, seed: int) -> dict[str, float]:
        """Total variation to Thompson sampling at every fifth pull of DPT's own in Bernoulli bandits."""
        agent = self.pretrained("bernoulli", seed)
        env = self.family("bernoulli", self.tests, "test")
        context = agent.deploy(env, seed=self.first(seed)).context
        moments = np.arange(0, self.short, 5)
        seen = np.arange(self.short) < moments[:, None]
        with th.no_grad():
            queries = np.zeros((self.tests, len(moments), 1), np.float32)
            ours = agent.policy.logits(queries, context, seen).softmax(dim=-1).cpu().numpy()
        counts, sums = told(context)
        exact = optimal_arm_probabilities(counts[:, moments].reshape(-1, ARMS), sums[:, moments].reshape(-1, ARMS))

        def distance(given: Any) -> float:
            return float(np.abs(given - exact).sum(axis=1).mean() / 2)

        likeliest = np.eye(ARMS)[exact.argmax(axis=1)]
        return {
            TV: distance(ours.reshape(-1, ARMS)),
            TV_GREEDY: distance(likeliest),
            TV_EVEN: distance(np.full(ARMS, 1 / ARMS)),
        }

    def smallest(self) -> Self:
        """A round, two bandits."""
        small: dict[str, Any] = {
            "pulls": 10,
            "short": 10,
            "sizes": (5, 10),
            "tests": 3,
            "n_envs": 2,
            "rounds": 1,
            "short_rounds": 1,
        }
        return replace(self, **small)


def told(context: Context) -> tuple[Ints, Floats]:
    """How often each arm was pulled before each pull and after the last, and the sums of rewards ``[B, n + 1, A]``."""
    one = np.eye(ARMS)[context.actions]
    start = np.zeros((len(one), 1, ARMS))
    counts = np.concatenate([start, one.cumsum(axis=1)], axis=1).astype(np.int64)
    earned = one * context.rewards.astype(np.float64)[..., None]
    return counts, np.concatenate([start, earned.cumsum(axis=1)], axis=1)


def gap(means: Floats, chosen: Floats) -> float:
    """What arms by probabilities ``[B, A]`` earn less than the best, as a share of what even odds earn less."""
    best = means.max(axis=1)
    return float((best - (means * chosen).sum(axis=1)).mean() / (best - means.mean(axis=1)).mean())
