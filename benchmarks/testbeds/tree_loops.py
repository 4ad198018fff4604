"""Other things to repeat on the answer tree than sampling and improving on-policy: stale, offline, prioritised."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ...agents.language.context import Context
from ...agents.language.providers.base import Provider
from ...agents.language.rollouts import Rollouts
from ..statistics import Floats
from .answer_tree import TreeMethod
from .testbed import Method
from .tree_learner import Learner

COPIES, BATCH = 16, 64


def stale(every: int) -> Callable[[Learner], Callable[[], None]]:
    """One gradient step an iteration on completions of a copy that is renewed every ``every`` iterations."""

    def begin(learner: Learner) -> Callable[[], None]:
        writer, taken = learner.twin(), 0

        def iterate() -> None:
            nonlocal taken
            if taken % every == 0:
                writer.weight.data.copy_(learner.weight)
            taken += 1
            rollouts = writer.sample(writer.draw().repeat_interleave(writer.group))
            learner.improve(rollouts)
            learner.completed += len(rollouts)

        return iterate

    return begin


def written_by_base(learner: Learner, copies: int) -> Rollouts:
    """``copies`` completions by the policy as it is of every problem to learn from."""
    return learner.sample(torch.arange(learner.task.trained).repeat_interleave(copies))


def offline(copies: int, batch: int) -> Callable[[Learner], Callable[[], None]]:
    """One gradient step an iteration on ``batch`` of the completions that the base policy wrote once."""

    def begin(learner: Learner) -> Callable[[], None]:
        data = written_by_base(learner, copies)

        def iterate() -> None:
            rows = torch.from_numpy(learner.rng.choice(len(data), batch, replace=False))
            learner.improve(data.take(rows))
            learner.completed += batch

        return iterate

    return begin


def estimates(learner: Learner) -> Floats:
    """The tracker's estimate of the success at every problem to learn from."""
    return np.array([learner.tracker.success(problem) for problem in range(learner.task.trained)])


def uncertain(learner: Learner) -> Tensor:
    """Problems drawn without replacement, by sqrt(v (1 - v)) + 0.05 with the tracker's estimates v."""
    v = estimates(learner)
    weight = np.sqrt(v * (1 - v)) + 0.05
    drawn = learner.rng.choice(len(v), learner.prompts, replace=False, p=weight / weight.sum())
    return torch.from_numpy(drawn)


def prioritised(learner: Learner) -> Callable[[], Rollouts]:
    """Iterations on the problems of :func:`uncertain`."""
    return lambda: learner.iterate(uncertain(learner))


class OneNumber(Provider):
    """One half in place of a tracker's estimates."""

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With the same ``baseline`` for all."""
        return replace(rollouts, baseline=torch.full_like(rollouts.reward, 0.5))


def untracked(learner: Learner) -> Callable[[], Rollouts]:
    """Iterations of a learner that has no tracker but :class:`OneNumber`."""
    learner.providers["tracker"] = OneNumber()
    return learner.iterate


def topr(baseline: float = 0.0, negative_weight: float = 1.0, **parts: Method) -> TreeMethod:
    """The registry's TOPR, offline, with another loss, other weights or another baseline."""
    params = {"baseline": baseline, "negative_weight": negative_weight}
    return TreeMethod("topr", params, parts, iteration=offline(COPIES, BATCH))
