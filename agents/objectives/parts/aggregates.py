"""Aggregates: how a loss per token becomes one number.

An aggregate maps the mask ``[B, T]`` to weights ``[B, T]``, and the loss is the sum of weights times tokens. Weights
(rather than means) let a trainer split a batch and still add up to the same gradient.
"""

import torch
from torch import Tensor


def sequence_mean(mask: Tensor) -> Tensor:
    """Mean over a completion's tokens, then over completions: each weighs the same, a long one's tokens less."""
    return mask / mask.sum(1, keepdim=True).clamp(min=1) / len(mask)


def token_mean(mask: Tensor) -> Tensor:
    """Mean over all tokens of the batch: each token weighs the same."""
    return mask / mask.sum().clamp(min=1)


def sequence_sum(mask: Tensor) -> Tensor:
    """Sum over the tokens of a completion, mean over completions: the log-probability of a completion as one action."""
    return mask / mask.new_tensor(len(mask), dtype=torch.float32)


def constant_length(mask: Tensor, *, length: int = 256) -> Tensor:
    """Sum over a completion's tokens divided by a constant ``length`` instead of its own, mean over completions.

    Args:
        mask: ``[B, T]`` bool.
        length: the longest completion that may be written. A language agent gives its own ``max_answer_tokens``, that
            of one turn, as the authors give their generation budget (``generate_max_length``).

    Paper: Understanding R1-Zero-Like Training: A Critical Perspective (2025), Dr. GRPO; the constant as in the authors'
    ``train_zero_math.py``.
    """
    return mask / float(len(mask) * length)
