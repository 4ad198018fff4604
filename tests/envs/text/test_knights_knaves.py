"""Knights and knaves: one solution each, found again from the words alone by a solver that shares nothing with ours."""

import itertools
import re

import numpy as np
import pytest

from tiltyard.envs.text.knights_knaves import LEVELS, KnightsKnaves, Problem, Statement, canonical, draw, solutions

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
    batched = KnightsKnaves(1)
    assert solutions(EXAMPLE.statements) == [EXAMPLE.knights]
    text = "Ann: Bob is a knave. Bob: Ann and Cid are alike. Cid: Ann is a knave."
    assert batched.prompt(EXAMPLE) == text
    # Ann a knight; were Bob one, Ann would lie: x; Bob a knave; Cid a knight contradicts: x; Cid a knave
    assert batched.solve(EXAMPLE) == "A+B+xB-C+xC-<answer>Ann knight, Bob knave, Cid knave</answer>"


@pytest.mark.parametrize("level", LEVELS)
def test_each_puzzle_has_one_solution_by_a_second_solver(level: int) -> None:
    seeds = np.arange(40)
    batched = KnightsKnaves(1, level=level, split="test")
    for problem in batched.problems(seeds, seeds):
        assert solved_from_words(batched.prompt(problem)) == [dict(zip(problem.names, problem.knights, strict=True))]
        assert len(problem.names) == len(set(problem.names)) == LEVELS[level].people
        assert {statement.form for statement in problem.statements} <= set(LEVELS[level].forms)


def test_all_forms_occur_and_knights_are_no_rarer_than_a_third() -> None:
    seeds = np.arange(200)
    problems = KnightsKnaves(1, level=4).problems(seeds, seeds)
    assert {statement.form for p in problems for statement in p.statements} == set(LEVELS[4].forms)
    assert 1 / 3 < np.mean([p.knights for p in problems]) < 2 / 3


def meanings(statements: tuple[Statement, ...]) -> frozenset[tuple[tuple[bool, ...], ...]]:
    """All tables of truth of a puzzle, one for each order of the people: what it means, by trying everything."""
    people = range(len(statements))
    ways = np.array(list(itertools.product((False, True), repeat=len(people))))
    return frozenset(
        tuple(tuple(statements[speaker].truth(ways[:, order]).tolist()) for speaker in np.argsort(order))
        for order in map(list, itertools.permutations(people))
    )


@pytest.mark.parametrize(("level", "count"), [(1, 600), (2, 400), (3, 200), (4, 60)])
def test_one_canonical_form_means_one_puzzle_renamed_reordered_or_reworded(level: int, count: int) -> None:
    """Drawn puzzles, and each of them said otherwise: forms are equal just where the tables of truth can be made so."""
    rng = np.random.default_rng(level)
    drawn = [draw(rng, LEVELS[level]).statements for _ in range(count)]
    drawn += [otherwise(statements, rng) for statements in drawn]
    by_form: dict[str, set[frozenset[tuple[tuple[bool, ...], ...]]]] = {}
    for statements in drawn:
        by_form.setdefault(canonical(statements), set()).add(meanings(statements))
    assert {len(found) for found in by_form.values()} == {1}, "one form for two puzzles"
    assert len(set().union(*by_form.values())) == len(by_form), "one puzzle has two forms"


def otherwise(statements: tuple[Statement, ...], rng: np.random.Generator) -> tuple[Statement, ...]:
    """The same puzzle with its people in another order, its pairs turned round and its conditions contraposed."""
    order = rng.permutation(len(statements)).tolist()  # the new number of each
    said = [Statement("", (), ())] * len(statements)
    for speaker, (form, people, value) in enumerate(statements):
        people = tuple(order[person] for person in people)
        if len(people) == 2 and rng.random() < 0.5:
            people = people[::-1]
            value = value if form == "alike" else tuple(1 - v if form == "if" else v for v in value[::-1])
        said[order[speaker]] = Statement(form, people, value)
    return tuple(said)


