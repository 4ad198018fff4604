# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Grades arithmetic answers in exact rational arithmetic, in batch: our own parser, never ``eval``.

The grammar of an answer, with spaces, tabs and newlines allowed between its parts::

    sum    = term (("+" | "-") term)*
    term   = factor (("*" | "/") factor)*
    factor = "-" factor | number | "(" sum ")"
    number = a run of the digits 0-9

Nothing else is read: no ``**``, ``//``, points, exponents, comments, implied products, leading plus or digits of
other scripts. Two stacks take the place of recursion, so depth and length cost time in proportion and nothing more.

The same functions are compiled (64-bit integers) and run as plain Python on unbounded integers. With k numbers, every
numerator and denominator of an intermediate value is at most ``2**(k-1) * n_1 * ... * n_k`` (a zero counts as one):
by induction over ``a/b + c/d = (ad + cb)/(bd)``, the products and quotients being smaller. Where this bound is below
2**63 the compiled grader cannot overflow; elsewhere the Python form grades. Both are therefore exact, always.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.extending import register_jitable

from ..core import Bools
from .base import CLOSE, OPEN

INT64_LIMIT = 2**63
UNREADABLE, WRONG, RIGHT = 0, 1, 2

_OPEN, _CLOSE = np.frombuffer(OPEN.encode(), np.uint8), np.frombuffer(CLOSE.encode(), np.uint8)
_ADD, _SUB, _MUL, _DIV, _LEFT, _RIGHT, _ZERO, _NINE, _SPACE, _TAB, _NEWLINE = (ord(c) for c in "+-*/()09 \t\n")
_NEGATE = ord("~")  # how the operator stack tells a sign from a subtraction
_LARGEST = INT64_LIMIT - 1


class Grades(NamedTuple):
    """Verdicts on n answers.

    Attributes:
        correct: ``[n]`` the expression is worth the target and uses each number at most (or exactly) once.
        readable: ``[n]`` there is a last ``<answer>...</answer>``, and it holds an expression of the grammar.
    """

    correct: Bools
    readable: Bools


def grade(
    answers: Sequence[str], numbers: npt.ArrayLike, targets: npt.ArrayLike, *, exactly_once: bool = False
) -> Grades:
    """Grades n answers, each the whole text that ends in ``<answer>expression</answer>``.

    Division by zero makes an answer wrong, not unreadable; so does a number that was not given or is used too often.

    Args:
        answers: ``[n]`` strings of any length and characters.
        numbers: ``[n, k]`` the given non-negative integers, k at least 1.
        targets: ``[n]`` integers to reach.
        exactly_once: every number must be used (the default lets numbers lie).

    Raises:
        ValueError: negative numbers, or shapes that do not fit together.
    """
    numbers, targets = np.asarray(numbers, np.int64), np.asarray(targets, np.int64)
    if len(answers) == 0:
        return Grades(np.zeros(0, np.bool_), np.zeros(0, np.bool_))
    if numbers.ndim != 2 or numbers.shape[1] < 1 or targets.shape != numbers.shape[:1] or len(answers) != len(targets):
        raise ValueError(
            f"{len(answers)} answers need numbers [{len(answers)}, k] and targets [{len(answers)}], "
            f"got {list(numbers.shape)} and {list(targets.shape)}"
        )
    if numbers.min() < 0:
        raise ValueError(f"the given numbers must not be negative, got {numbers.min()}")
    text, ends = _as_bytes(answers)
    verdicts = np.zeros(len(answers), np.int8)
    large = _may_overflow(numbers)
    _grade_batch(text, ends, numbers, targets, exactly_once, large, np.empty(_longest(ends) + 1, np.uint8), verdicts)
    for i in np.flatnonzero(large):
        verdicts[i] = _grade_in_python(text, ends, int(i), numbers[i], targets[i], exactly_once)
    return Grades(verdicts == RIGHT, verdicts >= WRONG)


def _as_bytes(answers: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """All texts as one buffer, one byte a character (``?`` for those outside ASCII), and where each one ends."""
    ends = np.cumsum(np.fromiter(map(len, answers), np.int64, len(answers)))
    return np.frombuffer("".join(answers).encode("ascii", "replace"), np.uint8), ends


def _longest(ends: npt.NDArray[np.int64]) -> int:
    return int(np.diff(ends, prepend=0).max())


def _may_overflow(numbers: npt.NDArray[np.int64]) -> Bools:
    """Problems whose intermediate values may not fit 64 bits, by the bound of the module's docstring."""
    factor = 2 ** (numbers.shape[1] - 1)
    safe = float(factor) * np.prod(np.maximum(numbers, 1).astype(np.float64), axis=1) < INT64_LIMIT / 2
    large: Bools = ~safe
    for i in np.flatnonzero(large):  # floats rounded: decide the few near or above the limit exactly
        large[i] = factor * prod(max(int(n), 1) for n in numbers[i]) >= INT64_LIMIT
    return large


def _grade_in_python(
    text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], i: int, numbers: Any, target: Any, exactly_once: bool
) -> int:
    start = int(ends[i - 1]) if i else 0
    own: Any = text[start : ends[i]].tolist()
    given = [int(n) for n in numbers]
    k = len(given)
    verdict: int = _verdict(
        own, 0, len(own), given, int(target), exactly_once, [False] * k, [0] * k, [1] * k, [0] * (len(own) + 1)
    )
    return verdict


