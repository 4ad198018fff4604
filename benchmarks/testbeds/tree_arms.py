"""Distributions of problems on the answer tree, by how sure policies are of them, and DUMP's draws among these."""

from collections.abc import Callable
from dataclasses import replace

import torch

from ...agents.language.rollouts import Rollouts
from ...wrappers.components import Problem
from ...wrappers.curricula.dump import DUMP, advantages
from ..statistics import Floats
from .tree_learner import Learner

ARMS = 6


def curriculum(learner: Learner) -> DUMP:
    """DUMP over the problems to learn from, in :data:`ARMS` parts by the length of their features.

    Its pool stands for them in their order.
    """
    dump = DUMP(size=learner.task.trained, arms=ARMS, by="question")
    rank = learner.task.features[: learner.task.trained].norm(dim=1).argsort().argsort().tolist()
    dump.divide([Problem(int(seed), "." * place, str) for seed, place in zip(dump.pool.seeds, rank, strict=True)])
    return dump


def by_dump(learner: Learner) -> Callable[[], Rollouts]:
    """Iterations on the problems that DUMP draws."""
    dump = curriculum(learner)
    seeds = torch.from_numpy(dump.pool.seeds)

    def iterate() -> Rollouts:
        drawn = dump.pool.places(dump.sample(learner.prompts, learner.rng))
        rollouts = learner.iterate(torch.from_numpy(drawn))
        dump.update(replace(rollouts, seed=seeds[rollouts.seed]))
        return rollouts

    return iterate


def taught(learner: Learner, copies: int = 32) -> Floats:
    """Mean absolute advantages in each distribution, ``[ARMS]``, of ``copies`` completions of every problem now."""
    dump = curriculum(learner)
    rollouts = learner.sample(torch.arange(learner.task.trained).repeat_interleave(copies))
    size = torch.from_numpy(advantages(rollouts.reward.numpy(), rollouts.group.numpy())).abs().view(-1, copies).mean(1)
    assert dump.arm is not None
    arm = torch.from_numpy(dump.arm)
    total = torch.zeros(ARMS, dtype=size.dtype).index_add_(0, arm, size)
    found: Floats = (total / torch.bincount(arm)).numpy()
    return found
