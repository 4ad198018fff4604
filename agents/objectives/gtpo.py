"""GTPO: group-relative policy gradient with conflict-token masking and entropy filtering."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.ops import group_mean, masked_mean


def advantage(rollouts: Rollouts, *, max_entropy: float = 0.7, entropy_coef: float = 0.1, boost: float = 2.0) -> Tensor:
    """A_it = delta_it * (r_i - mean(r) - entropy_coef * H_i) / max(n_i, 1), or 0 where H_i > max_entropy; ``[B, T]``.

    H_i is the mean entropy of a completion's tokens. A token is in conflict if completions above and completions below
    their group's mean have it at the same place, counted from the start, and so is every token before it; or the same
    from the end. There delta is ``boost`` in the completions above (its square in both runs) and 0 in those below,
    elsewhere 1. n_i counts a completion's tokens in conflict. A group of one is its own mean: only its entropy counts.

    Departure: the authors' code counts the tokens of the run from the end at the places of the run from the start, so
    that its n_i is the greater of the two runs; here it is the number of tokens in either.

    Args:
        rollouts: reads ``tokens``, ``mask``, ``reward``, ``group`` and ``entropy``.
        max_entropy: nats, about ln 2; completions beyond it are left out.
        entropy_coef: how much entropy lowers a completion's advantage.
        boost: weight of tokens in conflict in the completions above the mean.

    Paper: GTPO: Trajectory-Based Policy Optimization in Large Language Models (2025); the division by n_i and all
    numbers from the authors' code.
    """
    mask, group = rollouts.mask, rollouts.group
    centred = (rollouts.reward - group_mean(rollouts.reward, group)).float()
    start = (~mask).int().argsort(dim=1, stable=True)  # written tokens first, in their order
    end = mask.int().argsort(dim=1, stable=True)  # ... or last
    first = _conflict(rollouts.tokens.gather(1, start), mask.gather(1, start), centred, group)
    last = _conflict(rollouts.tokens.gather(1, end).flip(1), mask.gather(1, end).flip(1), centred, group).flip(1)
    forward = torch.zeros_like(mask).scatter(1, start, first)
    backward = torch.zeros_like(mask).scatter(1, end, last)
    count = (forward | backward).sum(1).clamp(min=1)
    in_conflict = torch.where(centred > 0, boost, torch.where(centred < 0, 0.0, 1.0))[:, None].expand(mask.shape)
    delta = torch.where(forward, in_conflict, 1.0) * torch.where(backward, in_conflict, 1.0)
    entropy = masked_mean(rollouts.entropy, mask, 1)
    advantage = torch.where(entropy > max_entropy, 0.0, centred - entropy_coef * entropy)
    return torch.where(mask, delta * (advantage / count)[:, None], 0.0)


def _conflict(tokens: Tensor, mask: Tensor, centred: Tensor, group: Tensor) -> Tensor:
    """The unbroken run of conflicts from the first column on, ``[B, T]`` bool, of completions aligned there."""
    token = torch.where(mask, tokens, 0)
    row = torch.unique(group, return_inverse=True)[1][:, None]
    place = row * mask.shape[1] + torch.arange(mask.shape[1], device=mask.device)
    _, kind = torch.unique(place * (token.max() + 1) + token, return_inverse=True)

    def held(rows: Tensor) -> Tensor:
        """Which tokens one of ``rows`` of the same group has at the same place."""
        found = torch.zeros(kind.numel(), dtype=torch.bool, device=mask.device)
        found[kind[mask & rows[:, None]]] = True
        return found[kind]

    return (held(centred > 0) & held(centred < 0) & mask & (centred != 0)[:, None]).int().cumprod(1).bool()
