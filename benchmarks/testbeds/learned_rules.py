"""Update rules that are meta-trained on small gridworlds, and tried on larger ones and on worlds that are no grids.

Conditions are how levels are drawn for meta-training. A rule is judged by what tabular agents earn that learnt by it
from scratch in worlds it was not trained on, in shares of what the best policies earn there.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple, Self

import numpy as np

from ...agents.control.lpg import LPGAgent, LPGRule
from ...agents.control.lpg_training import A2C, Ended, MetaSettings, MetaTrainer
from ...agents.control.lpg_worlds import Floats, GridFamily, RandomWorlds, Worlds
from ...wrappers.curricula.alp_gmm import RandomTeacher
from ...wrappers.curricula.groove import LevelReplay

Score = Literal["regret", "positive_value_loss", "value_loss"]
SETS = ("training family", "larger grids", "no grids")


class Levels(NamedTuple):
    """How levels are drawn."""

    score: Score | None = None  # by which they are replayed; None: all are new


class Trained(NamedTuple):
    """A rule after meta-training; what is earned is a share of the optimum over a set of worlds."""

    earned: dict[str, float]  # by agents of the rule, by set
    shift: float  # regret on levels that were replayed minus on new ones of the same cohort, mean over cohorts
    regret: Floats  # [cohorts] mean over levels, in the order in which their lifetimes ended

    @property
    def transfer(self) -> float:
        """Mean over the two sets that are not the training family."""
        return (self.earned[SETS[1]] + self.earned[SETS[2]]) / 2


class Measured(NamedTuple):
    """What is earned without meta-training, by set."""

    random: dict[str, float]
    untrained: dict[str, float]
    a2c: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class LearnedRules:
    """The testbed.

    Attributes:
        family: that rules are trained on.
        larger: gridworlds of other sizes.
        settings: of meta-training, but for the learning rate.
        meta_steps: meta-updates.
        buffer: levels that replay remembers.
        worlds: in each set.
        lifetimes: updates of an agent, by set.
        workers: of each agent that is tried.
    """

    family: GridFamily = GridFamily(sizes=(4, 6), walls=7)
    larger: GridFamily = GridFamily(sizes=(7, 8), walls=12, steps=(20, 60))
    settings: MetaSettings = MetaSettings()
    meta_steps: int = 300
    buffer: int = 128
    worlds: int = 40
    lifetimes: dict[str, int] = field(default_factory=lambda: dict(zip(SETS, (40, 80, 60), strict=True)))
    workers: int = 4

    def __hash__(self) -> int:
        return hash(repr(self))

    def run(self, condition: Levels, rate: float, seed: int) -> Trained:
        """Trains a rule and tries it."""
        bounds = np.zeros(self.family.dimensions), np.ones(self.family.dimensions)
        teacher = RandomTeacher(*bounds, seed=seed)
        if condition.score is not None:
            teacher = LevelReplay(*bounds, seed=seed, size=self.buffer, least=self.settings.agents)
        trainer = MetaTrainer(
            self.family,
            teacher=teacher,
            score=lambda ended: np.asarray(getattr(ended, condition.score or "regret")),
            settings=replace(self.settings, learning_rate=rate, decay=self.meta_steps),
            seed=seed,
        )
        rule = trainer.train(self.meta_steps)
        return Trained(self.tried(rule, seed), *regrets(trainer.ended))

    def sets(self, seed: int) -> dict[str, Worlds]:
        """The worlds that rules of a seed are tried in."""
        rng = np.random.default_rng([2310, seed, 1])
        grids = [one.worlds(rng.random((self.worlds, one.dimensions))) for one in (self.family, self.larger)]
        others = RandomWorlds(self.worlds, rng, states=50, actions=8, length=30)
        return dict(zip(SETS, (*grids, others), strict=True))

    def tried(self, rule: LPGRule, seed: int) -> dict[str, float]:
        """What agents earn that learnt by a rule, by set."""
        return {
            name: share(LPGAgent(rule, worlds, workers=self.workers, seed=seed).learn(self.lifetimes[name]), worlds)
            for name, worlds in self.sets(seed).items()
        }

    @lru_cache(maxsize=64)  # noqa: B019 (frozen, and few)
    def measured(self, seed: int) -> Measured:
        """The sets of a seed without meta-training."""
        untrained = MetaTrainer(self.family, settings=self.settings, seed=seed).rule
        chance, a2c = {}, {}
        for name, worlds in self.sets(seed).items():
            even = np.full((worlds.n, worlds.n_states, worlds.n_actions), 1 / worlds.n_actions)
            chance[name] = float(worlds.worth(even).sum() / worlds.worth().sum())
            rng = np.random.default_rng([seed, 2])
            tables = A2C().trained(worlds, self.lifetimes[name], self.workers, self.settings.steps, rng)
            a2c[name] = float(worlds.worth(tables.probabilities()).sum() / worlds.worth().sum())
        return Measured(chance, self.tried(untrained, seed), a2c)

    def smallest(self) -> Self:
        """Few meta-updates, short lifetimes, few worlds."""
        settings = replace(self.settings, agents=4, cohorts=2, lifetime=2, steps=5, updates=2, units=4)
        grids = GridFamily(sizes=(2, 3), objects=(1, 1), steps=(3, 6), walls=1)
        return replace(
            self,
            family=grids,
            larger=replace(grids, sizes=(4, 4)),
            settings=settings,
            meta_steps=8,
            buffer=8,
            worlds=3,
            lifetimes=dict.fromkeys(SETS, 2),
        )


def share(agent: LPGAgent, worlds: Worlds) -> float:
    """What an agent's policies earn of the optimum, over all its worlds together."""
    return float(agent.worth().sum() / worlds.worth().sum())


def regrets(ended: list[Ended]) -> tuple[float, Floats]:
    """How much more regret there is on levels that are replayed than on new ones, and the regret on all, by cohort.

    Levels of one cohort are compared, which meet the same rule: regret falls over training, and new levels come first.
    The difference is 0 where nothing is replayed.
    """
    seen: set[bytes] = set()
    shifts = []
    for cohort in ended:
        old = np.array([level.tobytes() in seen for level in cohort.levels])
        seen |= {level.tobytes() for level in cohort.levels}
        if old.any() and not old.all():
            shifts.append(float(cohort.regret[old].mean() - cohort.regret[~old].mean()))
    return float(np.mean(shifts)) if shifts else 0.0, np.array([cohort.regret.mean() for cohort in ended])
