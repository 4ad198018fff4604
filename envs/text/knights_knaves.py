"""Knights and knaves: knights always tell the truth, knaves always lie; who is what follows from what they say.

=====  ======  ==============================================
level  people  what they say
=====  ======  ==============================================
1      3       who somebody is; whether two are alike; what two are, joined by and
2      3       the same, and joined by or
3      4       the same, and joined by if
4      5       the same, and how many of all are knights
5      6       the same
6      8       the same
=====  ======  ==============================================

Everyone makes one statement. A solver goes through all :math:`2^n` possibilities, and only puzzles with exactly one
solution are asked. A puzzle belongs to one split for ever, and it is the same puzzle (:func:`canonical`) whatever the
names, whoever speaks first, and however a statement is turned ("A and B" or "B and A", "if A then B" or "not A or B").
Of level 1 there are 776 puzzles, of level 2 there are 2,730, of the others so many that few are ever met twice.

Source of the puzzle: Smullyan, What Is the Name of This Book? (1978), chapter 3.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import BatchedVectorEnv, Bools, Info, SingleEnv
from ..seeding import Split
from .base import CLOSE, OPEN, BatchedText, draw_problems, is_plain, last_answer, level_of

NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jim", "Kay", "Lee", "Max", "Ned", "Ola", "Pat")
KINDS = ("knave", "knight")
RULES = (
    " Knights always tell the truth, knaves always lie. Think as long as you need, then say who is what, "
    "as in <answer>Ann knight, Bob knave</answer>."
)

_BREAK = re.compile(r"\s*[,;\n]\s*(?:and\s+)?|\s+and\s+")
_PART = re.compile(r"([a-z]{3})(?::|\s+is)?\s+(?:a\s+)?(knight|knave)")


class Level(NamedTuple):
    """How hard: how many people, and the forms that their statements take."""

    people: int
    forms: tuple[str, ...]


_SIMPLE = ("is", "alike", "and")  # without "and" there are 96 puzzles, too few to keep some for the test split
_JOINED = (*_SIMPLE, "or")
LEVELS: dict[int, Level] = {
    1: Level(3, _SIMPLE),
    2: Level(3, _JOINED),
    3: Level(4, (*_JOINED, "if")),
    4: Level(5, (*_JOINED, "if", "count")),
    5: Level(6, (*_JOINED, "if", "count")),
    6: Level(8, (*_JOINED, "if", "count")),
}


class Statement(NamedTuple):
    """What one person says.

    Attributes:
        form: "is" (one person's kind), "alike" (whether two are of one kind), "and", "or", "if" (of two persons' kinds)
            or "count" (how many of all are knights).
        people: whom it is about, by number; nobody for "count".
        value: for each of them whether a knight is meant; whether they are alike; or how many knights there are.
    """

    form: str
    people: tuple[int, ...]
    value: tuple[int, ...]

    def truth(self, knights: Bools) -> Bools:
        """Whether it holds; ``knights`` ``[..., people]`` says who is one, the result is ``[...]``."""
        if self.form == "count":
            return np.asarray(knights.sum(-1) == self.value[0])
        if self.form == "alike":
            return np.asarray((knights[..., self.people[0]] == knights[..., self.people[1]]) == bool(self.value[0]))
        facts = [knights[..., person] == bool(kind) for person, kind in zip(self.people, self.value, strict=True)]
        joined = {"is": facts[0], "and": facts[0] & facts[-1], "or": facts[0] | facts[-1], "if": ~facts[0] | facts[-1]}
        return np.asarray(joined[self.form])

    def plainly(self) -> "Plain":
        """Its form and a mark for each person it is about, in any order: alike for statements that say the same."""
        if self.form in ("alike", "count"):
            return f"{self.form}{self.value[0]}", tuple((person, 0) for person in self.people)
        value = (1 - self.value[0], self.value[1]) if self.form == "if" else self.value
        return "or" if self.form == "if" else self.form, tuple(zip(self.people, value, strict=True))

    def said(self, names: Sequence[str]) -> str:
        """The statement in words."""
        if self.form == "count":
            return f"exactly {self.value[0]} of us are knights"
        who = [names[person] for person in self.people]
        if self.form == "alike":
            return f"{who[0]} and {who[1]} {'are alike' if self.value[0] else 'differ'}"
        facts = [f"{name} is a {KINDS[kind]}" for name, kind in zip(who, self.value, strict=True)]
        if self.form == "if":
            return f"if {facts[0]} then {facts[1]}"
        return f" {self.form} ".join(facts)


class Problem(NamedTuple):
    """One puzzle: the people in the order they speak, what each says, and who is a knight."""

    names: tuple[str, ...]
    statements: tuple[Statement, ...]
    knights: tuple[bool, ...]


@cache
def _possibilities(people: int) -> Bools:
    """All ``[2**people, people]`` ways to be knights or not; everybody a knight first, the last person varying most."""
    return np.asarray((np.arange(2**people)[:, None] >> np.arange(people)[::-1]) % 2 == 0)


def solutions(statements: Sequence[Statement]) -> list[tuple[bool, ...]]:
    """Every way the speakers can be knights or knaves so that exactly the knights' statements hold."""
    knights = _possibilities(len(statements))
    truths = np.stack([statement.truth(knights) for statement in statements], -1)
    return [tuple(row) for row in knights[(truths == knights).all(-1)].tolist()]


