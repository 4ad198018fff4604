"""Chain sums: the stated numbers of digits, true lines but for one slip, and which numbers can be read."""

import re

import numpy as np
import pytest

from tiltyard.envs.text.chain_sum import LEVELS, ChainSum, ChainSumEnv, Problem

EXAMPLE = Problem((8, 4, -15))


def test_a_worked_sum_by_hand() -> None:
    batched = ChainSum(1)
    assert batched.prompt(EXAMPLE) == "8+4-15=?"
    assert batched.solve(EXAMPLE) == "8+4=12 12-15=-3<answer>-3</answer>"  # 8 + 4 - 15 = -3
    assert batched.describe([EXAMPLE]) == {"terms": [(8, 4, -15)], "target": [-3]}


@pytest.mark.parametrize("level", LEVELS)
def test_levels_say_how_many_numbers_of_how_many_digits(level: int) -> None:
    seeds = np.arange(150)
    for problem in ChainSum(1, level=level).problems(seeds, seeds):
        assert len(problem.terms) == LEVELS[level].terms
        assert {len(str(abs(term))) for term in problem.terms} == {LEVELS[level].digits}
        assert problem.terms[0] > 0
    signs = np.sign([p.terms[1:] for p in ChainSum(1, level=level).problems(seeds, seeds)])
    assert abs(signs.mean()) < 0.2


def test_a_misleading_sum_slips_once_and_goes_on_truly() -> None:
    batched, rng, seeds = ChainSum(1, level=3), np.random.default_rng(0), np.arange(100)
    for problem in batched.problems(seeds, seeds):
        lines = re.findall(r"(-?\d+)([+-]\d+)=(-?\d+)", batched.corrupt(problem, rng))
        assert [int(term) for _, term, _ in lines] == list(problem.terms[1:])
        assert sum(int(before) + int(term) != int(after) for before, term, after in lines) == 1
        assert all(one[2] == other[0] for one, other in zip(lines, lines[1:], strict=False))


@pytest.mark.parametrize(
    ("answer", "correct", "readable"),
    [
        ("-3", True, True),
        (" -3 ", True, True),
        ("3", False, True),
        ("-03", False, False),
        ("+3", False, False),
        ("- 3", False, False),
        ("-3.0", False, False),
        ("-3-0", False, False),
        ("8+4-15", False, False),
        ("\n-3\n", True, True),
        ("-3\n3", False, False),
        ("-3\n.", False, False),
        ("--3", False, False),
        ("-0", False, False),
        ("\N{MINUS SIGN}3", False, False),
        ("-\N{ARABIC-INDIC DIGIT THREE}", False, False),
        ("-3, 3", False, False),
        ("9" * 50_000, False, False),
    ],
)
def test_only_one_plain_whole_number_counts(answer: str, correct: bool, readable: bool) -> None:
    right, read = ChainSum(1).grade([f"<answer>{answer}</answer>"], [EXAMPLE])
    assert (right[0], read[0]) == (correct, readable)


def test_a_wrong_sum_earns_nothing_and_an_unreadable_one_less() -> None:
    env = ChainSumEnv()
    for text, reward in (("<answer>999</answer>", 0.0), ("eight", -0.1)):
        env.reset(seed=1)
        assert env.step(text)[1] == reward
