# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Countdown: reach a target from given numbers with + - * / and brackets, each number at most once.

=====  =======  =======  =======
level  numbers  from-to  targets
=====  =======  =======  =======
1      3        1-12     1-99
2      4        1-12     1-99
3      4        1-25     1-199
4      5        1-50     10-499
5      6        1-100    100-999
=====  =======  =======  =======

Every problem is solvable by construction, with all its numbers and with positive whole numbers on the way: the numbers
are combined at random until one value, the target, is left. No target is among its own numbers, so a bare number never
solves a problem. A problem (its numbers as a multiset, and its target) belongs to one split for ever; the two splits
share none. Generation and grading are compiled and batched: :func:`generate`, :func:`grade`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from ..core import BatchedVectorEnv, Bools, Info, Ints, SingleEnv
from ..seeding import TEST_SHARE, Split, UInts, check_split, mix, problem_keys
from .base import CLOSE, OPEN, BatchedText, level_of
from .expressions import Grades, grade

__all__ = ["LEVELS", "Countdown", "CountdownEnv", "CountdownVectorEnv", "Grades", "Level", "Problem", "Problems"]
__all__ += ["generate", "grade", "problem_hash"]

OPERATORS = "+-*/"
RULES = (
    "Use + - * / and brackets, and each number {often}. Think as long as you need, "
    "then give the expression alone, as in <answer>(1+2)*3</answer>."
)


class Level(NamedTuple):
    """How hard: how many numbers, from which range, to reach targets in which range (all bounds inclusive)."""

    k: int
    low: int
    high: int
    low_target: int
    high_target: int


LEVELS: dict[int, Level] = {
    1: Level(3, 1, 12, 1, 99),
    2: Level(4, 1, 12, 1, 99),
    3: Level(4, 1, 25, 1, 199),
    4: Level(5, 1, 50, 10, 499),
    5: Level(6, 1, 100, 100, 999),
}


class Step(NamedTuple):
    """One line of working: ``left (operator) right = value``."""

    left: int
    operator: str
    right: int
    value: int

    def __str__(self) -> str:
        return f"{self.left}{self.operator}{self.right}={self.value}"


class Problem(NamedTuple):
    """One problem: its numbers as shown, its target, and the steps ``(left, operator index, right)`` that made it."""

    numbers: tuple[int, ...]
    target: int
    steps: tuple[tuple[int, int, int], ...]


class Problems(NamedTuple):
    """n problems of k numbers as arrays.

    Attributes:
        numbers: int64 ``[n, k]`` in the order shown.
        targets: int64 ``[n]``.
        steps: int64 ``[n, k - 1, 3]``: one solution, as left value, index in ``"+-*/"`` and right value of each step.
    """

    numbers: Ints
    targets: Ints
    steps: Ints

    def rows(self) -> list[Problem]:
        """The same problems one by one."""
        columns = zip(self.numbers.tolist(), self.targets.tolist(), self.steps.tolist(), strict=True)
        return [Problem(tuple(numbers), target, tuple(map(tuple, steps))) for numbers, target, steps in columns]


def check_level(level: int) -> Level:
    """The numbers behind a level; ``ValueError`` for one that does not exist."""
    return level_of(level, LEVELS)


def generate(seeds: npt.ArrayLike, episodes: npt.ArrayLike = 0, *, split: Split = "train", level: int = 1) -> Problems:
    """The problems that ``reset(seed=seeds[j])`` and ``episodes[j]`` further resets lead to.

    Args:
        seeds: ``[n]`` non-negative integers.
        episodes: ``[n]`` (or one for all) non-negative integers; 0 is the problem of the seeded reset itself.
        split: "train" or "test".
        level: a key of :data:`LEVELS`.
    """
    shape = check_level(level)
    keys = np.atleast_1d(problem_keys(check_split(split), seeds, episodes))
    n, k = len(keys), shape.k
    made = Problems(np.empty((n, k), np.int64), np.empty(n, np.int64), np.empty((n, k - 1, 3), np.int64))
    _generate_batch(keys, split == "test", *shape, *made)
    return made


def problem_hash(numbers: npt.ArrayLike, targets: npt.ArrayLike) -> UInts:
    """64-bit hashes ``[n]`` of problems, blind to the order of the numbers; they decide the split.

    Args:
        numbers: ``[n, k]`` integers.
        targets: ``[n]`` integers.
    """
    ordered = np.sort(np.asarray(numbers, np.int64), axis=-1).astype(np.uint64)
    key = mix(np.asarray(targets, np.int64).astype(np.uint64))
    with np.errstate(over="ignore"):
        for column in np.moveaxis(ordered, -1, 0):
            key = mix(key * np.uint64(_GAMMA) + column)
    return key


