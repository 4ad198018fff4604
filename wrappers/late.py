"""Answers that come late: a queue in which what is asked now is answered some steps later.

Slow models (vision-language models that judge or teach) must not hold up the loop of a simulator. Their papers ask them
in a background process; here the delay is a number of steps, so that a run is the same however busy the machine is.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from .checks import check_whole

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Late(Generic[Question, Answer]):
    """Questions in, answers out ``delay`` steps later, in the order of asking and many at once.

    Args:
        answer: of a list of questions.
        delay: steps between a question and its answer; 0 answers in the same step.
        capacity: questions that may wait; further ones are dropped and counted, as a full queue drops them.

    Raises:
        TypeError: a delay or a capacity that is no whole number.
        ValueError: a delay below 0 or a capacity below 1.
    """

    def __init__(self, answer: Callable[[list[Question]], list[Answer]], *, delay: int, capacity: int = 10_000) -> None:
        check_whole(delay=delay, capacity=capacity)
        if delay < 0 or capacity < 1:
            raise ValueError(f"delay is at least 0 and capacity at least 1, got {delay} and {capacity}")
        self.answer, self.delay, self.capacity = answer, delay, capacity
        self.asked = self.dropped = self.calls = 0
        self._now = 0
        self._waiting: deque[tuple[int, Question]] = deque()

    def __len__(self) -> int:
        """Questions that wait."""
        return len(self._waiting)

    def ask(self, question: Question) -> None:
        """Hands in a question of the present step."""
        self.asked += 1
        if len(self._waiting) >= self.capacity:
            self.dropped += 1
        else:
            self._waiting.append((self._now, question))

    def step(self) -> list[tuple[Question, Answer]]:
        """Ends the step: the questions whose time has come, with their answers."""
        ready = []
        while self._waiting and self._waiting[0][0] + self.delay <= self._now:
            ready.append(self._waiting.popleft()[1])
        self._now += 1
        if not ready:
            return []
        self.calls += 1
        return list(zip(ready, self.answer(ready), strict=True))