def test_two_ways_to_say_the_same_by_hand() -> None:
    def form(*said: tuple[str, tuple[int, ...], tuple[int, ...]]) -> str:
        return canonical([Statement(*one) for one in said])

    ann, bob = ("is", (1,), (0,)), ("is", (0,), (1,))  # Ann: Bob is a knave. Bob: Ann is a knight.
    assert form(ann, bob) == form(("is", (1,), (1,)), ("is", (0,), (0,)))  # Bob speaks first
    assert form(ann, bob) != form(ann, ann[:1] + ((0,), (0,)))
    # "if Ann is a knight then Bob is a knave" is "if Bob is a knight then Ann is a knave", or "Ann or Bob is a knave"
    ways = [("if", (0, 1), (1, 0)), ("if", (1, 0), (1, 0)), ("or", (0, 1), (0, 0)), ("or", (1, 0), (0, 0))]
    assert len({form(way, bob) for way in ways}) == 1
    assert form(("if", (0, 1), (1, 0)), bob) != form(("if", (1, 0), (0, 1)), bob)  # the converse
    # six people, each of the next: in one ring, or in two rings of three, where everybody looks the same at first
    ring, rings = ([("is", (next_,), (1,)) for next_ in order] for order in ((1, 2, 3, 4, 5, 0), (1, 2, 0, 4, 5, 3)))
    assert form(*ring) == form(*[("is", (next_,), (1,)) for next_ in (2, 3, 4, 5, 1, 0)]) != form(*rings)
    assert form(("alike", (0, 2), (1,)), bob, bob) == form(("alike", (2, 0), (1,)), bob, bob)


@pytest.mark.parametrize("level", [1, 2])
def test_no_test_puzzle_is_a_train_puzzle_said_otherwise(level: int) -> None:
    """By the words without names all of level 1 and 99% of level 2 had a twin when the words decided the split."""
    train, test = (
        KnightsKnaves(1, level=level, split=split).problems(np.arange(n), np.zeros(n, int))
        for split, n in (("train", 1_500), ("test", 200))
    )
    assert not {meanings(p.statements) for p in train} & {meanings(p.statements) for p in test}
    assert len({canonical(p.statements) for p in test}) > 60


@pytest.mark.parametrize(
    ("answer", "correct", "readable"),
    [
        ("Ann knight, Bob knave, Cid knave", True, True),
        ("Cid is a knave, ann is a KNIGHT and Bob knave", True, True),
        ("Ann knight,\nBob knave,\nCid knave", True, True),
        ("\nAnn is a knight, Bob is a knave, and Cid is a knave.\n", True, True),
        ("Ann: knight\nBob: knave\nCid: knave", True, True),
        ("Ann is a knight; Bob is a knave; Cid is a knave", True, True),
        ("Ann knight, Bob knave, and and Cid knave", False, False),
        ("Ann knight, Bob knave, not Cid knave", False, False),
        ("Ann knight, Bob knave, Cid knave. Or not.", False, False),
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
    batched = KnightsKnaves(1, level=4)
    for problem in batched.problems(seeds, seeds):
        notes = re.findall(r"([A-Z])([+-])(x?)", batched.solve(problem).split("<answer>")[0])
        last = {initial: sign == "+" for initial, sign, _ in notes}
        assert [last[name[0]] for name in problem.names] == list(problem.knights)
        assert notes[-1][2] == ""
        assert all(sign == "-" for (_, _, crossed), (_, sign, _) in zip(notes, notes[1:], strict=False) if crossed)


def test_misleading_searches_are_deaf_to_a_speaker() -> None:
    seeds, rng = np.arange(100), np.random.default_rng(0)
    batched = KnightsKnaves(1, level=3)
    missed = []
    for problem in batched.problems(seeds, seeds):
        answer = batched.corrupt(problem, rng).split("<answer>")[1].removesuffix("</answer>")
        kinds = np.array([part.endswith("knight") for part in answer.split(", ")])
        missed.append(sum(bool(s.truth(kinds)) != kinds[i] for i, s in enumerate(problem.statements)))
    assert min(missed) >= 1
    assert np.mean(np.array(missed) == 1) > 2 / 3  # all other statements fit, unless being deaf was no loss
