"""Small tensor operations that objectives share: masked sums and means, group statistics, ratios."""

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts


def masked_sum(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Sum over ``mask`` alone; what stands elsewhere, NaN included, changes neither the sum nor its gradient."""
    kept = torch.where(mask, values, torch.zeros_like(values))
    return kept.sum() if dim is None else kept.sum(dim)


def masked_mean(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Mean over ``mask`` alone; 0 where it is empty."""
    count = mask.sum() if dim is None else mask.sum(dim)
    return masked_sum(values, mask, dim) / count.clamp(min=1)


def group_mean(values: Tensor, group: Tensor) -> Tensor:
    """The mean of each row's group: ``values`` ``[B]``, ``group`` ``[B]`` -> ``[B]`` float64.

    In double precision, where the mean of equal single-precision numbers is exactly that number.
    """
    index, size = _groups(group)
    return (torch.zeros_like(size).index_add_(0, index, values.double()) / size)[index]


def group_baseline(values: Tensor, group: Tensor) -> Tensor:
    """The mean of each row's group, and 0 for a group of one, ``[B]`` float64: what a reward is compared with.

    A completion without others to the same problem is learned from by its own reward, without a baseline, as in verl's
    advantages; the mean of one (TRL, OpenRLHF) would leave nothing of it.
    """
    return torch.where(group_size(group) > 1, group_mean(values, group), 0.0)


def group_sum(values: Tensor, group: Tensor) -> Tensor:
    """The sum over each row's group: ``values`` ``[B]`` -> ``[B]`` float64, differentiable."""
    index, size = _groups(group)
    return torch.zeros_like(size).index_add(0, index, values.double())[index]


def group_max(values: Tensor, group: Tensor) -> Tensor:
    """The greatest value in each row's group: ``values`` ``[B]`` -> ``[B]`` of the same type."""
    index, size = _groups(group)
    return torch.zeros_like(size, dtype=values.dtype).scatter_reduce(0, index, values, "amax", include_self=False)[
        index
    ]


def group_std(values: Tensor, group: Tensor) -> Tensor:
    """The standard deviation (n - 1) of each row's group, ``[B]`` float64; 0 in a group of one."""
    index, size = _groups(group)
    squares = torch.zeros_like(size).index_add_(0, index, (values - group_mean(values, group)).square())
    return (squares / (size - 1).clamp(min=1)).sqrt()[index]


def group_size(group: Tensor) -> Tensor:
    """The number of rows in each row's group, ``[B]`` float64."""
    index, size = _groups(group)
    return size[index]


def whiten(values: Tensor, mask: Tensor, epsilon: float = 1e-4) -> Tensor:
    """(values - mean) / (std + epsilon), both over ``mask`` (n - 1); 0 elsewhere. Equal values become 0.

    ``epsilon`` is larger than rounding in log-probabilities, which would otherwise be all that is left, blown up.
    """
    centred = torch.where(mask, values - masked_mean(values, mask), 0.0)
    variance = masked_sum(centred.square(), mask) / (mask.sum() - 1).clamp(min=1)
    return centred / (variance.sqrt() + epsilon)


def log_ratios(rollouts: Rollouts, policy_out: PolicyOut) -> Tensor:
    """log(pi / pi_old) of each written token, ``[B, T]``; 0 elsewhere. Cut at 20 either way, so that exp is finite."""
    return torch.where(rollouts.mask, policy_out.logp - rollouts.logp_old, 0.0).clamp(-20, 20)


def k3(logp: Tensor, reference: Tensor, mask: Tensor) -> Tensor:
    """exp(d) - d - 1, d = reference - logp, of each written token, ``[B, T]``; 0 elsewhere.

    An estimate of KL(pi || reference) that is never negative. d is cut at 20, so that exp is finite.
    """
    distance = torch.where(mask, reference - logp, 0.0).clamp(max=20)
    return distance.exp() - distance - 1


def per_token(values: Tensor) -> Tensor:
    """An advantage ``[B]`` as ``[B, 1]``, so that it spreads over tokens; ``[B, T]`` as it is."""
    return values[:, None] if values.dim() == 1 else values


def next_written(values: Tensor, mask: Tensor) -> Tensor:
    """``values`` ``[B, T]`` at the next written token after each position, ``[B, T]``; 0 behind the last one."""
    columns = torch.arange(mask.shape[1], device=mask.device)
    place = torch.where(mask, columns, mask.shape[1]).flip(1).cummin(1).values.flip(1)  # of this one or the next
    place = torch.cat([place[:, 1:], torch.full_like(place[:, :1], mask.shape[1])], 1)
    return torch.cat([values, torch.zeros_like(values[:, :1])], 1).gather(1, place)


def turn_ends(turn: Tensor, mask: Tensor) -> Tensor:
    """The last written token of each turn, ``[B, T]`` bool, from ``turn`` ``[B, T]`` (int64, rising) and ``mask``."""
    beyond = torch.iinfo(torch.int64).max
    written = torch.where(mask, turn, beyond)
    following = written.flip(1).cummin(1).values.flip(1).roll(-1, 1)  # the turn of the next written token
    following[:, -1:] = beyond
    return mask & (following != turn)


def turn_sums(values: Tensor, turn: Tensor, mask: Tensor) -> Tensor:
    """The sum of ``values`` ``[B, T]`` over the written tokens of each token's turn, on all of them; ``[B, T]``.

    What it is outside ``mask`` means nothing.
    """
    kept, number = torch.where(mask, values, 0.0), torch.where(mask, turn, 0)  # turns are fewer than positions
    return torch.zeros_like(kept).scatter_add(1, number, kept).gather(1, number)


def _groups(group: Tensor) -> tuple[Tensor, Tensor]:
    """Each row's group as 0, 1, ... and the size (float64) of each group."""
    _, index, size = torch.unique(group, return_inverse=True, return_counts=True)
    return index, size.double()
