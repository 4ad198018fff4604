"""Knights and knaves: one solution each, found again from the words alone by a solver that shares nothing with ours."""

import itertools
import re

import numpy as np
import pytest

from tiltyard.envs.text.knights_knaves import LEVELS, KnightsKnaves, Problem, Statement, solutions

# By hand: if Ann is a knight, Bob is a knave and lies, so Ann and Cid differ, and Cid is a knave, whose statement is a
# lie indeed: it fits. If Ann is a knave, Bob is a knight, so Cid is a knave like Ann, but then what Cid says is true.
EXAMPLE = Problem(
    ("Ann", "Bob", "Cid"),
    (Statement("is", (1,), (0,)), Statement("alike", (0, 2), (1,)), Statement("is", (0,), (0,))),
    (True, False, False),
)


def holds(sentence: str, kinds: dict[str, bool]) -> bool:
    """What a sentence says, read from its words."""
    if match := re.fullmatch(r"exactly (\d) of us are knights", sentence):
        return sum(kinds.values()) == int(match[1])
    if match := re.fullmatch(r"(\w+) and (\w+) (are alike|differ)", sentence):
        return (kinds[match[1]] == kinds[match[2]]) == (match[3] == "are alike")
    if match := re.fullmatch(r"if (.*) then (.*)", sentence):
        return not holds(match[1], kinds) or holds(match[2], kinds)
    if match := re.fullmatch(r"(.*?) (and|or) (.*)", sentence):
        return (all if match[2] == "and" else any)([holds(match[1], kinds), holds(match[3], kinds)])
    match = re.fullmatch(r"(\w+) is a (knight|knave)", sentence)
    assert match, sentence
    return kinds[match[1]] == (match[2] == "knight")


def solved_from_words(text: str) -> list[dict[str, bool]]:
    said = dict(re.findall(r"(\w+): (.*?)\.", text))
    ways = (dict(zip(said, kinds, strict=True)) for kinds in itertools.product((True, False), repeat=len(said)))
    return [kinds for kinds in ways if all(holds(said[name], kinds) == kinds[name] for name in said)]


def test_a_puzzle_by_hand() -> None:
    lanes = KnightsKnaves(1)
    assert solutions(EXAMPLE.statements) == [EXAMPLE.knights]
    text = "Ann: Bob is a knave. Bob: Ann and Cid are alike. Cid: Ann is a knave."
    assert lanes.prompt(EXAMPLE) == text
    # Ann a knight; were Bob one, Ann would lie: x; Bob a knave; Cid a knight contradicts: x; Cid a knave
    assert lanes.solve(EXAMPLE) == "A+B+xB-C+xC-<answer>Ann knight, Bob knave, Cid knave</answer>"


@pytest.mark.parametrize("level", LEVELS)
def test_each_puzzle_has_one_solution_by_a_second_solver(level: int) -> None:
    seeds = np.arange(40)
    lanes = KnightsKnaves(1, level=level, split="test")
    for problem in lanes.problems(seeds, seeds):
        assert solved_from_words(lanes.prompt(problem)) == [dict(zip(problem.names, problem.knights, strict=True))]
        assert len(problem.names) == len(set(problem.names)) == LEVELS[level].people
        assert {statement.form for statement in problem.statements} <= set(LEVELS[level].forms)


def test_all_forms_occur_and_knights_are_no_rarer_than_a_third() -> None:
    seeds = np.arange(200)
    problems = KnightsKnaves(1, level=4).problems(seeds, seeds)
    assert {statement.form for p in problems for statement in p.statements} == set(LEVELS[4].forms)
    assert 1 / 3 < np.mean([p.knights for p in problems]) < 2 / 3


@pytest.mark.parametrize(
    ("answer", "correct", "readable"),
    [
        ("Ann knight, Bob knave, Cid knave", True, True),
        ("Cid is a knave, ann is a KNIGHT and Bob knave", True, True),
        ("Ann knight,\nBob knave,\nCid knave", True, True),
        ("Ann knight, Bob knave, Cid knight", False, True),
        ("Ann knight, Bob knave", False, False),
        ("Ann knight, Bob knave, Cid knave, Cid knight", False, False),
        ("Ann knight, Bob knave, Cid knave, Dan knave", False, False),
        ("Ann knight, Ann knight, Bob knave", False, False),
        ("Ann knight or knave, Bob knave, Cid knave", False, False),
        ("Ann knight, Bob not knight, Cid knave", False, False),
        ("knight knave knave", False, False),
        ("A knight, B knave, C knave", False, False),
        ("Ann \u212anight, Bob knave, Cid knave", False, False),  # the sign for kelvin, which is a k in lower case
        ("Ann knight,\u2003Bob knave, Cid knave", False, False),
        ("Ann knight, " * 50_000, False, False),
    ],
)
def test_each_person_is_named_once(answer: str, correct: bool, readable: bool) -> None:
    right, read = KnightsKnaves(1).grade([f"<answer>{answer}</answer>"], [EXAMPLE])
    assert (right[0], read[0]) == (correct, readable)


def test_the_notes_of_the_expert_are_a_search_that_ends_at_the_answer() -> None:
    seeds = np.arange(60)
    lanes = KnightsKnaves(1, level=4)
    for problem in lanes.problems(seeds, seeds):
        notes = re.findall(r"([A-Z])([+-])(x?)", lanes.solve(problem).split("<answer>")[0])
        last = {initial: sign == "+" for initial, sign, _ in notes}
        assert [last[name[0]] for name in problem.names] == list(problem.knights)
        assert notes[-1][2] == ""
        assert all(sign == "-" for (_, _, crossed), (_, sign, _) in zip(notes, notes[1:], strict=False) if crossed)


def test_misleading_searches_are_deaf_to_a_speaker() -> None:
    seeds, rng = np.arange(100), np.random.default_rng(0)
    lanes = KnightsKnaves(1, level=3)
    missed = []
    for problem in lanes.problems(seeds, seeds):
        answer = lanes.mislead(problem, rng).split("<answer>")[1].removesuffix("</answer>")
        kinds = np.array([part.endswith("knight") for part in answer.split(", ")])
        missed.append(sum(bool(s.truth(kinds)) != kinds[i] for i, s in enumerate(problem.statements)))
    assert min(missed) >= 1
    assert np.mean(np.array(missed) == 1) > 2 / 3  # all other statements fit, unless being deaf was no loss
