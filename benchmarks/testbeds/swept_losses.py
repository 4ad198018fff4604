"""Swept losses: one offline learner with several losses of V, each at several values of the loss's one setting.

The data are Pendulum's, a tenth of them swing-ups and the rest random: cloning all of it earns nothing, so that what is
earned is owed to values that tell good actions apart.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import torch as th

from ...agents.control.datasets import Transitions
from ...agents.control.f_dvl_recoil import chi_square_loss, total_variation_loss
from ..statistics import Floats
from .control import Agent, Control, Phase, last_score
from .offline_mixture import OfflineMixture
from .pendulum import NETWORKS, SHARED, TASK, SwingUps

SETTINGS: dict[str, Any] = {**SHARED, "reward_scale": "auto", "gamma": 0.97, "tau": 0.01, "policy_kwargs": NETWORKS}


@dataclass(frozen=True)
class Swept:
    """A condition of this testbed.

    Attributes:
        loss: f-DVL's "chi-square" or "total-variation", or "kl", which is XQL's.
        values: of its setting: lambda, or the temperature.
    """

    loss: str
    values: tuple[float, ...]

    def agents(self) -> list[Agent]:
        """One for each value."""
        return [Agent("f-dvl-recoil", {"divergence": self.loss, "temperature": value}) for value in self.values]

    def by_value(self, scores: Floats) -> dict[str, dict[str, float]]:
        """Means over seeds of scores ``[seeds, values]``, by value and task."""
        means = scores.mean(axis=0).round(3).tolist()
        return {f"{value:g}": {TASK: mean} for value, mean in zip(self.values, means, strict=True)}


@dataclass(frozen=True, kw_only=True)
class SweptLosses:
    """The testbed.

    Attributes:
        swing_ups: data of each seed, and scores: 0 random actions, 1 the swing-up.
        updates: of each agent.
        mixture: for imitation, which is measured beside.
    """

    swing_ups: SwingUps = field(default_factory=lambda: SwingUps(good=20, trajectories=200, episodes=10))
    updates: int = 2000
    mixture: OfflineMixture = field(default_factory=OfflineMixture)

    def run(self, condition: Swept, rate: float, seed: int) -> list[float]:
        """The score at each value; agents bring their own learning rate where ``rate`` is NaN."""
        bed = Control(
            env=TASK,
            settings=SETTINGS,
            data=lambda seed: dataset(self.swing_ups, seed),
            phases=(Phase("data", self.updates),),
            score=self.swing_ups.score,
        )
        return [last_score(bed.run(agent, rate, seed)) for agent in condition.agents()]

    def smallest(self) -> Self:
        """Few short trajectories, hardly any updates."""
        few = replace(self.swing_ups, good=1, trajectories=4, episodes=2, steps=20)
        return replace(self, swing_ups=few, updates=3, mixture=self.mixture.smallest())


@lru_cache(maxsize=1)
def dataset(swing_ups: SwingUps, seed: int) -> Transitions:
    """The same for all conditions."""
    return swing_ups.dataset(seed)


def slopes(outliers: tuple[float, ...] = (1.0, 10.0, 30.0)) -> dict[str, list[float]]:
    """How strongly an error Q - V = x pulls V up with each loss, at lambda 0.7 or temperature 2 without limits."""
    found = {}
    for name, loss in {
        "chi-square": lambda x: chi_square_loss(x, 0.7),
        "total-variation": lambda x: total_variation_loss(x, 0.7),
        "kl, as the paper defines it": lambda x: (x / 2).exp() - x / 2 - 1,
    }.items():
        error = th.tensor(outliers, dtype=th.float64, requires_grad=True)
        (slope,) = th.autograd.grad(loss(error).sum(), error)  # type: ignore[no-untyped-call]
        found[name] = [round(value, 3) for value in slope.tolist()]
    return found
