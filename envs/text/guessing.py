"""Games of guessing what somebody thinks of: a table of what is true of everything, questions about it, and guesses."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Info, Ints
from ..seeding import Split
from .base import Conversation, draw_problems, is_plain
from .dialogue import BatchedDialogue, Reply

UNCLEAR, RIGHT = "unclear", "yes, that is it"
ARTICLES = ("", "a ", "an ", "the ")


@dataclass(frozen=True)
class Table:
    """What is true of everything that can be thought of.

    Attributes:
        names: what can be thought of, ``n`` of them.
        questions: what can be asked, ``q`` of them, in lower case and without a question mark.
        replies: for each question the words it can be answered with.
        answers: int64 ``[n, q]``: which of a question's replies is true.
    """

    names: tuple[str, ...]
    questions: tuple[str, ...]
    replies: tuple[tuple[str, ...], ...]
    answers: Ints

    @cached_property
    def utterances(self) -> dict[str, tuple[bool, int]]:
        """What can be said: whether it is a guess, and the number of the name or the question."""
        guesses = {f"is it {article}{name}": (True, i) for i, name in enumerate(self.names) for article in ARTICLES}
        return guesses | {question: (False, j) for j, question in enumerate(self.questions)}

    def read(self, utterance: str) -> tuple[bool, int] | None:
        """What an utterance means; capitals, spaces and marks at its end do not matter. None if it means nothing."""
        if not is_plain(utterance):
            return None
        return self.utterances.get(" ".join(utterance.lower().split()).rstrip("?!. "))

    def best_question(self, candidates: Ints) -> int | None:
        """The question whose answer says most about which of ``candidates`` it is; None if all have one answer.

        The expected information is the entropy of the answer, each candidate being as likely as any other.
        """
        width = max(map(len, self.replies))
        counts = np.stack([(self.answers[candidates] == value).sum(0) for value in range(width)])  # [replies, q]
        share = counts / len(candidates)
        entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(0)
        best = int(np.argmax(np.round(entropy, 9)))  # ties go to the first question, whatever the rounding
        return best if entropy[best] > 1e-9 else None


class Level(NamedTuple):
    """How hard: how many names are in play, and how many turns there are to find the target."""

    names: int
    turns: int


class Problem(NamedTuple):
    """One game: the numbers of the names in play, as shown, and that of the target."""

    names: tuple[int, ...]
    target: int


class BatchedGuessing(BatchedDialogue[Problem]):
    """``n`` environments of a guessing game. ``info["names"]`` and ``info["target"]`` at reset name the problem.

    A question is answered truly; an incorrect guess is answered ``no``; anything else is ``unclear``, even if a
    question or a guess is part of it, so that naming many things at once names none. Each of them takes a turn. The
    correct guess wins the game, and after the last turn it is lost.

    The expert asks the question with the most expected information about what it can still be, and guesses as soon as
    that is one of two, or no turn is left for a question. Corrupted :meth:`conversations` ask at random, and name
    something else in the end. The two splits share no selection of names; single names are in play in both, since
    what is true of them is what there is to learn.

    Args:
        num_envs: number of environments.
        table: what is true of everything.
        shape: names and turns.
        opening: what the prompt begins with.
        rules: what it ends with.
        reward: "sparse" (1 for winning) or "turns" (-1 a turn until the game is won).
        split: "train" or "test".
        render_mode: None or "rgb_array".
    """

    def __init__(
        self,
        num_envs: int,
        *,
        table: Table,
        shape: Level,
        opening: str,
        rules: str,
        reward: str,
        split: Split,
        render_mode: str | None,
    ) -> None:
        self.table, self.shape = table, shape
        self._opening, self._rules = opening, rules
        longest = sorted((len(name) + 2 for name in table.names), reverse=True)[: shape.names]
        super().__init__(
            num_envs,
            turns=shape.turns,
            reward=reward,
            split=split,
            render_mode=render_mode,
            observation_length=len(opening) + sum(longest) + len(rules) + 32,
            answer_length=64,
        )

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Problem]:
        """Selections of the level's size, of this split, and one of each."""

        def draw(rng: np.random.Generator) -> Problem:
            names = tuple(rng.permutation(len(self.table.names))[: self.shape.names].tolist())
            return Problem(names, names[int(rng.integers(len(names)))])

        return draw_problems(self.split, seeds, episodes, draw, self.canonical)

    def canonical(self, problem: Problem) -> str:
        """The names in play, whichever is the target, in one order."""
        return " ".join(map(str, sorted(problem.names)))

    def prompt(self, problem: Problem) -> str:
        """What it can be, and how many turns there are."""
        names = ", ".join(self.table.names[i] for i in problem.names)
        return f"{self._opening}{names}. {self.turns} turns.{self._rules}"

    def describe(self, problems: Sequence[Problem]) -> Info:
        """``names`` (a tuple per environment, in the order of the prompt) and ``target``, the name to be found."""
        return {
            "names": [tuple(self.table.names[i] for i in problem.names) for problem in problems],
            "target": [self.table.names[problem.target] for problem in problems],
        }

    def reply(self, problem: Problem, utterances: Sequence[str]) -> Reply:
        """The truth, or that the utterance is unclear."""
        meaning = self.table.read(utterances[-1])
        if meaning is None:
            return Reply(UNCLEAR, False, False)
        guess, number = meaning
        if guess:
            return Reply(RIGHT, True, True) if number == problem.target else Reply("no", True, False)
        return Reply(self.table.replies[number][self.table.answers[problem.target, number]], True, False)

    def state(self, problem: Problem, held: Conversation) -> Hashable:
        """The numbers of the names that it can still be, whichever questions told."""
        return tuple(self.candidates(problem, held.utterances).tolist())

    def act(self, problem: Problem, held: Conversation) -> str:
        """The most informative question, or a guess."""
        candidates = self.candidates(problem, held.utterances)
        best = None
        if len(candidates) > 2 and len(held.utterances) < self.turns - 1:
            best = self.table.best_question(candidates)
        return f"is it {self.table.names[candidates[0]]}?" if best is None else f"{self.table.questions[best]}?"

    def corrupt(self, problem: Problem, held: Conversation, rng: np.random.Generator) -> str:
        """A random question; in the last turn an incorrect guess, one that still seemed possible where there is one."""
        if len(held.utterances) < self.turns - 1:
            return f"{self.table.questions[int(rng.integers(len(self.table.questions)))]}?"
        wrong = [i for i in self.candidates(problem, held.utterances).tolist() if i != problem.target]
        wrong = wrong or [i for i in problem.names if i != problem.target]
        return f"is it {self.table.names[wrong[int(rng.integers(len(wrong)))]]}?"

    def candidates(self, problem: Problem, utterances: Sequence[str]) -> Ints:
        """The names in play that fit all that was answered, in the order of the prompt."""
        left = np.array(problem.names, np.int64)
        for guess, number in filter(None, map(self.table.read, utterances)):
            if guess:
                left = left[(left != number) | (left == problem.target)]
            else:
                left = left[self.table.answers[left, number] == self.table.answers[problem.target, number]]
        return left
