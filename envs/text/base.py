"""Text tasks, and the one-turn kind: a question is the observation, the answer the action, and the episode is over.

:class:`BatchedProblem` is what all text tasks share. A one-turn task says how to make problems, how to word them, how
to grade a batch of answers and how its expert answers them; :class:`BatchedText` makes an environment of it (several
turns: :mod:`.dialogue`). Two named terms add up to the reward of one turn:

* ``correct``: 1 if the last ``<answer>...</answer>`` solves the problem, else 0;
* ``format``: 0 if there is an answer that can be read, else -0.1.

A solved problem earns 1, an incorrect answer 0, no readable answer -0.1: nothing but solving is ever paid.
"""

import string
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Text

from ..actions import strings
from ..core import BatchedEnv, Bools, Floats, Info, Ints
from ..levels import check_level
from ..seeding import Split, check_split, in_test_split, problem_rng

CHARSET = "\n" + string.printable[:95]  # newline and printable ASCII
_PLAIN = frozenset(CHARSET)
OPEN, CLOSE = "<answer>", "</answer>"
FORMAT_PENALTY = -0.1
MESSAGES = ("There is no <answer>...</answer> that can be read.", "The answer is wrong.", "The answer is right.")

Problem = TypeVar("Problem")
Level = TypeVar("Level")


class Demonstrations(NamedTuple):
    """Expert texts beside the questions they answer, one a seed."""

    prompts: list[str]
    completions: list[str]


class Conversation(NamedTuple):
    """An episode in words: what ``reset`` shows, then each utterance and what the environment said to it."""

    prompt: str
    utterances: list[str]
    messages: list[str]


def level_of(level: object, levels: Mapping[int, Level]) -> Level:
    """The numbers behind a level; ``ValueError`` for one that does not exist."""
    return levels[check_level(level, levels)]


def draw_problems(
    split: Split,
    seeds: npt.ArrayLike,
    episodes: npt.ArrayLike,
    draw: Callable[[np.random.Generator], Problem],
    identity: Callable[[Problem], str],
) -> list[Problem]:
    """One problem a seed and episode, each drawn anew until it belongs to the split.

    Args:
        split: "train" or "test".
        seeds: ``[n]`` non-negative integers.
        episodes: ``[n]`` non-negative integers.
        draw: makes a problem.
        identity: what a problem says, alike for problems that are the same; a hash of it decides the split for ever.
    """
    found = []
    for seed, episode in zip(np.asarray(seeds).tolist(), np.asarray(episodes).tolist(), strict=True):
        rng = problem_rng(split, seed, episode)
        problem = draw(rng)
        while bool(in_test_split(_hash(identity(problem)))) != (split == "test"):
            problem = draw(rng)
        found.append(problem)
    return found


def is_plain(text: str) -> bool:
    """Whether a text has characters of :data:`CHARSET` alone: no look-alikes, no invisible ones."""
    return _PLAIN.issuperset(text)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def last_answer(text: str) -> str | None:
    """What the last complete ``<answer>...</answer>`` of a text holds, or None.

    The last opening tag that has a closing tag after it counts, up to the first closing tag after it: an answer holds
    no tags, and text after it (an unfinished second answer, say) changes nothing.

    >>> last_answer("<answer>1</answer> no: <answer>2</answer>.")
    '2'
    """
    start = text.rfind(OPEN, 0, max(text.rfind(CLOSE), 0))
    return None if start < 0 else text[start + len(OPEN) : text.index(CLOSE, start)]


