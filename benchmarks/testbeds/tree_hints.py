"""Guidance of language methods on the answer tree: hints are first choices of a problem's correct completion."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from ...agents.language.providers.base import supplied
from ...agents.language.rollouts import Rollouts
from ...agents.language.samplers.groups import prompts_of
from ...wrappers.components import Choice, Problem, Prompt
from ...wrappers.guidance.catalogue import load as load_guidance
from ..statistics import Floats
from .course import Course
from .tree_learner import Learner
from .tree_task import completion_logp


def hinted(choice: Choice, iterations: int) -> Callable[[Learner], Callable[[], None]]:
    """Iterations on groups whose completions a guidance has sampled again, as the language trainer's sampler does.

    Args:
        choice: the guidance; its ``completion_start`` is a string of choices, one character each.
        iterations: of training, so that a guidance knows how far it has come.
    """

    def begin(learner: Learner) -> Callable[[], None]:
        guidance, done = load_guidance(choice), 0

        def iterate() -> None:
            nonlocal done
            context: Any = SimpleNamespace(progress=done / iterations)
            guidance.begin(context)
            done += 1
            rollouts = in_rounds(learner, guidance, learner.draw())
            learner.improve(supplied(rollouts, learner.providers.values(), learner.context))

        return iterate

    return begin


def in_rounds(learner: Learner, guidance: Any, drawn: Tensor) -> Rollouts:
    """Completions ``[P * group]`` of problems ``[P]``, after all rounds; those sampled on the way count too."""
    group, solutions = learner.group, learner.task.reward.argmax(1)
    problems = [Problem(int(one), str(int(one)), _Solution(learner, int(solutions[one]))) for one in drawn]
    rows, history = drawn.repeat_interleave(group), [list[float]() for _ in problems]
    prompts = prompts_of(guidance, problems, history, group)
    changed = torch.ones(len(rows), dtype=torch.bool)
    completions, given = torch.zeros_like(rows), torch.zeros_like(rows)
    while changed.any():
        flat = [prompt for each in prompts for prompt in each]
        again = changed.nonzero()[:, 0]
        starts = [flat[row].completion_start for row in again.tolist()]
        completions[again], given[again] = sample_after(learner, rows[again], starts), _lengths(starts)
        learner.completed += len(again)
        success = (learner.task.reward[rows, completions] > 0).view(-1, group)
        for i, of in enumerate(changed.view(-1, group).any(1).tolist()):
            history[i] += [float(success[i].double().mean())] if of else []
        wanted = prompts_of(guidance, problems, history, group)
        changed = torch.tensor([one != other for one, other in zip(_flat(prompts), _flat(wanted), strict=True)])
        prompts = wanted
    return written_after(learner, rows, completions, given)


@torch.no_grad()
def sample_after(learner: Learner, problems: Tensor, starts: Sequence[str]) -> Tensor:
    """A completion of each problem ``[B]`` by the policy, given how it begins."""
    tree = learner.tree
    chance = completion_logp(tree, learner.task.features[problems], learner.weight).exp()
    for row, start in enumerate(starts):
        for place, choice in enumerate(start):
            chance[row] = torch.where(tree.choices[:, place] == int(choice), chance[row], 0.0)
    return torch.multinomial(chance, 1, generator=learner.generator)[:, 0]


def written_after(learner: Learner, problems: Tensor, completions: Tensor, given: Tensor) -> Rollouts:
    """A batch of completions whose first ``given`` ``[B]`` choices are not the policy's, and carry no loss."""
    rollouts = learner.write(problems, completions)
    mask = rollouts.mask & nn.functional.pad(torch.arange(learner.tree.depth) >= given[:, None], (1, 0))
    return replace(
        rollouts, mask=mask, logp_old=rollouts.logp_old * mask, entropy=rollouts.entropy * mask, length=mask.sum(1)
    )


def hopeless(group: int) -> Callable[[Course], float]:
    """The probability that a group of this size fails altogether before training, on the problems trained on."""

    def share(course: Course) -> float:
        before: Floats = course.success[0, : course.trained]
        return float(((1 - before) ** group).mean())

    return share


class _Solution:
    """A problem's correct completion as a string of choices."""

    def __init__(self, learner: Learner, completion: int) -> None:
        self.choices = learner.tree.choices[completion]

    def __call__(self) -> str:
        return "".join(str(int(choice)) for choice in self.choices)


def _flat(prompts: Sequence[Sequence[Prompt]]) -> list[Prompt]:
    return [prompt for group in prompts for prompt in group]


def _lengths(starts: Sequence[str]) -> Tensor:
    return torch.tensor([len(start) for start in starts])
