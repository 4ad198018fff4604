"""Proofs with a step that pays and leads nowhere: the environment pays for success and, in each step, for its score.

The task of :mod:`.proofs`. Filler is scored as steps without fault are, so that sixteen of them without a proof are
paid more than a proof is. Rewards of steps stand on their steps, that of success on the last one.
"""

from dataclasses import dataclass, replace

import torch as th

from ...agents.language.rollouts import Rollouts
from ..statistics import Floats
from .paid_sequences import told
from .proofs import ProofLearner, Proofs


@dataclass(frozen=True)
class FarmedProofs(Proofs):
    """The task; its outcome is success and steps at every moment."""

    def learner(self, seed: int) -> "FarmingLearner":
        """The policy that training starts from."""
        return FarmingLearner(self, self.problems(seed), seed)


class FarmingLearner(ProofLearner):
    """The policy; its attempts are paid for success and for steps together."""

    @th.no_grad()
    def attempt(self, problem: th.Tensor) -> Rollouts:
        """One attempt at each problem ``[B]``."""
        batch = told(super().attempt(problem))
        paid = batch.need("step_reward") + batch.last_token() * batch.reward[:, None]
        return replace(batch, reward=paid.sum(1).to(batch.reward.dtype), step_reward=paid)


def success(run: Floats) -> float:
    """After training."""
    return float(run[-1, 0])


def gained(run: Floats) -> float:
    """Success after training minus that before."""
    return float(run[-1, 0] - run[0, 0])
