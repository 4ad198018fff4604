"""What every part of a language method reads: :class:`Rollouts`, one frozen object of tensors and texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..models.outputs import PolicyOut, Support

__all__ = ["PolicyOut", "Rollouts", "Solve", "Support", "join"]

Solve = Callable[[Sequence[int]], list[str]]
"""The scripted expert's worked solutions of the problems of these seeds."""


@dataclass(frozen=True)
class Rollouts:
    """A batch of completions. B rows, T positions; a position's value in ``[B, T]`` belongs to the token *at* it.

    ``mask`` is True on the tokens that the policy wrote. Prompts, hints and the padding on the right are not written by
    it; whatever stands there changes no objective.
    """

    tokens: Tensor  # [B, T] int64: prompt, completion, padding
    mask: Tensor  # [B, T] bool: written by the policy
    logp_old: Tensor  # [B, T] log-probability under the policy before this iteration's steps, at its own temperature
    logp_ref: Tensor | None  # [B, T] the same under the reference policy; None where nothing asks for it
    reward: Tensor  # [B] of the whole episode, after shaping
    group: Tensor  # [B] int64: rows with equal numbers are completions of the same problem, and share a baseline
    seed: Tensor  # [B] int64: the problem; reset(seed=...) brings it back
    turn: Tensor  # [B, T] int64: which turn of the episode a token belongs to
    length: Tensor  # [B] int64: tokens written
    entropy: Tensor  # [B, T] nats, of the distribution that each token was drawn from
    info: dict[str, Any] = field(default_factory=dict)  # columns [B]: "success" (bool), "answer" (int64: equal for
    # equal final answers to a problem), "expert" (bool: not written by the policy), where there are such, and others
    # What only methods read whose row says so in ``needs``; None elsewhere.
    logp_mean_old: Tensor | None = None  # [B, T] mean log-probability of all tokens, where logp_old is that of one
    logp_prm: Tensor | None = None  # [B, T] the same as logp_ref, under a process reward model trained on outcomes
    values: Tensor | None = None  # [B, T] a critic's estimate of the return, before the token at each position
    baseline: Tensor | None = None  # [B] what a row's reward is compared with, made without that reward
    step_reward: Tensor | None = None  # [B, T] reward of each turn on its last written token, 0 elsewhere,
    # or as a reward that shapes tokens has spread it over the turn
    state: Tensor | None = None  # [B, T] int64: the state in which a token's turn began; equal numbers, equal states
    # Where a sampler did something else than independent completions of one prompt; None where it did not.
    behaviour_logp: Tensor | None = (
        None  # [B, T] of the distribution that the tokens were drawn from, if not logp_old's
    )
    support: Support | None = field(default=None, repr=False, compare=False)  # the tokens that the policy is trained
    # among; None: all. behaviour_logp is of the policy among these then, and logp_old of the whole policy (until the
    # rows are readied for gradient steps)
    parent: Tensor | None = None  # [B] int64: the row that this one branched off, -1 for none
    branch_at: Tensor | None = None  # [B] int64: the column from which it differs from its parent, 0 for none
    extra: Tensor | None = None  # [B] bool: no sample of its group (greedy, an expert's), so not for statistics
    # Texts, where the rows come from an environment; empty elsewhere.
    prompts: Sequence[str] = ()  # [B] the question that was shown
    hints: Sequence[str] = ()  # [B] how the completion was begun for the policy
    completions: Sequence[Sequence[str]] = ()  # [B] what was said in each turn, hints included
    messages: Sequence[Sequence[str]] = ()  # [B] what the environment said to each turn but the last
    solve: Solve | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def token_reward(self) -> Tensor:
        """``[B, T]`` rewards by tokens: ``step_reward``, or the episode's reward on its last written token."""
        if self.step_reward is not None:
            return self.step_reward
        return self.last_token() * self.reward[:, None]

    def last_token(self) -> Tensor:
        """``[B, T]`` bool: the last written token of each row."""
        return self.mask & (self.mask.flip(1).cumsum(1).flip(1) == 1)

    def references(self) -> list[str]:
        """``[B]`` the scripted expert's worked solution of each row's problem (its first turn).

        Raises:
            ValueError: these rows come from no environment with an expert.
        """
        if self.solve is None:
            raise ValueError("these rollouts come from no environment that has a scripted expert")
        seeds = list(dict.fromkeys(self.seed.tolist()))
        solutions = dict(zip(seeds, self.solve(seeds), strict=True))
        return [solutions[seed] for seed in self.seed.tolist()]

    def need(self, name: str) -> Tensor:
        """The column ``name``.

        Raises:
            ValueError: it is None.
        """
        column: Tensor | None = getattr(self, name)
        if column is None:
            raise ValueError(f"this objective reads rollouts.{name}, which is None: see what its row needs")
        return column

    def take(self, rows: Tensor) -> "Rollouts":
        """The rows ``rows`` (int64 indices or a bool mask), cut to the longest of them."""
        index = rows.nonzero()[:, 0] if rows.dtype == torch.bool else rows
        used = (self.mask[index].any(0)).nonzero()
        stop = int(used[-1]) + 1 if len(used) else 0
        wide: dict[str, Any] = {
            name: self.need(name)[index, :stop] for name in _WIDE if getattr(self, name) is not None
        }
        tall: dict[str, Any] = {name: self.need(name)[index] for name in _TALL if getattr(self, name) is not None}
        info = {name: column[index] for name, column in self.info.items()}
        listed = index.tolist()
        texts: dict[str, Any] = {
            name: [getattr(self, name)[row] for row in listed] for name in _TEXTS if getattr(self, name)
        }
        if self.parent is not None:
            place = torch.full((len(self) + 1,), -1, device=index.device)  # the last stands for no parent
            place[index] = torch.arange(len(index), device=index.device)
            tall["parent"] = place[self.parent[index]]
        return replace(self, **wide, **tall, **texts, info=info)

    def first_of_groups(self) -> Tensor:
        """The first row of each group, in the order of the groups' numbers; int64."""
        numbers, index = torch.unique(self.group, return_inverse=True)
        rows = torch.arange(len(self), device=self.group.device)
        return torch.full_like(numbers, len(self)).scatter_reduce(0, index, rows, "amin")

    def own(self) -> "Rollouts":
        """Without the rows that are ``extra``."""
        return self if self.extra is None else replace(self.take(~self.extra), extra=None)


