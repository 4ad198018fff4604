"""Answer tree: softmax policies, linear in a problem's features, over the paths of a tree that can be enumerated.

A problem's completions are the paths of one tree of choices (:mod:`tiltyard.envs.text.tree` spells out the arithmetic
for a single problem). A problem is a vector of features; the policy is a softmax at every node, linear in the features,
so that what is learnt from one problem changes all others, as in a language model. Correct is what a hidden policy of
the same form, the *teacher*, likes best at every node, and the next best paths; training starts from the teacher's
weights plus noise. Longer feature vectors make surer policies: problems range from nearly solved to nearly hopeless.

Few enough paths to enumerate: success, pass@k and entropy are exact, on the problems trained on and on others. What is
measured is the methods' own code: objectives come from the registry, and a gradient step is the language trainer's
(:func:`tiltyard.agents.language.update.policy_gradient_step`). A step takes about a millisecond, so that a claim can
afford dozens of seeds, and a learning rate for every condition from one grid on seeds of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ..statistics import Floats
from .course import Course
from .testbed import Method
from .tree_learner import Learner, learn
from .tree_task import Tree, TreeTask, along_paths, node_logp

Iteration = Callable[[], Any]
"""What a condition repeats."""


@dataclass(frozen=True)
class TreeMethod(Method):
    """A condition of this testbed.

    Attributes:
        settings: of the learner that differ from the testbed's, such as ``{"group": 1}``.
        iteration: makes another thing to repeat than :meth:`.tree_learner.Learner.iterate`; see :mod:`.tree_loops`.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    iteration: Callable[[Learner], Iteration] | None = None


@dataclass(frozen=True, kw_only=True)
class AnswerTree:
    """The testbed.

    Attributes:
        depth: D, choices of a whole path.
        branching: b.
        stops: choice 0 ends a completion.
        trained: problems to learn from.
        held_out: problems to be judged on only.
        width: F; fewer features tie problems closer together.
        correct: correct completions a problem.
        skill: weight of the teacher in the base policy.
        noise: weight of noise in it.
        sureness: shortest and longest feature vector; uniform in between.
        iterations: of training.
        every: iterations from one evaluation to the next.
        prompts: problems an iteration.
        group: completions of each.
        epochs: passes over an iteration's completions.
        batch_size: completions a gradient step (None: all).
        at_end: measures a learner after training.
    """

    depth: int = 4
    branching: int = 4
    stops: bool = False
    trained: int = 256
    held_out: int = 128
    width: int = 6
    correct: int = 1
    skill: float = 1.0
    noise: float = 1.0
    sureness: tuple[float, float] = (1.0, 4.0)
    iterations: int = 60
    every: int = 10
    prompts: int = 8
    group: int = 8
    epochs: int = 1
    batch_size: int | None = None
    at_end: Callable[[Learner], dict[str, float]] | None = None

    def task(self, seed: int) -> TreeTask:
        """A task of its own for each seed, the same for all conditions."""
        tree, rng = _tree(self.depth, self.branching, self.stops), np.random.default_rng([2025, seed])
        size = self.width, tree.n_nodes * tree.branching
        teacher, error = rng.normal(size=size), rng.normal(size=size)
        directions = rng.normal(size=(self.trained + self.held_out, self.width))
        lengths = rng.uniform(*self.sureness, size=(len(directions), 1))
        features = _tensor(directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths)
        logits = node_logp(tree, features, _tensor(teacher))
        regret = along_paths(tree, logits.amax(-1, keepdim=True) - logits)  # 0 on the path liked best, short or long
        best = regret.topk(self.correct, 1, largest=False).indices
        reward = torch.zeros_like(regret).scatter(1, best, 1.0)
        return TreeTask(tree, features, reward, _tensor(self.skill * teacher + self.noise * error), self.trained)

    def learner(self, condition: Method, rate: float, seed: int) -> Learner:
        """A condition before training."""
        own = condition.settings if isinstance(condition, TreeMethod) else {}
        shared = {name: getattr(self, name) for name in ("prompts", "group", "epochs", "batch_size")}
        return Learner(self.task(seed), condition.objective(), seed=seed, learning_rate=rate, **{**shared, **own})

    def train(self, condition: Method, learner: Learner, *, every: int | None = None) -> Course:
        """Trains a learner as its condition says, and watches."""
        makes = condition.iteration if isinstance(condition, TreeMethod) else None
        iterate = makes(learner) if makes else learner.iterate
        return learn(learner, self.iterations, every=every or self.every, iterate=iterate)

    def run(self, condition: Method, rate: float, seed: int) -> Course:
        """Trains a condition on the task of ``seed``."""
        learner = self.learner(condition, rate, seed)
        course = self.train(condition, learner)
        return replace(course, at_end=self.at_end(learner)) if self.at_end else course

    def smallest(self) -> Self:
        """One evaluation after a few iterations, on trees of nine completions."""
        few = min(self.prompts, 8)
        return replace(self, depth=2, branching=3, iterations=10, every=5, prompts=few)


@lru_cache
def _tree(depth: int, branching: int, stops: bool) -> Tree:
    return Tree(depth, branching, stops=stops)


def _tensor(array: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
