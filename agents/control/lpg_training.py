r"""Meta-training of learned update rules: by the gradient of what agents earn after K updates, on levels of a teacher.

Lifetimes of agents begin on levels that a teacher draws (:class:`...wrappers.curricula.alp_gmm.RandomTeacher`: uniform;
:class:`...wrappers.curricula.groove.LevelReplay`: by scores). A meta-update takes n lifetimes K updates further and
descends

.. math::
    -E[\log\pi_{\theta_K}(a|s)\,A] - \beta_0 H(\pi) - \beta_1 H(y) + \beta_2 \hat\pi^2 + \beta_3 |\hat y|^2

where A are normalised advantages (GAE, from a table of values that each lifetime has for this alone). When a lifetime
ends, its level is scored, for instance by the algorithmic regret: what A2C earns there after a lifetime of its own,
minus what the agent of the rule earns.

Paper: Discovering General Reinforcement Learning Algorithms with Adversarial Environment Design (2023); the
loss and its coefficients are those of the authors' code, github.com/EmptyJackson/groove.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...wrappers.curricula.alp_gmm import RandomTeacher
from ..optimizers import Adam
from .lpg import (
    LPGRule,
    Rates,
    Rollout,
    Tables,
    ascent,
    at,
    chosen_logp,
    clipped,
    gradient,
    log_shares,
    lpg_update,
    roll_out,
)
from .lpg_worlds import Floats, GridFamily, Ints, Worlds

Teacher = Callable[[int, int], RandomTeacher]
"""Makes a teacher of levels of so many numbers, from a seed."""


def advantages(tables: Tables, seen: Rollout, gamma: float, lambda_: float) -> Tensor:
    """Generalised advantage estimates ``[n, workers, T]`` by the tables of values."""
    value, after = at(tables.value, seen.state), at(tables.value, seen.next_state)
    going = 1 - seen.done
    delta = seen.reward + gamma * going * after - value
    found = torch.zeros_like(delta)
    ahead = torch.zeros_like(delta[..., 0])
    for t in range(delta.shape[-1] - 1, -1, -1):
        ahead = delta[..., t] + gamma * lambda_ * going[..., t] * ahead
        found[..., t] = ahead
    return found


def normalised(advantage: Tensor) -> Tensor:
    """Advantages ``[n, workers, T]`` with mean 0 and deviation 1 for each agent."""
    flat = advantage.flatten(1)
    mean, deviation = flat.mean(dim=1), flat.std(dim=1, correction=0)
    return (advantage - mean[:, None, None]) / (deviation[:, None, None] + 1e-8)


@dataclass(frozen=True)
class A2C:
    """The hand-made learner that regret is measured against; tabular, with the authors' settings.

    Attributes:
        gamma: discount.
        lambda_: of the advantages.
        entropy: coefficient of the policy's entropy.
        rates: of the steps.
    """

    gamma: float = 0.99
    lambda_: float = 0.95
    entropy: float = 0.01
    rates: Rates = Rates()

    def update(self, tables: Tables, seen: Rollout) -> Tables:
        """One update of n agents."""
        found = advantages(tables, seen, self.gamma, self.lambda_)
        logp = log_shares(at(tables.policy, seen.state))
        entropy = -(logp.exp() * logp).sum(dim=-1, keepdim=True)
        spread = gradient(tables.policy, seen.state, -logp.exp() * (logp + entropy))
        up = ascent(tables.policy, seen, normalised(found)) + self.entropy * spread
        policy = tables.policy + self.rates.policy * clipped(up, self.rates.clip)
        return replace(self.valued(tables, seen, found), policy=policy)

    def valued(self, tables: Tables, seen: Rollout, found: Tensor) -> Tables:
        """The tables after a step of the values towards their targets."""
        up = clipped(gradient(tables.value, seen.state, 2 * found), self.rates.clip)
        return replace(tables, value=tables.value + self.rates.prediction * up)

    @torch.no_grad()
    def trained(self, worlds: Worlds, updates: int, workers: int, steps: int, rng: np.random.Generator) -> Tables:
        """Agents that have learnt for so many updates."""
        tables, state = Tables.fresh(worlds, 1, rng), worlds.reset(workers, rng)
        for _ in range(updates):
            seen, state = roll_out(worlds, tables, state, steps, rng)
            tables = self.update(tables, seen)
        return tables


@dataclass(frozen=True)
class MetaSettings:
    """How rules are trained.

    Departures: cohorts of lifetimes take turns, so that all ages are seen (the authors' agents end at ages of their
    own); what agents earn is computed exactly, not estimated by playing; batches, lifetimes and the number of
    meta-updates are small, and the learning rate is larger; meta-gradients are clipped; policies begin uniform, and
    the table of values learns at the rate of y.

    Attributes:
        learning_rate: of Adam (the authors' is 1e-4).
        decay: meta-updates over which the learning rate falls to 0 on a line; None for the authors' constant one.
        clip: largest norm of a meta-gradient.
        agents: n, in a cohort.
        cohorts: that take turns.
        workers: of each agent.
        steps: of a worker for an update.
        updates: K, of the agents for a meta-update.
        lifetime: meta-updates.
        policy_entropy: beta_0.
        prediction_entropy: beta_1.
        policy_l2: beta_2.
        prediction_l2: beta_3.
        units: of the rule's LSTM.
    """

    learning_rate: float = 5e-3
    decay: int | None = None
    clip: float = 0.5
    agents: int = 32
    cohorts: int = 4
    workers: int = 4
    steps: int = 20
    updates: int = 5
    lifetime: int = 8
    policy_entropy: float = 0.05
    prediction_entropy: float = 0.001
    policy_l2: float = 0.005
    prediction_l2: float = 0.001
    units: int = 32


class Ended(NamedTuple):
    """Lifetimes that have ended, and what levels may be scored by; ``[n]`` each but the levels ``[n, d]``."""

    levels: Floats
    earned: Floats  # by the agents of the rule
    antagonist: Floats  # by A2C, after as many updates
    positive_value_loss: Floats
    value_loss: Floats

    @property
    def regret(self) -> Floats:
        """Algorithmic regret."""
        return self.antagonist - self.earned


Score = Callable[[Ended], Floats]


@dataclass
class Cohort:
    """Lifetimes of one age, both in meta-updates."""

    levels: Floats
    worlds: Worlds
    tables: Tables
    state: Ints
    lifetime: int
    age: int = 0
    value_losses: tuple[Floats, Floats] = field(default_factory=lambda: (np.zeros(0), np.zeros(0)))


class MetaTrainer:
    """Trains a rule on levels of a family.

    Args:
        family: the levels.
        teacher: draws them; uniformly if None.
        score: what the teacher is told of a level; its regret if None.
        settings: sizes and rates.
        seed: of everything.
    """

    def __init__(
        self,
        family: GridFamily,
        *,
        teacher: RandomTeacher | None = None,
        score: Score | None = None,
        settings: MetaSettings | None = None,
        seed: int = 0,
    ) -> None:
        self.family, self.settings = family, settings or MetaSettings()
        self.rng = np.random.default_rng([2310, seed])
        bounds = np.zeros(family.dimensions), np.ones(family.dimensions)
        seeds = [int(one) for one in self.rng.integers(2**31, size=2)]
        self.teacher = teacher or RandomTeacher(*bounds, seed=seeds[0])
        self.score: Score = score or (lambda ended: ended.regret)
        self.rule = LPGRule(units=self.settings.units, seed=seeds[1])
        self.optimizer = Adam(self.rule.parameters(), lr=self.settings.learning_rate)
        self.antagonist, self.rates = A2C(), Rates()
        self.ended: list[Ended] = []
        """All lifetimes so far, in the order in which they ended."""
        self.steps = 0
        """Meta-updates so far."""
        count = self.settings.cohorts
        self.cohorts = [self._begun(max(1, (i + 1) * self.settings.lifetime // count)) for i in range(count)]

    def train(self, steps: int) -> LPGRule:
        """Takes so many meta-updates, and returns the rule."""
        for _ in range(steps):
            turn = self.steps % len(self.cohorts)
            cohort = self.cohorts[turn]
            self._descend(self._advanced(cohort))
            self.steps += 1
            cohort.age += 1
            if cohort.age == cohort.lifetime:
                self._score(cohort)
                self.cohorts[turn] = self._begun(self.settings.lifetime)
        return self.rule

    def _begun(self, lifetime: int) -> Cohort:
        levels = np.stack([self.teacher.sample() for _ in range(self.settings.agents)])
        worlds = self.family.worlds(levels)
        tables = Tables.fresh(worlds, self.rule.predictions, self.rng)
        return Cohort(levels, worlds, tables, worlds.reset(self.settings.workers, self.rng), lifetime)

    def _advanced(self, cohort: Cohort) -> Tensor:
        """Takes a cohort K updates further; the loss of the rule for it."""
        s, tables = self.settings, cohort.tables
        penalty, kept = torch.zeros(()), []
        for _ in range(s.updates):
            seen, cohort.state = roll_out(cohort.worlds, tables, cohort.state, s.steps, self.rng)
            tables, wanted = lpg_update(self.rule, tables, seen, self.rates)
            kept.append(seen)
            penalty = penalty + (
                s.policy_l2 * wanted.policy.square().mean()
                + s.prediction_l2 * wanted.prediction.square().sum(dim=-1).mean()
                - s.policy_entropy * _entropy(at(tables.policy, seen.state))
                - s.prediction_entropy * _entropy(at(tables.prediction, seen.state))
            )
        after, cohort.state = roll_out(cohort.worlds, tables, cohort.state, s.steps, self.rng)
        advantage = self._valued(cohort, tables, [*kept, after])
        return penalty / s.updates - (chosen_logp(tables.policy, after) * normalised(advantage)).mean()

    @torch.no_grad()
    def _valued(self, cohort: Cohort, tables: Tables, rollouts: list[Rollout]) -> Tensor:
        """Lets the lifetimes' values learn from all rollouts; the advantages of the last one."""
        tables = tables.detached()
        found = torch.zeros(())
        for seen in rollouts:
            found = advantages(tables, seen, self.antagonist.gamma, self.antagonist.lambda_)
            tables = self.antagonist.valued(tables, seen, found)
        cohort.tables, flat = tables, found.flatten(1)
        cohort.value_losses = flat.clamp(min=0).mean(dim=1).numpy(), flat.abs().mean(dim=1).numpy()
        return found

    def _descend(self, loss: Tensor) -> None:
        left = 1.0 if self.settings.decay is None else max(1 - self.steps / self.settings.decay, 0.0)
        self.optimizer.param_groups[0]["lr"] = left * self.settings.learning_rate
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.rule.parameters(), self.settings.clip)
        self.optimizer.step()

    def _score(self, cohort: Cohort) -> None:
        """Tells the teacher of levels whose lifetimes have ended."""
        s = self.settings
        rival = self.antagonist.trained(cohort.worlds, cohort.lifetime * s.updates, s.workers, s.steps, self.rng)
        earned, best = (cohort.worlds.worth(one.probabilities()) for one in (cohort.tables, rival))
        ended = Ended(cohort.levels, earned, best, *cohort.value_losses)
        for level, score in zip(cohort.levels, self.score(ended), strict=True):
            self.teacher.update(level, float(score))
        self.ended.append(ended)


def _entropy(logits: Tensor) -> Tensor:
    logp = log_shares(logits)
    return -(logp.exp() * logp).sum(dim=-1).mean()


def meta_train(
    family: GridFamily,
    *,
    steps: int = 300,
    teacher: RandomTeacher | None = None,
    score: Score | None = None,
    settings: MetaSettings | None = None,
    seed: int = 0,
) -> LPGRule:
    """A rule that was trained on levels of ``family`` for so many meta-updates; see :class:`MetaTrainer`.

    Unless settings are given, the learning rate falls to 0 over the meta-updates.
    """
    settings = settings or MetaSettings(decay=steps)
    return MetaTrainer(family, teacher=teacher, score=score, settings=settings, seed=seed).train(steps)