@njit(cache=True)
def _grade_batch(text, ends, numbers, targets, exactly_once, skip, operators, verdicts):
    k = numbers.shape[1]
    used, top, bottom = np.zeros(k, np.bool_), np.zeros(k, np.int64), np.ones(k, np.int64)
    start = 0
    for i in range(len(ends)):
        end = ends[i]
        if not skip[i]:
            used[:] = False
            verdicts[i] = _verdict(text, start, end, numbers[i], targets[i], exactly_once, used, top, bottom, operators)
        start = end


@register_jitable
def _verdict(text, start, end, numbers, target, exactly_once, used, top, bottom, operators):
    """Grades ``text[start:end]``; ``used, top, bottom`` ``[k]`` and ``operators`` ``[end - start + 1]`` are scratch."""
    start, end = _answer_span(text, start, end)
    if start < 0:
        return UNREADABLE
    readable, legal = _evaluate(text, start, end, numbers, used, top, bottom, operators)
    if not readable:
        return UNREADABLE
    if not legal or (exactly_once and not _all(used)):
        return WRONG
    return RIGHT if top[0] % bottom[0] == 0 and top[0] // bottom[0] == target else WRONG


@register_jitable
def _all(flags):
    for flag in flags:  # noqa: SIM110
        if not flag:
            return False
    return True


@register_jitable
def _answer_span(text, start, end):
    """Where the last complete answer's content begins and ends, or (-1, -1); see :func:`.base.last_answer`."""
    close = -1
    for i in range(end - len(_CLOSE), start - 1, -1):
        if text[i] == _CLOSE[0]:
            if _matches(text, i, _CLOSE):
                close = i
            elif close >= 0 and i + len(_OPEN) <= close and _matches(text, i, _OPEN):
                return i + len(_OPEN), close
    return -1, -1


@register_jitable
def _matches(text, at, word):
    for j in range(len(word)):
        if text[at + j] != word[j]:
            return False
    return True


@register_jitable
def _evaluate(text, at, end, numbers, used, top, bottom, operators):
    """Reads an expression by operator precedence; its value is left in ``top[0] / bottom[0]``.

    Returns:
        readable: it is in the grammar.
        legal: it uses given numbers only, none too often, and never divides by zero; only then it has a value.
    """
    values, waiting, brackets = 0, 0, 0
    wants_operand, legal = True, True
    while at < end:
        c = text[at]
        if _ZERO <= c <= _NINE:
            if not wants_operand:
                return False, False
            number, at = _read_number(text, at, end)
            legal = legal and _take(number, numbers, used)
            if legal:
                top[values], bottom[values] = number, 1
            values, wants_operand = values + 1, False
            continue
        at += 1
        if c == _SPACE or c == _TAB or c == _NEWLINE:
            continue
        if not _fits(c, wants_operand, brackets):
            return False, False
        if not wants_operand:
            values, waiting, legal = _apply_down_to(_rank(c), values, waiting, legal, top, bottom, operators)
        if c == _RIGHT:
            waiting, brackets = waiting - 1, brackets - 1
            continue
        operators[waiting] = _NEGATE if wants_operand and c == _SUB else c
        waiting, brackets, wants_operand = waiting + 1, brackets + (c == _LEFT), True
    if wants_operand or brackets > 0:
        return False, False
    values, waiting, legal = _apply_down_to(_rank(_RIGHT), values, waiting, legal, top, bottom, operators)
    return True, legal


@register_jitable
def _fits(c, wants_operand, brackets):
    """Whether a character that is no digit and no space may come next."""
    if wants_operand:
        return c == _LEFT or c == _SUB
    return (c == _RIGHT and brackets > 0) or c == _ADD or c == _SUB or c == _MUL or c == _DIV


@register_jitable
def _rank(operator):
    """How tightly an operator binds; a closing bracket applies everything down to its opening one."""
    if operator == _LEFT:
        return -1
    if operator == _RIGHT:
        return 0
    if operator == _NEGATE:
        return 3
    return 1 if operator == _ADD or operator == _SUB else 2


@register_jitable
def _read_number(text, at, end):
    """The number that starts at ``at`` (-1, which is never given, if it needs over 64 bits), and where it ends."""
    number, fits = 0, True
    while at < end and _ZERO <= text[at] <= _NINE:
        digit = text[at] - _ZERO
        fits = fits and number <= (_LARGEST - digit) // 10
        if fits:
            number = number * 10 + digit
        at += 1
    return (number if fits else -1), at


@register_jitable
def _take(number, numbers, used):
    """Marks one unused given number equal to ``number``; False if there is none."""
    for i in range(len(numbers)):
        if not used[i] and numbers[i] == number:
            used[i] = True
            return True
    return False


@register_jitable
def _apply_down_to(rank, values, waiting, legal, top, bottom, operators):
    """Applies the waiting operators of at least this rank, the last first."""
    while waiting > 0 and _rank(operators[waiting - 1]) >= rank:
        waiting -= 1
        operator = operators[waiting]
        if operator == _NEGATE:
            if legal:
                top[values - 1] = -top[values - 1]
            continue
        values -= 1
        if legal:
            legal = _combine(operator, values - 1, values, top, bottom)
    return values, waiting, legal


@register_jitable
def _combine(operator, left, right, top, bottom):
    """Puts ``left (operator) right`` in ``left``'s place, denominators positive; False where it divides by zero."""
    a, b, c, d = top[left], bottom[left], top[right], bottom[right]
    if operator == _ADD:
        top[left], bottom[left] = a * d + c * b, b * d
    elif operator == _SUB:
        top[left], bottom[left] = a * d - c * b, b * d
    elif operator == _MUL:
        top[left], bottom[left] = a * c, b * d
    elif c == 0:
        return False
    elif c > 0:
        top[left], bottom[left] = a * d, b * c
    else:
        top[left], bottom[left] = -a * d, -b * c
    return True
