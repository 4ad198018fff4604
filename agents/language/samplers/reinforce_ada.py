"""Reinforce-Ada: problems are sampled in rounds until both outcomes are there, and compared with their whole pool."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from .... import unknown
from ....wrappers.components import Problem
from ...objectives.parts.ops import group_baseline, group_sum
from ..context import Context
from ..rollouts import Rollouts
from .groups import Groups

POOL = "pool_success"
"""Column of ``info``: the share of all completions sampled for a row's problem that succeeded, kept or not."""

RULES = ("balanced", "positive")
PER_ROUND = 2
"""Completions of a round in group sizes: the authors sample 8 at a time to keep 4."""


class ReinforceAda(Groups):
    """Samples problems in rounds, each as long as it lacks signal, and keeps ``group_size`` completions of each.

    Every round samples ``per_round`` completions of each problem that is still active. With the rule "balanced" a
    problem is done as soon as its pool holds group_size / 2 that succeeded and as many that failed, with "positive" as
    soon as one succeeded, and all are done after ``rounds``. Half of what is kept succeeded and half failed, as far as
    the pool has them; the rest is of the other outcome. A group of fixed size is often all of one outcome and then
    teaches nothing, which for most problems is for want of samples.

    Of equal outcomes the first ones are kept. ``info["pool_success"]`` is the share of the pool that succeeded, from
    which the method of the same name (:func:`advantage`) has its baseline. Problems of one outcome after all rounds
    are kept, and teach that method nothing; ``curriculum="dynamic-sampling"`` samples others in their place. All
    completions count as timesteps.

    Args:
        rule: when a problem is done, "balanced" or "positive".
        rounds: at most.
        per_round: completions of a problem a round (None: twice the group size, as the authors' 8 for groups of 4).

    Raises:
        ValueError: another rule, no round, or a round of no completions.

    Paper: Reinforce-Ada: An Adaptive Sampling Framework for Reinforce-Style LLM Training (2025), algorithm 1 and sec.
    2.2; rounds and completions a round as in the authors' code (``max_rounds=4``, ``round_repeat=8``).
    """

    def __init__(self, *, rule: str = "balanced", rounds: int = 4, per_round: int | None = None) -> None:
        super().__init__()
        if rule not in RULES:
            raise ValueError(unknown("rule", rule, RULES))
        if rounds < 1 or (per_round is not None and per_round < 1):
            raise ValueError(f"rounds and per_round are at least 1, got {rounds} and {per_round}")
        self.rule, self.rounds, self.per_round = rule, rounds, per_round

    def rollouts(self, context: Context, problems: Sequence[Problem], group_size: int) -> Rollouts:
        """``group_size`` completions of each problem, chosen from its pool.

        Raises:
            ValueError: a round that is smaller than the group.
        """
        a_round = PER_ROUND * group_size if self.per_round is None else self.per_round
        if a_round < group_size:
            raise ValueError(f"a round of {a_round} completions cannot fill groups of {group_size}: raise per_round")
        from ..collect import renumbered, together

        parts: list[Rollouts] = []
        active = torch.arange(len(problems))
        while len(active) and len(parts) < self.rounds:
            part = super().rollouts(context, [problems[i] for i in active.tolist()], a_round)
            parts.append(replace(part, group=active.to(part.group.device)[part.group]))
            group, success = (torch.cat(column) for column in zip(*map(_outcomes, parts), strict=True))
            active = active[lacking(success, group, len(problems), group_size, self.rule)[active]]
        pool = together(parts)
        assert pool is not None
        return downsampled(renumbered(pool), group_size)


def _outcomes(part: Rollouts) -> tuple[Tensor, Tensor]:
    return part.group.cpu(), part.info["success"].cpu()


def lacking(success: Tensor, group: Tensor, problems: int, group_size: int, rule: str) -> Tensor:
    """Which problems 0, 1, ... still lack signal, ``[problems]`` bool.

    Args:
        success: ``[B]`` bool, of the completions sampled so far.
        group: ``[B]`` int64, the problem of each.
        problems: how many there are.
        group_size: completions to keep of each.
        rule: "balanced" or "positive"; see :class:`ReinforceAda`.
    """
    right = torch.bincount(group[success], minlength=problems)
    if rule == "positive":
        return right < 1
    wrong = torch.bincount(group[~success], minlength=problems)
    return (right < group_size // 2) | (wrong < group_size - group_size // 2)


def downsampled(pool: Rollouts, group_size: int) -> Rollouts:
    """``group_size`` rows of each group, half of them successes as far as there are such, with the pool's share.

    Rows come group by group, successes first.
    """
    success = pool.info["success"]
    share = group_sum(success.double(), pool.group) / group_sum(torch.ones_like(pool.reward), pool.group)
    kept = []
    for number in torch.unique(pool.group):
        right, wrong = ((kind & (pool.group == number)).nonzero()[:, 0] for kind in (success, ~success))
        n_right = max(min(len(right), group_size // 2), group_size - len(wrong))
        kept += [right[:n_right], wrong[: group_size - n_right]]
    return replace(pool, info=pool.info | {POOL: share}).take(torch.cat(kept))


def advantage(rollouts: Rollouts) -> Tensor:
    """A_i = r_i - mean(r) over all that was sampled for row i's problem, kept or not; ``[B]``.

    Without the division by the standard deviation, which the paper leaves out. The mean is p m_1 + (1 - p) m_0, where p
    is the share of the pool that succeeded and m_1 and m_0 are the mean rewards of the kept rows that did and did not:
    for rewards of 0 and 1 exactly the pool's mean, p, and for shaped ones an estimate of it without bias. Where another
    sampler wrote the rows there is no pool but the group: A_i = r_i - mean(r), and r_i in a group of one.

    Args:
        rollouts: reads ``reward`` and ``group``; and ``info["pool_success"]`` and ``info["success"]``, if the first is
            there.

    Paper: Reinforce-Ada: An Adaptive Sampling Framework for Reinforce-Style LLM Training (2025), sec. 2.3 and
    algorithm 1, line 19.
    """
    reward, group = rollouts.reward.double(), rollouts.group
    if POOL not in rollouts.info:
        return (reward - group_baseline(reward, group)).float()
    share: Tensor = rollouts.info[POOL]
    right = rollouts.info["success"].double()
    means = [group_sum(kind * reward, group) / group_sum(kind, group).clamp(min=1) for kind in (right, 1 - right)]
    return (reward - share * means[0] - (1 - share) * means[1]).float()
