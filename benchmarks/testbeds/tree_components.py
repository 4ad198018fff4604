"""Components of language methods on the answer tree: rewards that shape completions, and sampling in rounds."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...agents.language.collect import shaped
from ...agents.language.rollouts import Rollouts, join
from ...agents.language.samplers.reinforce_ada import downsampled, lacking
from ...wrappers.components import Choice
from ...wrappers.curricula.catalogue import load as load_curriculum
from ...wrappers.rewards.catalogue import load_all
from .answer_tree import TreeMethod
from .tree_learner import Learner
from .tree_task import completion_logp

Loop = Callable[[Learner], Callable[[], None]]


def rewarded(*rewards: Choice) -> Loop:
    """Iterations on the groups of mixed outcomes alone, shaped by these rewards; no others are sampled instead."""

    def begin(learner: Learner) -> Callable[[], None]:
        shapes, curriculum = load_all(rewards), load_curriculum("dynamic-sampling")

        def iterate() -> None:
            rollouts = learner.sample(learner.draw().repeat_interleave(learner.group))
            learner.completed += len(rollouts)
            for reward in shapes:
                rollouts = shaped(rollouts, reward.shape(rollouts, learner.context))
            rollouts = rollouts.take(curriculum.keep(rollouts))
            if len(rollouts):
                learner.improve(rollouts)

        return iterate

    return begin


def in_rounds(rule: str, rounds: int, per_round: int) -> Loop:
    """Iterations on problems that are sampled in rounds, as :class:`ReinforceAda` has them."""

    def begin(learner: Learner) -> Callable[[], None]:
        def iterate() -> None:
            learner.improve(downsampled(pool(learner, rule, rounds, per_round), learner.group))

        return iterate

    return begin


def pool(learner: Learner, rule: str, rounds: int, per_round: int) -> Rollouts:
    """All completions that an iteration's problems are given; they count."""
    problems, parts = learner.draw(), list[Rollouts]()
    active = torch.arange(len(problems))
    while len(active) and len(parts) < rounds:
        part = learner.sample(problems[active].repeat_interleave(per_round))
        parts.append(replace(part, group=active.repeat_interleave(per_round)))
        learner.completed += len(part)
        so_far = join(parts)
        success = so_far.info["success"]
        active = active[lacking(success, so_far.group, len(problems), learner.group, rule)[active]]
    return join(parts)


def risen(learner: Learner) -> dict[str, float]:
    """Of the problems trained on, how many correct completions are likelier than before, by their place before.

    Shares by place among a problem's correct completions, the likeliest first: ``{"place 1": ..., ...}``.
    """
    task, trained = learner.task, slice(0, learner.task.trained)
    with torch.no_grad():
        before = completion_logp(task.tree, task.features, task.base)[trained]
        after = completion_logp(task.tree, task.features, learner.weight)[trained]
    correct = task.reward[trained] > 0
    number = int(correct[0].sum())
    order = torch.where(correct, before, -torch.inf).argsort(1, descending=True)[:, :number]
    rises: Tensor = (after > before).gather(1, order).double().mean(0)
    return {f"place {i + 1}": float(share) for i, share in enumerate(rises)}


def grpo(*rewards: Choice, **settings: int) -> TreeMethod:
    """The catalogue's GRPO, without KL penalty, with these rewards."""
    return TreeMethod("grpo", {"kl_coef": 0.0}, settings=settings, iteration=rewarded(*rewards))
