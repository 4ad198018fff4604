"""GRPO-lambda: a length penalty for the problems of a batch that are solved most reliably, and for no others."""

import math

import torch
from torch import Tensor

from ..checks import check_numbers
from ..components import Context, Episodes, Reward
from .groups import over_group, sampled


def length_penalty(length: Tensor, correct: Tensor, group: Tensor) -> Tensor:
    """sigmoid((length - mean) / deviation), both over the correct completions of a row's group; ``[B]`` float64.

    Between 0 and 1, and 1/2 where all of them are equally long. What it is where none is correct means nothing.

    Args:
        length: ``[B]`` tokens.
        correct: ``[B]`` bool.
        group: ``[B]``.
    """
    number = over_group(correct, group).clamp(min=1)
    away = length - over_group(length * correct, group) / number
    deviation = (over_group(away.square() * correct, group) / number).sqrt()
    return torch.where(deviation > 0, away / deviation.clamp(min=1e-9), 0.0).sigmoid()


class GRPOLambda(Reward):
    """R = r - weight * l for the correct completions of the groups solved most often, R = r for all others.

    The groups of a batch are ranked by the share of their completions that are correct. In the first ``share`` of them
    a correct completion pays for its length: l = sigmoid((length - mean) / deviation) over the correct ones of its
    group (:func:`length_penalty`). The other groups still have to learn to be correct, and are not told to be short: a
    length penalty everywhere makes accuracy collapse. With ``share=1`` it is that penalty.

    A batch is what is sampled at a time, before a curriculum leaves anything out. The number of groups is rounded up;
    of groups that are solved equally often those that were drawn first are taken.

    Departures: the deviation divides by the number of correct completions, and one of 0 gives l = 1/2; the paper says
    neither. The weight is ours: the text at hand gives its alpha no value.

    Args:
        share: of the groups that pay for length, the paper's lambda.
        weight: what the longest completion loses at most, the paper's alpha.

    Raises:
        TypeError: a setting that is no number.
        ValueError: a share outside 0 to 1, or a weight below 0 or at least 1, with which a correct completion could
            earn no more than an incorrect one.

    Paper: Stable Reinforcement Learning for Efficient Reasoning (2025), batch-wise top-lambda selection and dynamic
    reward strategy, with a share of 20%.
    """

    def __init__(self, *, share: float = 0.2, weight: float = 0.5) -> None:
        check_numbers(share=share, weight=weight)
        if not 0 <= share <= 1:
            raise ValueError(f"share is the part of the groups that pay for length, from 0 to 1, got {share}")
        if not 0 <= weight < 1:
            raise ValueError(f"weight is what length may cost, at least 0 and below 1, got {weight}")
        self.share, self.weight = share, weight

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B]``."""
        own, success = sampled(episodes), episodes.info["success"]
        penalty = length_penalty(episodes.length.double(), success & own, episodes.group)
        paid = torch.where(success & self.chosen(episodes.group, success, own), self.weight * penalty, 0.0)
        return episodes.reward - paid.to(episodes.reward.dtype)

    def chosen(self, group: Tensor, success: Tensor, own: Tensor) -> Tensor:
        """The rows of the groups that pay for length, ``[B]`` bool, by which of a group's ``own`` rows are correct."""
        rate = over_group(success & own, group) / over_group(own, group).clamp(min=1)
        numbers, index = torch.unique(group, return_inverse=True)
        rates = torch.zeros(len(numbers), dtype=rate.dtype, device=group.device).index_copy(0, index, rate)
        first = torch.argsort(rates, descending=True, stable=True)[: math.ceil(self.share * len(numbers) - 1e-9)]
        return torch.isin(index, first)
