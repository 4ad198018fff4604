"""Soft overlong punishment (DAPO): a penalty that grows linearly over the last tokens before the length limit."""

import math

from torch import Tensor

from ..checks import check_numbers, check_whole
from ..components import Context, Episodes, Reward


def soft_overlong_punishment(length: Tensor, *, max_length: int, buffer: int, penalty: float = 1.0) -> Tensor:
    """A penalty of penalty * clip((max_length - buffer - length) / buffer, -1, 0), of the shape of ``length``.

    0 up to max_length - buffer tokens, -penalty from max_length on.

    Args:
        length: tokens written.
        max_length: the longest completion that may be written, L_max.
        buffer: tokens before it over which the penalty grows, L_cache.
        penalty: the largest one.

    Paper: DAPO: An Open-Source LLM Reinforcement Learning System at Scale (2025), eq. 13.
    """
    return penalty * ((max_length - buffer - length) / buffer).clamp(-1, 0)


class SoftOverlongPunishment(Reward):
    """R = r + :func:`soft_overlong_punishment` of the tokens written, in all turns of an episode together.

    Args:
        max_length: the longest completion that may be written (None: the agent's ``max_answer_tokens``, which is right
            for episodes of one turn; of several, give it times the turns).
        buffer: tokens over which the penalty grows (None: a fifth of ``max_length``, as 4096 of 20480 in the paper).
        penalty: the largest one; the paper's is 1, as large as the reward of a correct completion.

    Raises:
        TypeError: a length or a penalty that is no number.
        ValueError: no room for the buffer, or a negative penalty, which would pay for length.

    Paper: DAPO: An Open-Source LLM Reinforcement Learning System at Scale (2025), eq. 13, which is added to the reward
    of correct and incorrect completions alike.
    """

    def __init__(self, *, max_length: int | None = None, buffer: int | None = None, penalty: float = 1.0) -> None:
        lengths = {"max_length": max_length, "buffer": buffer}
        check_whole(**{name: length for name, length in lengths.items() if length is not None})
        check_numbers(penalty=penalty)
        if not 0 <= penalty < math.inf:
            raise ValueError(f"penalty is what the longest completion costs, 0 or more and finite, got {penalty}")
        self.max_length, self.buffer, self.penalty = max_length, buffer, penalty
        if max_length is not None:
            _buffer(max_length, buffer)

    def start(self, context: Context) -> None:
        """Refuses a buffer that does not fit the agent's completions."""
        self._limits(context)

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B]``."""
        longest, buffer = self._limits(context)
        return episodes.reward + soft_overlong_punishment(
            episodes.length, max_length=longest, buffer=buffer, penalty=self.penalty
        )

    def _limits(self, context: Context) -> tuple[int, int]:
        """The longest completion, and the buffer before it, in tokens."""
        longest = self.max_length
        if longest is None:
            longest = getattr(context.policy, "max_answer_tokens", None)
        if longest is None:
            raise ValueError("this policy does not say how long its completions may be: give the reward a max_length")
        return longest, _buffer(longest, self.buffer)


def _buffer(max_length: int, buffer: int | None) -> int:
    """The buffer in tokens, a fifth where it is not given; ``ValueError`` where it does not fit."""
    buffer = max(1, max_length // 5) if buffer is None else buffer
    if not 1 <= buffer <= max_length:
        raise ValueError(f"buffer is a number of tokens from 1 to max_length ({max_length}), got {buffer}")
    return buffer
