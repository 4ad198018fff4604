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
    info: dict[str, Any] = field(default_factory=dict)  # columns [B]: "success" (bool), and what a method adds

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, rows: Tensor) -> "Rollouts":
        """The answers ``rows`` (int64 indices or a bool mask), cut to the longest of them."""
        index = rows.nonzero()[:, 0] if rows.dtype == torch.bool else rows
        used = (self.mask[index].any(0)).nonzero()
        stop = int(used[-1]) + 1 if len(used) else 0
        wide = {name: getattr(self, name)[index, :stop] for name in _WIDE}
        tall = {name: getattr(self, name)[index] for name in ("reward", "group", "seed", "length")}
        reference = None if self.logp_ref is None else self.logp_ref[index, :stop]
        info = {name: column[index] for name, column in self.info.items()}
        return replace(self, **wide, **tall, logp_ref=reference, info=info)


_WIDE = ("tokens", "mask", "logp_old", "turn", "entropy")


def join(parts: list[Rollouts]) -> Rollouts:
    """Several batches as one; their group numbers must not clash."""
    if len(parts) == 1:
        return parts[0]
    longest = max(part.tokens.shape[1] for part in parts)

    def wide(name: str) -> Tensor:
        columns = [getattr(part, name) for part in parts]
        return torch.cat([torch.nn.functional.pad(column, (0, longest - column.shape[1])) for column in columns])

    def tall(name: str) -> Tensor:
        return torch.cat([getattr(part, name) for part in parts])

    reference = None if any(part.logp_ref is None for part in parts) else wide("logp_ref")
    info = {name: torch.cat([part.info[name] for part in parts]) for name in parts[0].info}
    columns = {name: wide(name) for name in _WIDE} | {
        name: tall(name) for name in ("reward", "group", "seed", "length")
    }
    return Rollouts(**columns, logp_ref=reference, info=info)


@dataclass(frozen=True)
class PolicyOut:
    """What the policy being trained says now about the same tokens; gradients flow through both."""

    logp: Tensor  # [B, T]
    entropy: Tensor  # [B, T] nats
