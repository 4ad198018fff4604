"""The grader: hand-worked verdicts, hostile input, and equality with an independent reader on exact fractions."""

import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tiltyard.envs.text.base import last_answer
from tiltyard.envs.text.expressions import grade


def verdict(expression: str, numbers: list[int], target: int, exactly_once: bool = False) -> tuple[bool, bool]:
    grades = grade([f"<answer>{expression}</answer>"], [numbers], [target], exactly_once=exactly_once)
    return bool(grades.correct[0]), bool(grades.readable[0])


RIGHT, WRONG, UNREADABLE = (True, True), (False, True), (False, False)


@pytest.mark.parametrize(
    ("expression", "numbers", "target", "expected"),
    [
        ("(8*4)+25", [8, 4, 25], 57, RIGHT),  # 32 + 25
        ("8*4+25", [25, 4, 8], 57, RIGHT),  # * before +
        ("25+8*4", [8, 4, 25], 57, RIGHT),
        ("(25+8)*4", [8, 4, 25], 57, WRONG),  # 132
        ("10-4-3", [10, 4, 3], 3, RIGHT),  # from the left: 6 - 3, not 10 - 1
        ("12/3/2", [12, 3, 2], 2, RIGHT),  # from the left: 4 / 2, not 12 / 1.5
        ("2/(3/6)", [2, 3, 6], 4, RIGHT),  # 2 / (1/2)
        ("8/(3-8/3)", [8, 3, 8, 3], 24, RIGHT),  # 8 / (1/3), a famous one
        ("1/3", [1, 3], 0, WRONG),  # nothing is rounded
        ("7-3*-2", [7, 3, 2], 13, RIGHT),  # a sign binds tightest
        ("-2*-3", [2, 3], 6, RIGHT),
        ("--5", [5], 5, RIGHT),
        ("-(4-9)", [4, 9], 5, RIGHT),
        ("-(4-9)/-1", [4, 9, 1], -5, RIGHT),
        (" 8\t*\n4 ", [8, 4], 32, RIGHT),
        ("007", [7], 7, RIGHT),
        ("8", [8, 4], 8, RIGHT),
        ("8+8", [8, 4], 16, WRONG),  # one 8 only
        ("8+8", [8, 8], 16, RIGHT),
        ("57", [8, 4, 25], 57, WRONG),  # the target itself
        ("12", [1, 2], 12, WRONG),  # digits put together
        ("8/(4-4)", [8, 4, 4], 8, WRONG),  # no value, yet readable
        ("0/0", [0, 0], 0, WRONG),
        ("0*(1/0)", [0, 1, 0], 0, WRONG),
        ("", [4], 4, UNREADABLE),
        (" ", [4], 4, UNREADABLE),
        ("()", [4], 4, UNREADABLE),
        ("(4", [4], 4, UNREADABLE),
        ("4)", [4], 4, UNREADABLE),
        ("4)+(4", [4, 4], 8, UNREADABLE),
        ("+4", [4], 4, UNREADABLE),
        ("4+", [4], 4, UNREADABLE),
        ("1 2", [1, 2], 12, UNREADABLE),
        ("2(3)", [2, 3], 6, UNREADABLE),
        ("(2)(3)", [2, 3], 6, UNREADABLE),
        ("2**3", [2, 3], 8, UNREADABLE),
        ("7//2", [7, 2], 3, UNREADABLE),
        ("2e1", [2, 1], 20, UNREADABLE),
        ("2.0", [2], 2, UNREADABLE),
        ("1_0", [10], 10, UNREADABLE),
        ("4 # four", [4], 4, UNREADABLE),
        ("8*4=32", [8, 4], 32, UNREADABLE),
        ("\N{ARABIC-INDIC DIGIT FOUR}", [4], 4, UNREADABLE),
        ("\N{FULLWIDTH DIGIT FOUR}", [4], 4, UNREADABLE),
        ("8\N{MULTIPLICATION SIGN}4", [8, 4], 32, UNREADABLE),
        ("~4", [4], -4, UNREADABLE),  # the parser's own sign for a negation
        ("abs(4)", [4], 4, UNREADABLE),
        ("__import__('os').getpid()", [4], 4, UNREADABLE),
    ],
)
def test_hand_worked_verdicts(expression: str, numbers: list[int], target: int, expected: tuple[bool, bool]) -> None:
    assert verdict(expression, numbers, target) == expected


def test_exactly_once_wants_every_number() -> None:
    assert verdict("8*4", [8, 4, 25], 32) == RIGHT
    assert verdict("8*4", [8, 4, 25], 32, exactly_once=True) == WRONG
    assert verdict("8*4+25", [8, 4, 25], 57, exactly_once=True) == RIGHT


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(" * 100_000 + "4" + ")" * 100_000, RIGHT),
        ("-" * 100_000 + "4", RIGHT),
        ("-(" * 50_000 + "4" + ")" * 50_000, RIGHT),
        ("(" * 100_000, UNREADABLE),
        ("4" * 100_000, WRONG),
        ("4+" * 100_000 + "4", WRONG),
        ("0" * 100_000 + "4", RIGHT),
        (" " * 100_000, UNREADABLE),
        ("<answer>" * 20_000 + "4", RIGHT),
    ],
)
def test_huge_input_is_graded_like_any_other(expression: str, expected: tuple[bool, bool]) -> None:
    assert verdict(expression, [4], 4) == expected


