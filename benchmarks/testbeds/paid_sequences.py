"""Sequences that are paid by reward components: each batch passes through them before the objective reads it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import torch as th

from ...agents.language.collect import shaped
from ...agents.language.rollouts import Rollouts
from ...wrappers.rewards.catalogue import Choices, load_all
from .sequences import SequenceMethod, Sequences


@dataclass(frozen=True)
class Paid(SequenceMethod):
    """A condition with rewards.

    Attributes:
        rewards: as agents take them: names, or names with parameters. Each run has its own.
    """

    rewards: Choices = None


@dataclass(frozen=True, kw_only=True)
class PaidSequences(Sequences):
    """The testbed: rewards are told the share of training that is over, as agents tell it them."""

    def run(self, condition: Paid, rate: float, seed: int) -> Any:  # type: ignore[override]
        """Trains a condition on the task of ``seed``."""
        return super().run(replace(condition, sees=self.payer(condition.rewards)), rate, seed)

    def payer(self, rewards: Choices) -> Callable[[Rollouts, th.Generator], Rollouts]:
        """Shapes one batch after another."""
        components, done = load_all(rewards), count()

        def pay(batch: Rollouts, generator: th.Generator) -> Rollouts:
            context: Any = SimpleNamespace(progress=next(done) / self.iterations)
            for reward in components:
                batch = shaped(batch, reward.shape(batch, context))
            return batch

        return pay


def told(rollouts: Rollouts, **columns: Any) -> Rollouts:
    """With what rewards read besides: success of episodes, and other columns."""
    return replace(rollouts, info={**rollouts.info, "success": rollouts.reward > 0}, **columns)
