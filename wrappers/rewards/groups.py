"""What rewards that compare completions of the same problem share: sums over a group, and places by likelihood."""

import torch
from torch import Tensor

from ..components import Episodes

TIE = 1e-5
"""Nats a token: completions whose mean log-probabilities differ by less are as likely as each other."""


def sampled(episodes: Episodes) -> Tensor:
    """Which rows are samples of their group, ``[B]`` bool: not the greedy completion, nor an expert's."""
    own = torch.ones_like(episodes.group, dtype=torch.bool)
    for kind in ("expert", "greedy"):
        if kind in episodes.info:
            own = own & ~episodes.info[kind]
    return own


def over_group(values: Tensor, group: Tensor) -> Tensor:
    """The sum over each row's group, of ``values`` ``[B]``; ``[B]`` float64."""
    numbers, index = torch.unique(group, return_inverse=True)
    sums = torch.zeros(len(numbers), dtype=torch.float64, device=group.device).index_add(0, index, values.double())
    return sums[index]


def less_likely(logp: Tensor, group: Tensor, own: Tensor) -> Tensor:
    """How many of a row's group are less likely than it; those as likely as it count a half each.

    Args:
        logp: ``[B]``, nats; see :data:`TIE`.
        group: ``[B]``.
        own: ``[B]`` bool, the rows that are counted.

    Returns:
        ``[B]`` float64; 0 for the least likely of a group.
    """
    ahead = logp.double()[:, None] - logp.double()
    others = (group[:, None] == group) & own & ~torch.eye(len(group), dtype=torch.bool, device=group.device)
    tied = ahead.abs() < TIE
    return ((others & (ahead > 0) & ~tied).double() + 0.5 * (others & tied).double()).sum(1)
