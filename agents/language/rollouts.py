"""What every part of a language method reads: :class:`Rollouts`, one frozen object of tensors."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rollouts:
    """A batch of answers. B answers, T positions; a position's value in ``[B, T]`` belongs to the token *at* it.

    ``mask`` is True on the tokens that the policy wrote. Prompts, hints and the padding on the right are not written by
    it; whatever stands there changes no objective.
    """

    tokens: Tensor  # [B, T] int64: prompt, answer, padding
    mask: Tensor  # [B, T] bool: written by the policy
    logp_old: Tensor  # [B, T] log-probability under the policy that wrote them
    logp_ref: Tensor | None  # [B, T] the same under the reference policy; None where nothing asks for it
    reward: Tensor  # [B] of the whole episode, after shaping
    group: Tensor  # [B] int64: rows with equal numbers answered the same problem, and share a baseline
    seed: Tensor  # [B] int64: the problem; reset(seed=...) brings it back
    turn: Tensor  # [B, T] int64: which turn of the episode a token belongs to
    length: Tensor  # [B] int64: tokens written
    entropy: Tensor  # [B, T] nats, of the distribution that each token was drawn from
    info: dict[str, Any] = field(default_factory=dict)  # columns [B]: "success" (bool), "answer" (int64: equal for
    # equal final answers to a problem), "expert" (bool: not written by the policy), where there are such, and others
    # What only methods read whose row says so in ``needs``; None elsewhere.
    logp_mean_old: Tensor | None = None  # [B, T] mean log-probability of all tokens, where logp_old is that of one
    values: Tensor | None = None  # [B, T] a critic's estimate of the return, before the token at each position
    baseline: Tensor | None = None  # [B] what a row's reward is compared with, made without that reward
    step_reward: Tensor | None = None  # [B, T] reward of each turn on its last written token, 0 elsewhere
    state: Tensor | None = None  # [B, T] int64: the state in which a token's turn began; equal numbers, equal states

    def __len__(self) -> int:
        return len(self.tokens)

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
        """The answers ``rows`` (int64 indices or a bool mask), cut to the longest of them."""
        index = rows.nonzero()[:, 0] if rows.dtype == torch.bool else rows
        used = (self.mask[index].any(0)).nonzero()
        stop = int(used[-1]) + 1 if len(used) else 0
        wide = {name: self.need(name)[index, :stop] for name in _WIDE if getattr(self, name) is not None}
        tall = {name: self.need(name)[index] for name in _TALL if getattr(self, name) is not None}
        info = {name: column[index] for name, column in self.info.items()}
        return replace(self, **wide, **tall, info=info)


_WIDE = ("tokens", "mask", "logp_old", "logp_ref", "turn", "entropy", "logp_mean_old", "values", "step_reward", "state")
_TALL = ("reward", "group", "seed", "length", "baseline")


def join(parts: list[Rollouts]) -> Rollouts:
    """Several batches as one; their group numbers must not clash."""
    if len(parts) == 1:
        return parts[0]
    longest = max(part.tokens.shape[1] for part in parts)

    def joined(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        if any(column is None for column in columns):
            return None
        if name in _WIDE:
            columns = [torch.nn.functional.pad(column, (0, longest - column.shape[1])) for column in columns]
        return torch.cat(columns)

    info = {name: torch.cat([part.info[name] for part in parts]) for name in parts[0].info}
    return replace(parts[0], **{name: joined(name) for name in (*_WIDE, *_TALL)}, info=info)


@dataclass(frozen=True)
class PolicyOut:
    """What the policy being trained says now about the same tokens; gradients flow through the first two."""

    logp: Tensor  # [B, T]
    entropy: Tensor  # [B, T] nats
    logp_mean: Tensor | None = None  # [B, T] mean log-probability of all tokens at each position; no gradient
