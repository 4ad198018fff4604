"""Formats on the answer tree: the first choice of a completion is its format, and each format has its own correct ones.

The base policy mixes four formats with shares that are the same for all problems, and is skilled in each to another
degree (noise in the weights below that choice). In every format the completion that the teacher likes best is correct,
so that a policy can solve a problem in any of them. A constant feature lets it prefer one for all problems.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..analysis.echo_chamber import dominant, predicted
from .answer_tree import AnswerTree, _tree
from .course import Course
from .testbed import Method
from .tree_learner import Learner
from .tree_task import Tree, TreeTask, along_paths, node_logp

LEAST = 0.9


@dataclass(frozen=True, kw_only=True)
class FormatTree(AnswerTree):
    """The testbed.

    Attributes:
        uneven: standard deviation of the formats' logits in the base policy.
        errors: least and largest weight of noise in a format; uniform in between.
    """

    uneven: float = 0.7
    errors: tuple[float, float] = (0.3, 2.0)

    def task(self, seed: int) -> TreeTask:
        """A task of its own for each seed, the same for all conditions."""
        tree, rng = _tree(self.depth, self.branching, False), np.random.default_rng([2504, seed])
        shape = self.width + 1, tree.n_nodes, tree.branching
        teacher, error = rng.normal(size=shape), rng.normal(size=shape)
        teacher[-1] = teacher[:, 0] = error[-1] = error[:, 0] = 0.0
        noise = rng.uniform(*self.errors, size=self.branching)[format_of(tree)]
        base = self.skill * teacher + noise[None, :, None] * error
        base[-1, 0] = self.uneven * rng.normal(size=self.branching)
        directions = rng.normal(size=(self.trained + self.held_out, self.width))
        lengths = rng.uniform(*self.sureness, size=(len(directions), 1))
        scaled = directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths
        features = torch.from_numpy(np.column_stack([scaled, np.ones(len(scaled))]))
        logits = node_logp(tree, features, torch.from_numpy(teacher.reshape(len(teacher), -1)))
        regret = along_paths(tree, logits.amax(-1, keepdim=True) - logits)
        first, reward = tree.choices[:, 0], torch.zeros_like(regret)
        for form in range(self.branching):
            rows = (first == form).nonzero()[:, 0]
            reward.scatter_(1, rows[regret[:, rows].argmin(1)][:, None], 1.0)
        return TreeTask(tree, features, reward, torch.from_numpy(base.reshape(len(base), -1)), self.trained)

    def run(self, condition: Method, rate: float, seed: int) -> Course:
        """The course, with the shares of formats at its end."""
        learner = self.learner(condition, rate, seed)
        moments: list[tuple[dict[str, float], dict[str, float]]] = []
        watched = _watching(learner, moments, self.every)
        moments.append(shares_of(learner))
        course = replace(self.train(condition, learner), at_end={})
        watched()
        return replace(course, at_end=_told(moments))


def format_of(tree: Tree) -> npt.NDArray[np.int64]:
    """The format that a node belongs to, ``[nodes]``; 0 at the root, which belongs to none."""
    forms = np.zeros(tree.n_nodes, np.int64)
    for node in range(1, tree.n_nodes):
        parent = (node - 1) // tree.branching
        forms[node] = forms[parent] if parent else node - 1
    return forms


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

    setattr(learner, "iterate", noted)  # noqa: B010 (a method of this one learner)
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