def test_values_beyond_64_bits_are_exact() -> None:
    big = 3_037_000_500  # its square is 2**63 + 145,474,192: in 64 bits, a negative number
    assert big * big > 2**63
    assert verdict("9*9/9", [9, 9, 9], 9) == RIGHT
    assert verdict(f"{big}*{big}/{big}", [big, big, big], big) == RIGHT
    assert verdict(f"{big}*{big}-{big}*{big}", [big] * 4, 0) == RIGHT
    assert verdict(f"{big}*{big}", [big, big], (big * big) % 2**63) == WRONG  # as 64 bits would have it
    top = 2**63 - 1
    assert verdict(str(top), [top], top) == RIGHT
    assert verdict(str(2**64 + 5), [5], 5) == WRONG


def test_a_batch_is_its_items_one_by_one() -> None:
    numbers = [[8, 4, 25], [1, 2, 3], [2**62, 2, 2], [5, 5, 5]]
    answers = ["<answer>8*4+25</answer>", "none", f"<answer>{2**62}*2/2</answer>", "<answer>5/0</answer>"]
    targets = [57, 6, 2**62, 1]
    batch = grade(answers, numbers, targets)
    for i in range(4):
        one = grade(answers[i : i + 1], numbers[i : i + 1], targets[i : i + 1])
        assert (one.correct[0], one.readable[0]) == (batch.correct[i], batch.readable[i])
    assert batch.correct.tolist() == [True, False, True, False]
    assert batch.readable.tolist() == [True, False, True, True]


def test_shapes_and_signs_are_checked() -> None:
    assert grade([], np.zeros((0, 3)), []).correct.shape == (0,)
    with pytest.raises(ValueError, match="2 answers need numbers"):
        grade(["a", "b"], [[1, 2]], [3])
    with pytest.raises(ValueError, match="must not be negative"):
        grade(["a"], [[1, -2]], [3])


class Reader:
    """Recursive descent over tokens on Python's own fractions; None is the value of a division by zero."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.used = tokens, []

    def total(self) -> Fraction | None:
        return self.chain(lambda: self.chain(self.factor, "*/"), "+-")

    def chain(self, part: Callable[[], Fraction | None], signs: str) -> Fraction | None:
        value = part()
        while self.tokens and self.tokens[0] in signs:
            value = self.apply(self.tokens.pop(0), value, part())
        return value

    def apply(self, sign: str, a: Fraction | None, b: Fraction | None) -> Fraction | None:
        if a is None or b is None or (sign == "/" and b == 0):
            return None
        return {"+": a + b, "-": a - b, "*": a * b, "/": a / (b or 1)}[sign]

    def factor(self) -> Fraction | None:
        token = self.tokens.pop(0)
        if token == "-":
            value = self.factor()
            return None if value is None else -value
        if token == "(":
            value = self.total()
            if self.tokens.pop(0) != ")":
                raise SyntaxError
            return value
        self.used.append(int(token))
        return Fraction(int(token))


def reference(text: str, numbers: list[int], target: int, exactly_once: bool) -> tuple[bool, bool]:
    """An independent grader."""
    content = last_answer(text)
    if content is None or not re.fullmatch(r"[0-9+\-*/() \t\n]*", content):
        return UNREADABLE
    reader = Reader(re.findall(r"[0-9]+|[-+*/()]", content))
    try:
        value = reader.total()
    except (SyntaxError, IndexError, ValueError):
        return UNREADABLE
    if reader.tokens:
        return UNREADABLE
    spare = Counter(numbers) - Counter(reader.used)
    legal = Counter(reader.used) <= Counter(numbers)
    return legal and value == target and not (exactly_once and bool(spare)), True


number_lists = st.lists(st.integers(0, 12) | st.sampled_from([0, 3_037_000_500, 2**40, 2**62]), min_size=1, max_size=5)


@st.composite
def problems_with_answers(draw: st.DrawFn) -> tuple[str, list[int], int]:
    """Expressions over the given numbers (each once, mostly), with a target that is often the right one."""
    numbers = draw(number_lists)
    parts = [str(number) for number in draw(st.permutations(numbers))]
    while len(parts) > 1:
        i = draw(st.integers(0, len(parts) - 2))
        joined = parts[i] + draw(st.sampled_from("+-*/")) + parts[i + 1]
        parts[i : i + 2] = [draw(st.sampled_from(["({})", "{}", "-({})", " {} "])).format(joined)]
    text = parts[0]
    try:
        value = eval(re.sub(r"(\d+)", r"Fraction(\1)", text))  # of text this test has written itself
        target = int(value) if value == int(value) and abs(value) < 2**63 else 7
    except ZeroDivisionError:
        target = 7
    return text, numbers, draw(st.sampled_from([target, target, target + 1 if target < 2**62 else 7]))


@settings(max_examples=400, deadline=None)
@given(problems_with_answers(), st.booleans())
def test_the_kernel_equals_exact_fractions_on_expressions(problem: tuple[str, list[int], int], once: bool) -> None:
    text, numbers, target = problem
    assert verdict(text, numbers, target, once) == reference(f"<answer>{text}</answer>", numbers, target, once)


@settings(max_examples=600, deadline=None)
@given(st.text(alphabet="0123456789+-*/() \n", max_size=14), st.booleans())
@example("--1*(2)/-3", True)
def test_the_kernel_equals_the_reference_on_any_run_of_symbols(text: str, once: bool) -> None:
    expected = reference(f"<answer>{text}</answer>", [1, 2, 3], 6, once)
    assert verdict(text, [1, 2, 3], 6, once) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["<answer>", "</answer>", "6", "7", "<", "answer>", "x"]), max_size=9))
@example(["<answer>", "6", "</answer>", "x", "</answer>"])
def test_the_kernel_finds_the_answer_that_counts(parts: list[str]) -> None:
    text = "".join(parts)
    grades = grade([text], [[6]], [6])
    assert (bool(grades.correct[0]), bool(grades.readable[0])) == reference(text, [6], 6, False)
