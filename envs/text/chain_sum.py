"""Chain sums: add and take away numbers from left to right; how hard is how many numbers of how many digits.

=====  =======  ======
level  numbers  digits
=====  =======  ======
1      3        1
2      4        2
3      6        2
4      8        2
5      8        3
6      12       3
=====  =======  ======

Every number of a problem has exactly as many digits as the level says and no leading zero, and every sign is + or -
with equal chance. A problem (the sum's numbers with their signs, in any order) belongs to one split for ever.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import BatchedVectorEnv, Bools, Info, SingleEnv
from ..seeding import Split
from .base import CLOSE, OPEN, BatchedText, draw_problems, last_answer, level_of

RULES = " Think as long as you need, then give the number alone, as in <answer>-7</answer>."

_NUMBER = re.compile(r"[ \n]*(0|-?[1-9][0-9]{0,11})[ \n]*")


class Level(NamedTuple):
    """How hard: how many numbers, and how many digits each of them has."""

    terms: int
    digits: int


LEVELS: dict[int, Level] = {
    1: Level(3, 1),
    2: Level(4, 2),
    3: Level(6, 2),
    4: Level(8, 2),
    5: Level(8, 3),
    6: Level(12, 3),
}


class Problem(NamedTuple):
    """The numbers to add up, each with its sign; the first is positive."""

    terms: tuple[int, ...]

    @property
    def total(self) -> int:
        """The correct answer."""
        return sum(self.terms)


def draw(rng: np.random.Generator, level: Level) -> Problem:
    """A problem of a level, of either split."""
    low = 10 ** (level.digits - 1)
    sizes = rng.integers(low, 10 * low, level.terms)
    signs = np.where(rng.random(level.terms) < 0.5, -1, 1)
    signs[0] = 1
    return Problem(tuple((sizes * signs).tolist()))


def _worked(terms: Sequence[int], slips: Sequence[int]) -> str:
    """One line a number, ``12-7=5``, the i-th result off by ``slips[i]``; the answer is the last result."""
    total, lines = terms[0], []
    for term, slip in zip(terms[1:], slips, strict=True):
        after = total + term + slip
        lines.append(f"{total}{term:+d}={after}")
        total = after
    return f"{' '.join(lines)}{OPEN}{total}{CLOSE}"


class ChainSum(BatchedText[Problem]):
    """The environments of chain sums. ``info["terms"]`` and ``info["target"]`` at reset name the problem.

    The expert keeps a running total::

        8+4-15=?
        8+4=12 12-15=-3<answer>-3</answer>

    The corrupted texts of :meth:`demonstrations` slip once, as people do: one result is off by 1, 2 or 10 or has the
    sign of its number mistaken; all other lines are true of the totals before them, and the answer is incorrect.

    Args:
        num_envs: number of environments.
        level: 1 (three digits to add) to 6 (twelve numbers of three digits), see the table above.
        instructions: the question also says how to mark the answer, for models that have not been trained on the task.
        split: "train" or "test".
        render_mode: None or "rgb_array".
    """

    def __init__(
        self,
        num_envs: int,
        *,
        level: int = 1,
        instructions: bool = False,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        self._shape = level_of(level, LEVELS)
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=256, answer_length=256)
        self.level = level
        self._rules = RULES if instructions else ""

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Problem]:
        """Sums of the level's shape, of this split."""
        return draw_problems(self.split, seeds, episodes, lambda rng: draw(rng, self._shape), self.canonical)

    def canonical(self, problem: Problem) -> str:
        """The numbers with their signs in order of size."""
        return " ".join(map(str, sorted(problem.terms)))

    def prompt(self, problem: Problem) -> str:
        """``8+4-15=?``"""  # noqa: D400, D415
        return f"{problem.terms[0]}{''.join(f'{term:+d}' for term in problem.terms[1:])}=?{self._rules}"

    def grade(self, texts: Sequence[str], problems: Sequence[Problem]) -> tuple[Bools, Bools]:
        """One whole number (no sum, no plus sign, no leading zero) can be read; spaces may surround it."""
        found = [_NUMBER.fullmatch(last_answer(text) or "") for text in texts]
        correct = [
            match is not None and int(match[1]) == problem.total for match, problem in zip(found, problems, strict=True)
        ]
        return np.array(correct, np.bool_), np.array([match is not None for match in found], np.bool_)

    def solve(self, problem: Problem) -> str:
        """The running totals, and the last of them."""
        return _worked(problem.terms, [0] * (len(problem.terms) - 1))

    def corrupt(self, problem: Problem, rng: np.random.Generator) -> str:
        """The same with one slip, which the answer inherits."""
        slips = [0] * (len(problem.terms) - 1)
        at = int(rng.integers(len(slips)))
        slips[at] = (-10, -2, -1, 1, 2, 10, -2 * problem.terms[at + 1])[int(rng.integers(7))]
        return _worked(problem.terms, slips)

    def describe(self, problems: Sequence[Problem]) -> Info:
        """``terms`` (a tuple per environment) and ``target``."""
        return {"terms": [problem.terms for problem in problems], "target": [problem.total for problem in problems]}


class ChainSumEnv(SingleEnv):
    """``tiltyard/ChainSum-v0``; keywords as :class:`ChainSum`."""

    batched_class = ChainSum


class ChainSumVectorEnv(BatchedVectorEnv):
    """``tiltyard/ChainSum-v0`` as a native vector; keywords as :class:`ChainSum`."""

    batched_class = ChainSum
