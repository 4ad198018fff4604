"""Thoughts under a token budget: completions that begin long, rewards for a length, and how well both go together.

The task of :mod:`.thoughts`, whose completions have up to sixteen tokens and begin with about eight of them; the last
budget is a third of what is possible, as it is in CurriculumGRPO's experiments (87 of 256 tokens).
"""

from dataclasses import dataclass

import torch as th

from ...agents.language.rollouts import Rollouts
from ...wrappers.rewards.curriculumgrpo_budget import TIGHT, length_reward
from ..statistics import Floats
from .paid_sequences import told
from .thoughts import ThoughtLearner, Thoughts

FIRST = 16
LAST = round(TIGHT * FIRST)
"""Budgets in tokens."""


@dataclass(frozen=True)
class Budgets(Thoughts):
    """The task; its outcome is success and tokens at every moment."""

    def learner(self, seed: int) -> "BudgetLearner":
        """The policy that training starts from."""
        return BudgetLearner(self, self.problems(seed), seed)


class BudgetLearner(ThoughtLearner):
    """The policy; its completions say whether they are correct."""

    def rollouts(self) -> Rollouts:
        """A batch."""
        return told(super().rollouts())


def success(run: Floats) -> float:
    """After training."""
    return float(run[-1, 0])


def tokens(run: Floats) -> float:
    """After training."""
    return float(run[-1, 1])


def worth(run: Floats) -> float:
    """What success and mean tokens after training are worth under the last budget, by the weights of training."""
    return 0.6 * success(run) + 0.3 * float(length_reward(th.tensor(tokens(run)), LAST))
