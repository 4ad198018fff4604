"""DeGRPO: GRPO with the control token that selects the mode weighted apart from the response tokens."""

from torch import Tensor


def aggregate(mask: Tensor, *, alpha: float = 0.001) -> Tensor:
    """Weights ``[B, T]``: alpha / B for an answer's first token, 1 / (B * tokens after it) for each of the others.

    The first token is a control token (think, or answer at once). Its weight does not hang on the answer's length, so
    that a long answer's many tokens neither swamp nor dilute the choice.

    Args:
        mask: ``[B, T]`` bool.
        alpha: weight of the choice.

    Paper: Thinkless: LLM Learns When to Think (2025), DeGRPO's objective; alpha is the authors' ``thinkless_alpha``.
    Their code takes the mean over all later tokens of the batch, the paper that of each answer, as here.
    """
    first = mask & (mask.cumsum(1) == 1)
    rest = mask & ~first
    return (alpha * first + rest / rest.sum(1, keepdim=True).clamp(min=1)) / len(mask)
