"""Steps of reasoning: where those of an episode end, and rewards summed over them."""

import torch
from torch import Tensor

from ..components import Context, Episodes


def step_ends(episodes: Episodes, context: Context, separator: str = "") -> Tensor:
    """The last written token of each step, ``[B, T]`` bool: of each turn, and wherever ``separator`` has been written.

    Args:
        episodes: reads ``tokens``, ``mask`` and ``turn``.
        context: spells the tokens out.
        separator: the text with which a step ends; nothing makes each turn one step.
    """
    mask = episodes.mask
    last = torch.where(mask, episodes.turn, -1)  # in a turn, no written token follows
    later = torch.where(mask, episodes.turn, torch.iinfo(torch.int64).max).flip(1).cummin(1).values.flip(1).roll(-1, 1)
    later[:, -1] = torch.iinfo(torch.int64).max
    ends = mask & (later > last)
    if separator:
        ends = ends | (mask & _separated(episodes, context, separator))
    return ends


def _separated(episodes: Episodes, context: Context, separator: str) -> Tensor:
    """Tokens ``[B, T]`` with which ``separator`` is complete in the written text of their turn."""
    text_of = {token: context.detokenize([token]) for token in set(episodes.tokens[episodes.mask].tolist())}
    found = torch.zeros_like(episodes.mask)
    for row, (tokens, mask, turn) in enumerate(zip(*_lists(episodes), strict=True)):
        tail, of = "", None
        for column, (token, written, number) in enumerate(zip(tokens, mask, turn, strict=True)):
            if not written:
                continue
            tail = (tail if number == of else "") + text_of[token]
            of = number
            if separator in tail:
                found[row, column] = True
                tail = ""
    return found


def _lists(episodes: Episodes) -> tuple[list[list[int]], list[list[bool]], list[list[int]]]:
    return episodes.tokens.tolist(), episodes.mask.tolist(), episodes.turn.tolist()


def by_step(values: Tensor, ends: Tensor) -> Tensor:
    """Sums of ``values`` ``[B, T]`` since the end of the step before, on the last token of each step; 0 elsewhere."""
    total = values.cumsum(1)
    before = torch.where(ends, total, 0.0)
    at = torch.where(ends, torch.arange(values.shape[1], device=values.device), -1).cummax(1).values
    previous = torch.cat([at.new_full((len(at), 1), -1), at[:, :-1]], 1)  # the last end strictly before each token
    earlier = before.gather(1, previous.clamp(min=0)) * (previous >= 0)
    return torch.where(ends, total - earlier, 0.0)