_WIDE = (
    *("tokens", "mask", "logp_old", "logp_ref", "turn", "entropy", "logp_mean_old", "values", "step_reward", "state"),
    *("behaviour_logp", "logp_prm"),
)
_TALL = ("reward", "group", "seed", "length", "baseline", "parent", "branch_at", "extra")
_TEXTS = ("prompts", "hints", "completions", "messages")


def join(parts: list[Rollouts]) -> Rollouts:
    """Several batches as one; their group numbers must not clash."""
    if len(parts) == 1:
        return parts[0]
    parts = _with_all_columns(parts)
    longest = max(part.tokens.shape[1] for part in parts)

    def joined(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        if any(column is None for column in columns):
            return None
        if name in _WIDE:
            columns = [torch.nn.functional.pad(column, (0, longest - column.shape[1])) for column in columns]
        return torch.cat(columns)

    info = {name: torch.cat([part.info[name] for part in parts]) for name in parts[0].info}
    texts: dict[str, Any] = {name: [text for part in parts for text in getattr(part, name)] for name in _TEXTS}
    texts = {name: column if len(column) == sum(map(len, parts)) else () for name, column in texts.items()}
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    parts = [
        part if part.parent is None else replace(part, parent=torch.where(part.parent < 0, -1, part.parent + start))
        for part, start in zip(parts, starts, strict=True)
    ]
    support = next((part.support for part in parts if part.support is not None), None)
    return replace(parts[0], **{name: joined(name) for name in (*_WIDE, *_TALL)}, **texts, info=info, support=support)


def _with_all_columns(parts: list[Rollouts]) -> list[Rollouts]:
    """What only some batches say of their sampling, said of the others: drawn as trained, and branched off no row."""
    if any(part.behaviour_logp is not None for part in parts):
        parts = [replace(p, behaviour_logp=p.logp_old) if p.behaviour_logp is None else p for p in parts]
    if any(part.parent is not None for part in parts):
        parts = [
            replace(p, parent=torch.full_like(p.group, -1), branch_at=torch.zeros_like(p.group))
            if p.parent is None
            else p
            for p in parts
        ]
    return parts
