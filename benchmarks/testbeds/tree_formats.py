"""Formats on the answer tree: the first choice of a completion is its format, and each format has its own correct ones.

The base policy mixes four formats, one with another share and skill on average in each task. In every format the
completion that the teacher likes best is correct, so that a policy could solve a problem in any of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..analysis.echo_chamber import dominant, predicted
from .answer_tree import AnswerTree
from .course import Course
from .testbed import Method
from .tree_learner import Learner
from .tree_task import TreeTask, along_paths, node_logp

LEAST = 0.9


@dataclass(frozen=True, kw_only=True)
class FormatTree(AnswerTree):
    """The testbed."""

    def task(self, seed: int) -> TreeTask:
        """As :meth:`.answer_tree.AnswerTree.task`, with a correct completion in every format."""
        task = super().task(seed)
        best = task.reward.argmax(1)
        teacher = self._teacher(seed)
        logits = node_logp(task.tree, task.features, teacher)
        regret = along_paths(task.tree, logits.amax(-1, keepdim=True) - logits)
        first = task.tree.choices[:, 0]
        reward = torch.zeros_like(task.reward)
        for form in range(self.branching):
            rows = (first == form).nonzero()[:, 0]
            reward.scatter_(1, rows[regret[:, rows].argmin(1)][:, None], 1.0)
        assert (reward.gather(1, best[:, None]) == 1).all()
        return replace(task, reward=reward)

    def _teacher(self, seed: int) -> Tensor:
        tree_size = self.width, sum(self.branching**d for d in range(self.depth)) * self.branching
        return torch.from_numpy(np.random.default_rng([2025, seed]).normal(size=tree_size))

    def run(self, condition: Method, rate: float, seed: int) -> Course:
        """The course, with what became of formats at its end."""
        learner = self.learner(condition, rate, seed)
        moments: list[tuple[dict[str, float], dict[str, float]]] = []
        watched = _watching(learner, moments, self.every)
        moments.append(shares_of(learner))
        course = replace(self.train(condition, learner), at_end={})
        watched()
        return replace(course, at_end=_told(moments))


def _watching(learner: Learner, moments: list[Any], every: int) -> Callable[[], None]:
    """Notes formats after every so many iterations, and once more when it is called."""
    iterate, count = learner.iterate, 0

    def noted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        rollouts = iterate(*arguments)
        if count % every == 0:
            moments.append(shares_of(learner))
        return rollouts

    learner.iterate = noted  # type: ignore[method-assign]
    return lambda: moments.append(shares_of(learner))


def shares_of(learner: Learner) -> tuple[dict[str, float], dict[str, float]]:
    """Mean share of every format on held-out problems, and how often its completions are correct; exact."""
    task = learner.task
    chance, reward = learner.distribution()[task.trained :], task.reward[task.trained :]
    first = task.tree.choices[:, 0]
    share = {str(form): chance[:, first == form].sum(1) for form in range(task.tree.branching)}
    right = {str(form): (chance * reward)[:, first == form].sum(1) for form in range(task.tree.branching)}
    means = {name: float(of.mean()) for name, of in share.items()}
    return means, {name: float(right[name].mean()) / means[name] for name in means}


def _told(moments: list[tuple[dict[str, float], dict[str, float]]]) -> dict[str, float]:
    course = [share for share, _ in moments]
    winner = max(course[-1], key=lambda name: course[-1][name])
    best_at_first = max(moments[0][1], key=lambda name: moments[0][1][name])
    return {
        "largest share before": max(course[0].values()),
        "largest share after": course[-1][winner],
        "one has taken over": float(dominant(course, least=LEAST) is not None),
        "it was the commonest": float(course[0][winner] == max(course[0].values())),
        "it was the most correct": float(winner == best_at_first),
        "it was predicted": float(winner == predicted(*moments[0])),
    }
