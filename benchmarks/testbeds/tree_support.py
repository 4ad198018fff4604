"""What training does to the completions that a policy could write before: support, distillation, guessed answers.

Beside reinforcement learning stand two kinds of distillation on the same tree: from a teacher who knows all correct
completions of the problems to learn from, and from the base policy's own correct ones, which hold nothing new. A tree
of 4^5 completions leaves room between k = 256 and all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..analysis.invisible_leash import support
from ..analysis.pass_at_k_boundary import exact_curve
from ..statistics import Floats
from .answer_tree import AnswerTree, TreeMethod
from .course import Course
from .testbed import Method, method
from .tree_learner import Learner
from .tree_task import TreeTask, completion_logp

KS = (1, 4, 16, 64, 256)
BUDGET = 256
"""Samples of a problem: a completion of at least this probability, inverted, is supported."""


def of_held_out(learner: Learner) -> tuple[Floats, Floats, Floats]:
    """Of held-out problems ``[n, L]``: probabilities of completions under base and policy, and which are correct."""
    task = learner.task
    with torch.no_grad():
        base = completion_logp(task.tree, task.features, task.base).exp()
    parts = (base, learner.distribution(), task.reward > 0)
    before, after, correct = (part[task.trained :].numpy() for part in parts)
    return before, after, correct


def supported(learner: Learner) -> dict[str, float]:
    """Correct completions a held-out problem by who supports them."""
    before, after, correct = of_held_out(learner)
    found = support(before, after, correct, threshold=1 / BUDGET)
    problems = len(before)
    return {name: value / problems for name, value in vars(found).items()}


def shown(learner: Learner) -> Callable[[], None]:
    """Iterations on correct completions of a teacher, drawn evenly."""

    def iterate() -> None:
        problems = learner.draw().repeat_interleave(learner.group)
        drawn = torch.multinomial(learner.task.reward[problems], 1, generator=learner.generator)[:, 0]
        _imitate(learner, problems, drawn)

    return iterate


def shown_its_own(learner: Learner) -> Callable[[], None]:
    """Iterations on correct completions of the base policy, as likely as it writes them."""
    with torch.no_grad():
        base = learner.distribution() * learner.task.reward

    def iterate() -> None:
        problems = learner.draw().repeat_interleave(learner.group)
        drawn = torch.multinomial(base[problems], 1, generator=learner.generator)[:, 0]
        _imitate(learner, problems, drawn)

    return iterate


def _imitate(learner: Learner, problems: Tensor, completions: Tensor) -> None:
    learner.improve(learner.write(problems, completions))
    learner.completed += len(problems)


IMITATION = {"positive_weight": 1.0, "negative_weight": 0.0}
"""Of the log-likelihood of correct completions."""
CONDITIONS: dict[str, Method] = {
    "grpo": method("grpo", kl_coef=0.0),
    "distilled from a teacher": TreeMethod("w-reinforce-nsr", IMITATION, iteration=shown),
    "distilled from itself": TreeMethod("w-reinforce-nsr", IMITATION, iteration=shown_its_own),
}


def boundary_tree() -> AnswerTree:
    """The testbed of these conditions."""
    return AnswerTree(depth=5, width=12, correct=4, batch_size=32, iterations=100, every=20, at_end=supported)


@dataclass(frozen=True, kw_only=True)
class GuessableTree(AnswerTree):
    """Answers that can be guessed: the last choice is the answer, those before it are the reasoning.

    Correct answers are all completions with the last choice of the one that the teacher likes best; correct reasoning
    is that one's alone. Only the answer is rewarded.
    """

    def task(self, seed: int) -> TreeTask:
        """As :meth:`.answer_tree.AnswerTree.task`, with the reward of the answer."""
        task = super().task(seed)
        best = task.reward.argmax(1)
        last = task.tree.choices[:, -1]
        return replace(task, reward=(last[None] == last[best, None]).double())

    def run(self, condition: Method, rate: float, seed: int) -> Course:
        """The course, with CoT-pass@k before and after training at its end."""
        learner = self.learner(condition, rate, seed)
        best = super().task(seed).reward.argmax(1)
        held_out, rows = slice(learner.task.trained, None), torch.arange(len(best))
        before = learner.distribution()[rows, best][held_out]
        course = self.train(condition, learner)
        after = learner.distribution()[rows, best][held_out]
        found = {"before": exact_curve(before.numpy(), KS), "after": exact_curve(after.numpy(), KS)}
        told = {f"{when}, k = {k}": float(value) for when, of in found.items() for k, value in zip(KS, of, strict=True)}
        return replace(course, at_end=told)