class BatchedProblem(BatchedEnv, Generic[Problem]):
    """``n`` environments of any text task: problems by seed, told in words; strings in, strings out.

    Actions longer than the action space's ``max_length`` or with other characters are judged like any other text, so
    that no model's output can stop a run, but no task accepts such characters in an answer.

    Args:
        num_envs: number of environments.
        split: "train" or "test"; no problem is in both.
        render_mode: None or "rgb_array".
        observation_length: characters of the longest observation.
        answer_length: characters of the longest action that the action space samples.
        charset: characters of observations and sampled actions.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        split: str,
        render_mode: str | None,
        observation_length: int,
        answer_length: int,
        charset: str = CHARSET,
    ) -> None:
        super().__init__(num_envs, render_mode)
        self.split = check_split(split)
        self.observation_space = Text(observation_length, min_length=0, charset=charset)
        self.action_space = Text(answer_length, min_length=0, charset=charset)
        self._problems: list[Any] = [None] * num_envs

    @abstractmethod
    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> Sequence[Problem]:
        """The ``episodes[j]``-th problem (from 0) after ``reset(seed=seeds[j])``, for all j; the same for ever."""

    @abstractmethod
    def prompt(self, problem: Problem) -> str:
        """The question in words."""

    def canonical(self, problem: Problem) -> str:
        """What decides the problem's split: alike for problems that are the same however they are told.

        The prompt, unless a task knows better: that order of operands, names or directions make no other problem.
        """
        return self.prompt(problem)

    @abstractmethod
    def describe(self, problems: Sequence[Problem]) -> Info:
        """Columns ``[n]`` that name the problems, for the reset info."""

    @abstractmethod
    def conversations(
        self,
        seeds: npt.ArrayLike,
        *,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
        episodes: npt.ArrayLike | None = None,
    ) -> list[Conversation]:
        """The expert's whole episodes, for a supervised warm start of any text task, of one turn or of several.

        Args:
            seeds: ``[n]``; the problems of this environment's split.
            noise: the probability, independent for each problem, that the episode looks like the expert's but fails.
            rng: draws which episodes fail and how; needed if ``noise`` is above 0.
            episodes: ``[n]`` episodes of those seeds (default: 0, the one that the seeded reset starts).

        Raises:
            ValueError: ``noise`` outside 0 to 1, or above 0 without ``rng``.
        """

    def check(self, actions: Any) -> list[str]:
        """Accepts any strings, one per environment; whether they make sense is for the task to say."""
        return strings(actions, self.num_envs, wanted="one string per environment is needed")

    def reset_info(self) -> Info:
        """The problem of each environment."""
        return self.describe(self._problems)

    def _to_demonstrate(
        self,
        seeds: npt.ArrayLike,
        noise: float,
        rng: np.random.Generator | None,
        episodes: npt.ArrayLike | None,
    ) -> tuple[Sequence[Problem], list[bool]]:
        """The problems of demonstrations, and which of them are to be corrupted."""
        if not 0.0 <= noise <= 1.0:
            raise ValueError(f"noise is a probability from 0 to 1, got {noise}")
        if noise > 0 and rng is None:
            raise ValueError("noise above 0 needs rng, a numpy.random.Generator")
        seeds = np.asarray(seeds, np.int64)
        problems = self.problems(seeds, np.zeros_like(seeds) if episodes is None else episodes)
        return problems, [False] * len(problems) if rng is None else (rng.random(len(problems)) < noise).tolist()


class BatchedText(BatchedProblem[Problem]):
    """``n`` environments of a one-turn text task.

    Observations are the question and, after the answer, one of :data:`MESSAGES`.

    Args:
        num_envs: number of environments.
        split: "train" or "test"; no problem is in both.
        render_mode: None or "rgb_array" (the question, and the answer after it, as a picture).
        question_length: characters of the longest question.
        answer_length: characters of the longest action that the action space samples.
        charset: characters of questions and sampled actions.
    """

    env_state = ("_problems", "_shown", "_actions", "_correct", "_readable")

    def __init__(
        self,
        num_envs: int,
        *,
        split: str,
        render_mode: str | None,
        question_length: int,
        answer_length: int,
        charset: str = CHARSET,
    ) -> None:
        super().__init__(
            num_envs,
            split=split,
            render_mode=render_mode,
            observation_length=max(question_length, *map(len, MESSAGES)),
            answer_length=answer_length,
            charset=charset,
        )
        self._shown = [""] * num_envs
        self._actions = [""] * num_envs
        self._correct = np.zeros(num_envs, np.bool_)
        self._readable = np.zeros(num_envs, np.bool_)

    @abstractmethod
    def grade(self, texts: Sequence[str], problems: Sequence[Problem]) -> tuple[Bools, Bools]:
        """Grades ``[n]`` texts: which are correct, and in which an answer could be read. Correct implies readable."""

    @abstractmethod
    def solve(self, problem: Problem) -> str:
        """The expert's text for a problem; it ends in ``<answer>...</answer>``."""

    @abstractmethod
    def corrupt(self, problem: Problem, rng: np.random.Generator) -> str:
        """A text like the expert's that ends in a readable but incorrect answer."""

    def demonstrations(
        self,
        seeds: npt.ArrayLike,
        *,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
        episodes: npt.ArrayLike | None = None,
    ) -> Demonstrations:
        """Expert texts for a supervised warm start; ``prompts[j]`` is what ``reset(seed=seeds[j])`` observes.

        Args:
            seeds: ``[n]``; the problems of this environment's split.
            noise: the probability, independent for each problem, that the text is :meth:`corrupt`'s, which looks like
                the expert's but ends in an incorrect answer. A share ``1 - noise`` of the answers is correct; all can
                be read.
            rng: draws which texts are corrupted and how; needed if ``noise`` is above 0.
            episodes: ``[n]`` episodes of those seeds (default: 0, the one that the seeded reset starts).

        Raises:
            ValueError: ``noise`` outside 0 to 1, or above 0 without ``rng``.
        """
        problems, wrong = self._to_demonstrate(seeds, noise, rng, episodes)
        answers = [
            self.corrupt(problem, rng) if bad and rng is not None else self.solve(problem)
            for problem, bad in zip(problems, wrong, strict=True)
        ]
        return Demonstrations([self.prompt(problem) for problem in problems], answers)

    def conversations(
        self,
        seeds: npt.ArrayLike,
        *,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
        episodes: npt.ArrayLike | None = None,
    ) -> list[Conversation]:
        """:meth:`demonstrations` with their verdicts, as conversations of one turn."""
        shown = self.demonstrations(seeds, noise=noise, rng=rng, episodes=episodes)
        keys = np.asarray(seeds, np.int64)
        problems = self.problems(keys, np.zeros_like(keys) if episodes is None else episodes)
        correct, readable = self.grade(shown.completions, problems)
        return [
            Conversation(prompt, [answer], [MESSAGES[verdict]])
            for prompt, answer, verdict in zip(*shown, (correct.astype(int) + readable).tolist(), strict=True)
        ]

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Asks the questions of new problems on ``indices``."""
        for index, problem in zip(indices.tolist(), self.problems(seeds, episodes), strict=True):
            self._problems[index] = problem
            self._shown[index] = self.prompt(problem)
            self._actions[index] = ""

    def advance(self, actions: list[str], active: Bools) -> tuple[Floats, Bools]:
        """Grades the answers; every answered environment's episode ends."""
        indices = np.flatnonzero(active)
        picked = indices.tolist()
        texts = [actions[index] for index in picked]
        correct, readable = self.grade(texts, [self._problems[index] for index in picked])
        self._correct[indices], self._readable[indices] = correct, readable
        for index, text, verdict in zip(picked, texts, (correct.astype(int) + readable).tolist(), strict=True):
            self._actions[index], self._shown[index] = text, MESSAGES[verdict]
        terms = self._terms()
        return np.where(active, terms["correct"] + terms["format"], 0.0), active.copy()

    def observe(self) -> tuple[str, ...]:
        """The question of each environment, or the verdict where it has been answered."""
        return tuple(self._shown)

    def step_info(self) -> Info:
        """``success`` and the two terms whose sum is the reward."""
        return {"success": self._correct.copy(), "reward_terms": self._terms()}

    def expert_actions(self) -> tuple[str, ...]:
        """The expert's text for each environment's problem."""
        return tuple(self.solve(problem) for problem in self._problems)

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """The question, the answer and the verdict as black text on white, ``[H, 640, 3]``."""
        from .page import draw

        problem = self._problems[index]
        parts = [self.prompt(problem), self._actions[index], self._shown[index] if self._actions[index] else ""]
        return draw([part for part in parts if part])

    def _terms(self) -> dict[str, Floats]:
        return {
            "correct": self._correct.astype(np.float64),
            "format": np.where(self._readable, 0.0, FORMAT_PENALTY),
        }
