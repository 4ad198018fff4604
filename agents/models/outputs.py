"""What a policy says of completions: :class:`PolicyOut`."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Support = Callable[[Tensor, Tensor], Tensor]
"""Tokens that may be written: from ``tokens`` and ``mask`` ``[B, T]`` to bool ``[mask.sum(), vocabulary]``."""


@dataclass(frozen=True)
class PolicyOut:
    """What the policy being trained says now about the same tokens; gradients flow through the first two."""

    logp: Tensor  # [B, T]
    entropy: Tensor  # [B, T] nats
    logp_mean: Tensor | None = None  # [B, T] mean log-probability of all tokens at each position; no gradient
