"""Errands whose episodes are cut off while the policy learns, after a number of moves for each stage of training.

Training takes a number of moves, in stages of equal parts of them, so that shorter episodes are more of them. What a
policy comes to is judged without being cut off.
"""

from dataclasses import dataclass, field, replace
from typing import Self

import torch as th

from ...agents.language.rollouts import PolicyOut
from ..statistics import Floats
from .errands import Errands, play
from .sequences import columns
from .testbed import Method


@dataclass(frozen=True)
class Staged(Method):
    """A condition of this testbed.

    Attributes:
        moves: of an episode at most, a number for each stage.
    """

    moves: tuple[int, ...] = (30,)


@dataclass(frozen=True, kw_only=True)
class StagedErrands:
    """The testbed.

    Attributes:
        task: the errands; ``moves`` of it are those that a policy is judged with.
        budget: moves of training in all.
        moments: evaluations, the first one before training.
    """

    task: Errands = field(default_factory=Errands)
    budget: int = 400_000
    moments: int = 11

    def run(self, condition: Staged, rate: float, seed: int) -> Floats:
        """Trains a condition on the grid of ``seed``; its success ``[moments]`` at equal numbers of moves."""
        learner, objective = self.task.learner(seed), condition.objective()
        optimizer = th.optim.Adam(learner.weights(), lr=rate)
        found, taken = [learner.exact()], 0
        while taken < self.budget:
            stage = taken * len(condition.moves) // self.budget
            drawn = learner.grid.errands(self.task.errands, learner.rng, but=learner.unseen).repeat(self.task.group, 0)
            episodes = play(learner.grid, drawn, learner.chances(), learner.rng, moves=condition.moves[stage])
            batch = learner.as_rollouts(episodes)
            loss, _ = objective(batch, PolicyOut(learner.logp(batch), batch.entropy))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            taken += int(batch.length.sum())
            while len(found) < self.moments and taken >= self.budget * len(found) / (self.moments - 1):
                found.append(learner.exact())
        return columns(found)

    def smallest(self) -> Self:
        """Few moves and errands."""
        return replace(self, task=self.task.smallest(), budget=4_000, moments=3)


def staged(*moves: int, method: str = "grpo", **params: float) -> Staged:
    """A method of the catalogue, GRPO without KL penalty by default, with these stages."""
    return Staged(method, params or ({"kl_coef": 0.0} if method == "grpo" else {}), moves=moves)