def draw(rng: np.random.Generator, level: Level) -> Problem:
    """A puzzle of a level with exactly one solution, of either split."""
    while True:
        statements = tuple(_statement(rng, level, speaker) for speaker in range(level.people))
        found = solutions(statements)
        if len(found) == 1:
            names = tuple(NAMES[i] for i in rng.permutation(len(NAMES))[: level.people].tolist())
            return Problem(names, statements, found[0])


def _statement(rng: np.random.Generator, level: Level, speaker: int) -> Statement:
    form = level.forms[int(rng.integers(len(level.forms)))]
    if form == "count":
        return Statement(form, (), (int(rng.integers(level.people + 1)),))
    a, b = rng.permutation(level.people)[:2].tolist()
    kinds = tuple(rng.integers(2, size=2).tolist())
    if form == "is":  # nobody speaks about themselves alone: "I am a knight" says nothing, and no one is who lies so
        return Statement(form, (b if a == speaker else a,), kinds[:1])
    return Statement(form, (a, b), kinds[:1] if form == "alike" else kinds)


def canonical(statements: Sequence[Statement]) -> str:
    """Alike for puzzles that are the same but for names, order of speakers and wording, and for no others.

    The order of speakers that has the smallest text is found by colour refinement: people are told apart by what they
    say and what is said of whom they speak of; where some are still alike, each of them in turn is put first.

    Source: McKay and Piperno, Practical graph isomorphism, II (2014), sec. 2 (individualisation and refinement).
    """
    return _smallest([statement.plainly() for statement in statements], (0,) * len(statements))


Plain = tuple[str, tuple[tuple[int, int], ...]]


def _smallest(said: Sequence[Plain], colours: Sequence[int]) -> str:
    """The smallest text of a puzzle among the orders of people that go by ``colours``."""
    colours = _refined(said, colours)
    alike = min((colour for colour in colours if colours.count(colour) > 1), default=None)
    if alike is None:
        lines = sorted(zip(colours, said, strict=True))
        return " ".join(form + str(sorted((colours[i], mark) for i, mark in facts)) for _, (form, facts) in lines)
    firsts = [person for person, colour in enumerate(colours) if colour == alike]
    return min(_smallest(said, [2 * c - (i == first) for i, c in enumerate(colours)]) for first in firsts)


def _refined(said: Sequence[Plain], colours: Sequence[int]) -> tuple[int, ...]:
    """People numbered by what sets them apart: who is ``colours`` apart, or speaks, or is spoken of, otherwise."""
    while True:
        heard: list[list[tuple[int, int]]] = [[] for _ in said]
        for speaker, (_, facts) in enumerate(said):
            for person, mark in facts:
                heard[person].append((colours[speaker], mark))
        traits = [
            (colours[i], form, sorted((colours[j], mark, i == j) for j, mark in facts), sorted(heard[i]))
            for i, (form, facts) in enumerate(said)
        ]
        kinds = sorted(trait for i, trait in enumerate(traits) if trait not in traits[:i])
        if len(kinds) == len(set(colours)):
            return tuple(map(kinds.index, traits))
        colours = list(map(kinds.index, traits))


def _search(problem: Problem, deaf_to: int | None = None) -> tuple[str, tuple[bool, ...] | None]:
    """Depth first, knights first: the notes taken, and the first possibility that nobody contradicts.

    Each note is an initial with + (a knight) or - (a knave). ``x`` follows when somebody's statement about people who
    have all been settled contradicts what that speaker is. ``deaf_to`` names a speaker whose words are not looked at.
    """
    n, notes, settled = len(problem.names), "", np.zeros(len(problem.names), np.bool_)
    last = [max([speaker, *(s.people or range(n))]) for speaker, s in enumerate(problem.statements)]

    def contradicted(depth: int) -> bool:
        return any(
            last[speaker] == depth and speaker != deaf_to and bool(statement.truth(settled)) != bool(settled[speaker])
            for speaker, statement in enumerate(problem.statements)
        )

    depth, knight = 0, True
    while True:
        settled[depth] = knight
        notes += f"{problem.names[depth][0]}{'+' if knight else '-'}"
        if not contradicted(depth):
            if depth == n - 1:
                return notes, tuple(settled.tolist())
            depth, knight = depth + 1, True
            continue
        notes += "x"
        while depth >= 0 and not settled[depth]:
            depth -= 1
        if depth < 0:
            return notes, None
        knight = False