_GAMMA = 0x9E3779B97F4A7C15  # SplitMix64's increment: 2**64 over the golden ratio, made odd


@njit(cache=True)
def _mixed(x):
    """:func:`tiltyard.envs.seeding.mix`, compiled."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True)
def _below(state, bound):
    """The next integer in ``[0, bound)`` of the SplitMix64 stream in ``state[0]``; bias under ``bound / 2**32``."""
    state[0] += np.uint64(_GAMMA)
    return np.int64(((_mixed(state[0]) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True)
def _hash(numbers, target, ordered):
    """:func:`problem_hash` of one problem, compiled; ``ordered`` ``[k]`` is scratch."""
    for i in range(len(numbers)):  # insertion sort: at most six numbers
        j = i
        while j > 0 and ordered[j - 1] > numbers[i]:
            ordered[j] = ordered[j - 1]
            j -= 1
        ordered[j] = numbers[i]
    key = _mixed(np.uint64(target))
    for number in ordered:
        key = _mixed(key * np.uint64(_GAMMA) + np.uint64(number))
    return key


@njit(cache=True)
def _combine_at_random(state, values, steps):
    """Combines ``values`` ``[k]`` two by two into one positive whole number, noting the steps; 0 if a draw fails."""
    for left in range(len(values), 1, -1):
        i, j = _below(state, left), _below(state, left - 1)
        j += j >= i
        a, b = max(values[i], values[j]), min(values[i], values[j])
        operator = _below(state, 4)
        if (operator == 1 and a == b) or (operator == 3 and a % b != 0):
            return 0
        value = a + b if operator == 0 else a - b if operator == 1 else a * b if operator == 2 else a // b
        step = steps[len(values) - left]
        step[0], step[1], step[2] = a, operator, b
        values[min(i, j)] = value
        values[max(i, j)] = values[left - 1]
    return values[0]


@njit(cache=True)
def _generate_batch(keys, test, k, low, high, low_target, high_target, numbers, targets, steps):
    state, values, ordered = np.empty(1, np.uint64), np.empty(k, np.int64), np.empty(k, np.int64)
    for row in range(len(keys)):
        state[0] = keys[row]
        while True:
            for i in range(k):
                numbers[row, i] = values[i] = low + _below(state, high - low + 1)
            target = _combine_at_random(state, values, steps[row])
            if not low_target <= target <= high_target or (numbers[row] == target).any():
                continue
            if (_mixed(_hash(numbers[row], target, ordered)) % np.uint64(TEST_SHARE) == 0) == test:
                break
        targets[row] = target


def _steps_of(a: int, b: int) -> list[Step]:
    """What two numbers make in one step, in the expert's order: + - * /, positive whole values only."""
    a, b = max(a, b), min(a, b)
    steps = [Step(a, "+", b, a + b)]
    if a > b:
        steps.append(Step(a, "-", b, a - b))
    steps.append(Step(a, "*", b, a * b))
    if b > 0 and a % b == 0:
        steps.append(Step(a, "/", b, a // b))
    return steps


class Pair(NamedTuple):
    """Two of three numbers, tried together while the third waits.

    Attributes:
        needs: steps from the target and the waiting number back to the values that the pair has to make.
        tries: every step of the pair, with every last step after it.
    """

    needs: list[Step]
    tries: list[tuple[Step, list[Step]]]


def _pairs(numbers: Sequence[int], target: int) -> list[Pair]:
    """The three pairs of three numbers, in the expert's order."""
    pairs = []
    for i, j, rest in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        a, b, waiting = numbers[i], numbers[j], numbers[rest]
        tries = [(step, _steps_of(step.value, waiting)) for step in _steps_of(a, b)]
        # no pair makes more than its sum or product, so a product beyond them is not worth a line
        needs = [step for step in _steps_of(target, waiting) if step.operator != "*" or step.value <= max(a + b, a * b)]
        pairs.append(Pair(needs, tries))
    return pairs


def _planned(problem: Problem) -> tuple[list[Step], list[int]]:
    """The solution's steps until three numbers are left, and those three."""
    left, plan = list(problem.numbers), []
    for a, operator, b in problem.steps[: len(left) - 3]:
        step = next(step for step in _steps_of(a, b) if step.operator == OPERATORS[operator])
        left.remove(a)
        left.remove(b)
        left.append(step.value)
        plan.append(step)
    return plan, left


def _expression(numbers: Sequence[int], steps: Sequence[Step]) -> str:
    """The steps as one expression; every part that is not a given number is in brackets."""
    parts = [(number, str(number)) for number in numbers]
    for step in steps:
        left = parts.pop(next(i for i, (value, _) in enumerate(parts) if value == step.left))[1]
        right = parts.pop(next(i for i, (value, _) in enumerate(parts) if value == step.right))[1]
        parts.append((step.value, f"({left}{step.operator}{right})"))
    return parts[-1][1][1:-1]


class Countdown(BatchedText[Problem]):
    """Countdown's environments. ``info["numbers"]`` and ``info["target"]`` at reset name the problem.

    The expert writes a search over the last three numbers (before that it knows the way). For each pair of them it
    works back from the target and the waiting number to the values it needs, ``:``, then tries the pair's steps, ``;``
    after each whose value is none of them, until one is, and finishes::

        Make 57 from 8 4 25.
        57+25=82,57-25=32:8+4=12;8-4=4;8*4=32 32+25=57<answer>(8*4)+25</answer>

    The corrupted texts of :meth:`demonstrations` are impatient: every line of working is true, but the first step
    tried is taken whether it leads to the target or not, and a last step that misses it is answered.

    Args:
        num_envs: number of environments.
        level: 1 (three small numbers) to 5 (six numbers up to 100), see the table above.
        exactly_once: every number must be used exactly once, not at most once.
        instructions: the question also states the rules, for language models that have not been trained on the task.
        split: "train" or "test".
        render_mode: None or "rgb_array".
    """

    def __init__(
        self,
        num_envs: int,
        *,
        level: int = 1,
        exactly_once: bool = False,
        instructions: bool = False,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        check_level(level)
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=256, answer_length=400)
        self.level = level
        self.exactly_once = exactly_once
        self._rules = (
            " " + RULES.format(often="exactly once" if exactly_once else "at most once") if instructions else ""
        )

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Problem]:
        """See :func:`generate`."""
        return generate(seeds, episodes, split=self.split, level=self.level).rows()

    def canonical(self, problem: Problem) -> str:
        """The numbers in order of size, and the target: what :func:`problem_hash` sees."""
        return f"{' '.join(map(str, sorted(problem.numbers)))}: {problem.target}"

    def prompt(self, problem: Problem) -> str:
        """``Make 57 from 8 4 25.``"""  # noqa: D400, D415
        return f"Make {problem.target} from {' '.join(map(str, problem.numbers))}.{self._rules}"

    def grade(self, texts: Sequence[str], problems: Sequence[Problem]) -> tuple[Bools, Bools]:
        """See :func:`tiltyard.envs.text.expressions.grade`."""
        numbers = np.array([problem.numbers for problem in problems], np.int64)
        targets = np.array([problem.target for problem in problems], np.int64)
        return grade(texts, numbers, targets, exactly_once=self.exactly_once)

    def solve(self, problem: Problem) -> str:
        """The search up to the first solution."""
        plan, left = _planned(problem)
        working = "".join(f"{step} " for step in plan)
        for pair in _pairs(left, problem.target):
            working += _noted(pair)
            for first, lasts in pair.tries:
                for last in lasts:
                    if last.value == problem.target:
                        return working + _finished(problem, [*plan, first, last])
                working += f"{first};"
        raise ValueError(f"the steps of {problem} do not lead to its target: take problems from generate()")

    def corrupt(self, problem: Problem, rng: np.random.Generator) -> str:
        """The first step tried, and a last step that misses the target."""
        plan, left = _planned(problem)
        pair = _pairs(left, problem.target)[0]
        first, lasts = pair.tries[0]
        # never empty: the first step adds, and a + b is a * b only for 2 and 2, where a / b misses
        last = next(last for last in lasts if last.value != problem.target)
        return "".join(f"{step} " for step in plan) + _noted(pair) + _finished(problem, [*plan, first, last])

    def describe(self, problems: Sequence[Problem]) -> Info:
        """``numbers`` (a tuple per environment) and ``target``."""
        return {
            "numbers": [problem.numbers for problem in problems],
            "target": [problem.target for problem in problems],
        }


def _noted(pair: Pair) -> str:
    return ",".join(map(str, pair.needs)) + ":"


def _finished(problem: Problem, steps: Sequence[Step]) -> str:
    """The last two steps and the answer."""
    return f"{steps[-2]} {steps[-1]}{OPEN}{_expression(problem.numbers, steps)}{CLOSE}"


class CountdownEnv(SingleEnv):
    """``tiltyard/Countdown-v0``; keywords as :class:`Countdown`."""

    batched_class = Countdown


class CountdownVectorEnv(BatchedVectorEnv):
    """``tiltyard/Countdown-v0`` as a native vector; keywords as :class:`Countdown`."""

    batched_class = Countdown
