"""DeGRPO: GRPO with the control token that selects the mode weighted apart from the response tokens."""

from typing import Literal

from torch import Tensor


def aggregate(mask: Tensor, *, alpha: float = 0.001, over: Literal["completion", "batch"] = "completion") -> Tensor:
    """Weights ``[B, T]``: alpha / B for a completion's first token, 1 / (B * tokens after it) for each of the others.

    The first token is a control token (think, or answer at once). Its weight does not hang on the completion's
    length, so that a long completion's many tokens neither swamp nor dilute the choice.

    The row's KL penalty is averaged with these weights too, as the paper's objective has it outside both sums; the code
    averages it over all tokens of the batch alike.

    Args:
        mask: ``[B, T]`` bool.
        alpha: weight of the choice.
        over: the response tokens' mean is over each completion and then over completions (the paper's 1 / T_i), or over
            all response tokens of the batch, of which long completions then have more (the authors' code).

    Raises:
        ValueError: another ``over``.

    Paper: Thinkless: LLM Learns When to Think (2025), DeGRPO's objective; alpha is the authors' ``thinkless_alpha``,
    and the row's ``kl_coef`` of 0.001 and advantages without standard deviation are those of
    ``thinkless_1.5b_deepscaler.sh``.
    """
    first = mask & (mask.cumsum(1) == 1)
    rest = mask & ~first
    if over == "completion":
        return (alpha * first + rest / rest.sum(1, keepdim=True).clamp(min=1)) / len(mask)
    if over == "batch":
        return alpha * first / first.sum().clamp(min=1) + rest / rest.sum().clamp(min=1)
    raise ValueError(f'over is "completion" or "batch", got {over!r}')