def _answer(names: Sequence[str], knights: Sequence[bool]) -> str:
    told = ", ".join(f"{name} {KINDS[knight]}" for name, knight in zip(names, knights, strict=True))
    return f"{OPEN}{told}{CLOSE}"


def _read(text: str, names: Sequence[str]) -> tuple[bool, ...] | None:
    """Who an answer says is a knight; None unless it says so of each person once, and of no one else."""
    answer = (last_answer(text) or "").strip()
    parts = (
        [_PART.fullmatch(part) for part in _BREAK.split(answer.lower().removesuffix("."))]
        if len(answer) < 500 and is_plain(answer)
        else []
    )
    said = {part[1]: part[2] == "knight" for part in parts if part is not None}
    if len(parts) != len(names) or said.keys() != {name.lower() for name in names}:
        return None
    return tuple(said[name.lower()] for name in names)


class KnightsKnaves(BatchedText[Problem]):
    """The environments of knights and knaves. ``info["people"]`` and ``info["knights"]`` at reset name the problem.

    The expert supposes one person after the other a knight (``+``), notes a contradiction (``x``), and then tries a
    knave (``-``)::

        Dan: Eve is a knave. Eve: Dan and Gus are alike. Gus: Dan is a knave.
        D+E+xE-G+xG-xD-E+G+xG-<answer>Dan knave, Eve knight, Gus knave</answer>

    The corrupted texts of :meth:`demonstrations` search in the same way, but are deaf to one speaker.

    Args:
        num_envs: number of environments.
        level: 1 (three people, simple statements) to 6 (eight people), see the table above.
        instructions: the question also states the rules, for language models that have not been trained on the task.
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
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=768, answer_length=1600)
        self.level = level
        self._rules = RULES if instructions else ""

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Problem]:
        """Puzzles of the level with one solution, of this split."""
        return draw_problems(self.split, seeds, episodes, lambda rng: draw(rng, self._shape), self.canonical)

    def canonical(self, problem: Problem) -> str:
        """See :func:`canonical`."""
        return canonical(problem.statements)

    def prompt(self, problem: Problem) -> str:
        """Everybody's statement."""
        told = [
            f"{name}: {statement.said(problem.names)}."
            for name, statement in zip(problem.names, problem.statements, strict=True)
        ]
        return " ".join(told) + self._rules

    def grade(self, texts: Sequence[str], problems: Sequence[Problem]) -> tuple[Bools, Bools]:
        """Everybody's kind must be correct; in any order, each once, as ``Ann knight`` or ``Ann is a knight``."""
        read = [_read(text, problem.names) for text, problem in zip(texts, problems, strict=True)]
        correct = [answer == problem.knights for answer, problem in zip(read, problems, strict=True)]
        return np.array(correct, np.bool_), np.array([answer is not None for answer in read], np.bool_)

    def solve(self, problem: Problem) -> str:
        """The search up to the solution."""
        return _search(problem)[0] + _answer(problem.names, problem.knights)

    def corrupt(self, problem: Problem, rng: np.random.Generator) -> str:
        """The search of somebody deaf to one speaker; where that is no loss, one person's kind is mistaken."""
        for speaker in rng.permutation(len(problem.names)).tolist():
            notes, found = _search(problem, deaf_to=speaker)
            if found is not None and found != problem.knights:
                return notes + _answer(problem.names, found)
        mistaken = int(rng.integers(len(problem.names)))
        kinds = [knight != (i == mistaken) for i, knight in enumerate(problem.knights)]
        return _search(problem)[0] + _answer(problem.names, kinds)

    def describe(self, problems: Sequence[Problem]) -> Info:
        """``people`` (names in the order they speak) and ``knights`` (True for knights, in that order)."""
        return {
            "people": [problem.names for problem in problems],
            "knights": [problem.knights for problem in problems],
        }


class KnightsKnavesEnv(SingleEnv):
    """``tiltyard/KnightsKnaves-v0``; keywords as :class:`KnightsKnaves`."""

    batched_class = KnightsKnaves


class KnightsKnavesVectorEnv(BatchedVectorEnv):
    """``tiltyard/KnightsKnaves-v0`` as a native vector; keywords as :class:`KnightsKnaves`."""

    batched_class = KnightsKnaves
