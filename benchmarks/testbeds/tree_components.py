"""Components of language methods on the answer tree: rewards that shape completions, and sampling in rounds."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...agents.language.collect import shaped
from ...agents.language.providers.base import supplied
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


def filtered(choice: Choice) -> Loop:
    """Iterations on the groups that a curriculum keeps, with what the method needs; no others are sampled instead."""

    def begin(learner: Learner) -> Callable[[], None]:
        curriculum = load_curriculum(choice)

        def iterate() -> None:
            rollouts = learner.sample(learner.draw().repeat_interleave(learner.group))
            learner.completed += len(rollouts)
            rollouts = rollouts.take(curriculum.keep(rollouts))
            if len(rollouts):
                learner.improve(supplied(rollouts, learner.providers.values(), learner.context))

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


@torch.no_grad()
def ordered(learner: Learner) -> dict[str, float]:
    """How well an implicit process reward model tells outcomes on problems held out, whose correct path is one.

    ``{"ordered": share}``: of incorrect completions, as the base policy writes them, the share that it scores below the
    correct one, mean over problems; one half where it knows nothing.
    """
    task, (weight,) = learner.task, learner.providers["logp_prm"].networks()["implicit_prm"]
    held_out = slice(task.trained, None)
    base, prm = (completion_logp(task.tree, task.features[held_out], of) for of in (task.base, weight))
    correct, score = task.reward[held_out] > 0, prm - base
    own = torch.where(correct, score, 0.0).sum(1, keepdim=True)
    below = (score < own).double() + (score == own).double() / 2
    chance = torch.where(correct, 0.0, base.exp())
    return {"ordered": float(((chance * below).sum(1) / chance.sum(1)).mean())}


def grpo(*rewards: Choice, **settings: int) -> TreeMethod:
    """The catalogue's GRPO, without KL penalty, with these rewards."""
    return TreeMethod("grpo", {"kl_coef": 0.0}, settings=settings, iteration=rewarded(*rewards))
