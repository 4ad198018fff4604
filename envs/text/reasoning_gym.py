"""The reasoning-gym library's data sets as one-turn environments, with the library's known faults handled.

* Answers are taken from the last ``<answer>...</answer>``, and only the scorer's full mark counts: its partial credit
  (0.125 for "The answer is -4" where the gold answer is -4) never becomes reward.
* The library draws item i from ``Random(seed + i)``, so neighbouring seeds share their items. Here each problem has a
  seed of its own, hashed from split, seed and episode, of which only item 0 is used.
* A problem belongs to one split by a hash of its question's words in any order, and of its answer: the splits share no
  question, nor one with its operands, options or sentences in another order, however few there are. (Other names in the
  same puzzle are not looked through: the library does not say which words are names.)
* Some data sets have few answers, or one that is correct more often than others (always "Yes" for syllogism, always
  "0" for circuit_logic): what such a constant wins stands in :data:`.faults.CONSTANT`.
* Data sets that cannot be graded honestly are refused by name; bad scorers are replaced: see :mod:`.faults`.

Source: Stojanovski et al., Reasoning Gym: Reasoning Environments for Reinforcement Learning with Verifiable Rewards
(2025), https://github.com/open-thought/reasoning-gym. The library is imported when a data set is first made.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields
from decimal import localcontext
from fractions import Fraction
from hashlib import blake2b
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import unknown
from ..core import BatchedVectorEnv, Bools, Info, SingleEnv
from ..seeding import Split, in_test_split, mix, problem_keys
from .base import CHARSET, CLOSE, OPEN, BatchedText, last_answer
from .expressions import grade
from .faults import BEYOND_ASCII, EXACT, FORMS, IMPURE, IN_ORDER, LENGTHS, NO_EXTRAS, REBUILT, REFUSED, UNORDERED

LONGEST = 16_384  # characters of a question or an answer; longer items are passed over
DRAWS = 500  # of items, until one fits the split
INSTRUCTIONS = "\nGive the final answer alone, as in <answer>...</answer>."

_RANGES = ((0xA0, 0x17F), (0x2010, 0x2BFF), (0x3000, 0x303F), (0xFE00, 0xFE0F), (0x1F000, 0x1FAFF), (0xE0100, 0xE01EF))
UNICODE = CHARSET + "".join(chr(c) for low, high in _RANGES for c in range(low, high + 1))

_NUMBER = re.compile(r"[+-]?\d{1,40}((\.\d{1,40})?(e[+-]?\d{1,2})?|/\d{1,40})", re.ASCII | re.IGNORECASE)
_NO_NUMBER = re.compile(r"(?<![a-z])(nan|inf(inity)?)(?![a-hk-z])", re.IGNORECASE)  # float() reads it, min() errs on it
_WORD = re.compile(r"\w+|[^\w\s]")
_PROBABILITY_ERROR = Fraction(1, 1000)  # relative


class Problem(NamedTuple):
    """One item.

    Attributes:
        entry: the library's own item: ``question``, ``answer``, ``metadata``.
        seed: ``reasoning_gym.create_dataset(name, seed=seed, size=1, **dataset_kwargs)[0]`` is this item.
    """

    entry: dict[str, Any]
    seed: int


def datasets() -> list[str]:
    """The names of all data sets that can be played, those of :data:`.faults.REFUSED` left out."""
    from reasoning_gym.factory import DATASETS

    return sorted(set(DATASETS) - set(REFUSED))


def _same(answer: str, gold: str) -> bool:
    """Whether two answers say the same, line by line: alike but for spaces and kind of quotes, or equal as numbers."""
    ours, theirs = _parts(answer), _parts(gold)
    return len(ours) == len(theirs) and all(
        a == b or (_as_number(a) is not None and _as_number(a) == _as_number(b))
        for a, b in zip(ours, theirs, strict=True)
    )


def _parts(text: str) -> list[str]:
    """Words, brackets, commas and line ends, so that ``[1, "a"]`` is ``[1,'a']`` but ``1 2`` is not ``12``."""
    lines = [re.sub(r"([\[\](),])", r" \1 ", line.replace('"', "'")).split() for line in text.splitlines()]
    return [part for words in lines if words for part in [*words, "\n"]]


def _as_number(text: str) -> Fraction | None:
    """An integer, decimal or fraction of reasonable length as an exact number; None for anything else."""
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Fraction(text)
    except ZeroDivisionError:
        return None


def _plain(text: str) -> str:
    words = " ".join(text.replace('"', "'").split())
    return re.sub(r" ?([\[\](),*+]) ?", r"\1", words)  # "[1, 2]" as "[1,2]", yet "1 2" is not "12"


def _is_gold(answer: str, entry: Mapping[str, Any]) -> bool:
    return _same(answer, entry["answer"])


def _is_valid_board(answer: str, entry: Mapping[str, Any]) -> bool:
    return any(_same(answer, board) for board in entry["metadata"]["valid_answers"])


def _is_probability(answer: str, entry: Mapping[str, Any]) -> bool:
    number, exact = _as_number(answer), Fraction(*entry["metadata"]["rational"].values())
    return number is not None and abs(number - exact) <= _PROBABILITY_ERROR * exact


def _reaches_target(answer: str, entry: Mapping[str, Any]) -> bool:
    metadata = entry["metadata"]
    grades = grade([f"{OPEN}{answer}{CLOSE}"], [metadata["numbers"]], [metadata.get("target", 24)], exactly_once=True)
    return bool(grades.correct[0])


def _has_the_roots(answer: str, entry: Mapping[str, Any]) -> bool:
    ours, theirs = ([_as_number(part.strip()) for part in text.split(",")] for text in (answer, entry["answer"]))
    numbers = [number for number in ours if number is not None]
    return len(numbers) == len(ours) and sorted(numbers) == sorted(number for number in theirs if number is not None)


def _is_the_option(answer: str, entry: Mapping[str, Any]) -> bool:
    """The correct option's value as the question prints it, or in full, in any notation; thousands may have commas."""
    metadata = entry["metadata"]
    options = zip(metadata["formatted_candidates"], metadata["candidates"], strict=True)
    correct = [entry["answer"], *(printed for printed, value in options if value == metadata["solution"])]
    number = _as_number(answer.replace(",", ""))
    return number is not None and number in [_as_number(text.replace(",", "")) for text in correct]


_GRADERS: dict[str, Callable[[str, Mapping[str, Any]], bool]] = {
    **dict.fromkeys(EXACT, _is_gold),
    "coin_flip": _is_probability,  # the library allows an absolute error, which pays for 0 where the chance is small
    "countdown": _reaches_target,  # the library's scorer runs the answer as Python code, by way of sympy
    "polynomial_equations": _has_the_roots,  # the library passes over what it cannot read
    "number_format": _is_the_option,  # the library allows an error of 0.01, more than what sets options apart can be
    "puzzle24": _reaches_target,  # the same, and it does not look at which numbers are used
    "n_queens": _is_valid_board,  # the library's scorer runs the answer as Python code
}


class ReasoningGym(BatchedText[Problem]):
    """One reasoning-gym data set, batched. ``info["dataset"]`` and ``info["item_seed"]`` at reset name the problem.

    The expert gives the gold answer; corrupted texts of :meth:`demonstrations` give another problem's.

    Args:
        num_envs: number of environments.
        dataset: one of :func:`datasets`.
        dataset_kwargs: settings of the data set, beside its own defaults (``{"min_terms": 2, "max_terms": 3}``).
        level: difficulty from 1 up, where the library has a curriculum for the data set: level n sets every attribute
            of the curriculum to its n-th value (its last one, where it has fewer). None leaves the defaults.
        instructions: the question also says how to mark the answer, for models that have not been trained on the task.
        split: "train" or "test".
        render_mode: None or "rgb_array".

    Raises:
        ValueError: a data set that does not exist or is refused, settings it does not take, a level it does not have.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        dataset: str = "chain_sum",
        dataset_kwargs: Mapping[str, Any] | None = None,
        level: int | None = None,
        instructions: bool = False,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        if dataset in REFUSED:
            raise ValueError(f"data set {dataset!r} is refused: {REFUSED[dataset]}")
        if dataset not in (names := datasets()):
            raise ValueError(unknown("data set", dataset, names))
        charset = UNICODE if dataset in BEYOND_ASCII else CHARSET
        super().__init__(
            num_envs,
            split=split,
            render_mode=render_mode,
            question_length=LONGEST + len(INSTRUCTIONS),
            answer_length=LONGEST + len(OPEN + CLOSE),
            charset=charset,
        )
        self._allowed = frozenset(charset)
        self._answered = self._allowed | {"\t", "\r"}  # between the words of an answer; no look-alikes
        self.dataset = dataset
        self._instructions = INSTRUCTIONS if instructions else ""
        self._config = _configured(dataset, dict(dataset_kwargs or {}), level)
        self._source = self._built(0)
        if dataset_kwargs:
            self._try_out()

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Problem]:
        """The first item of each problem's own sequence of item seeds that belongs to the split and fits the spaces."""
        keys = np.atleast_1d(problem_keys(self.split, seeds, episodes))
        found: list[Problem | None] = [None] * len(keys)
        waiting = np.arange(len(keys))
        for _ in range(DRAWS):
            drawn = [self._item(seed) for seed in (keys[waiting] >> np.uint64(32)).tolist()]
            hashes = np.array([_hash(self.canonical(problem)) for problem in drawn], np.uint64)
            fits = (in_test_split(hashes) == (self.split == "test")) & [self._fits(problem) for problem in drawn]
            for j in np.flatnonzero(fits):
                found[waiting[j]] = drawn[j]
            waiting = waiting[~fits]
            if not len(waiting):
                return [problem for problem in found if problem is not None]
            keys[waiting] = mix(keys[waiting] + np.uint64(1))
        raise ValueError(
            f"data set {self.dataset!r} gave no item of the {self.split} split in {DRAWS} draws: too few items"
        )

    def canonical(self, problem: Problem) -> str:
        """The question's words and signs in one order, and the gold answer, which few other orders leave as it is."""
        question: str = problem.entry["question"]
        if self.dataset in IN_ORDER:
            return question
        return f"{' '.join(sorted(_WORD.findall(question.lower())))}\n{problem.entry['answer']}"

    def prompt(self, problem: Problem) -> str:
        """The library's question."""
        return f"{problem.entry['question']}{self._instructions}"

    def grade(self, texts: Sequence[str], problems: Sequence[Problem]) -> tuple[Bools, Bools]:
        """Full marks or nothing, by the library's scorer or the stricter one that replaces it."""
        answers = [self._readable_answer(text, problem) for text, problem in zip(texts, problems, strict=True)]
        correct = [
            answer is not None and self._is_right(answer, problem)
            for answer, problem in zip(answers, problems, strict=True)
        ]
        return np.array(correct, np.bool_), np.array([answer is not None for answer in answers], np.bool_)

    def solve(self, problem: Problem) -> str:
        """The gold answer."""
        return f"{OPEN}{problem.entry['answer']}{CLOSE}"

    def corrupt(self, problem: Problem, rng: np.random.Generator) -> str:
        """The gold answer of another problem, drawn until it is incorrect here."""
        for _ in range(50):
            other = self.solve(self.problems([int(rng.integers(2**31))], [0])[0])
            if not self.grade([other], [problem])[0][0]:
                return other
        return f"{OPEN}?{CLOSE}"  # the data set has one answer to everything

    def describe(self, problems: Sequence[Problem]) -> Info:
        """``dataset`` and ``item_seed``."""
        return {"dataset": [self.dataset] * len(problems), "item_seed": [problem.seed for problem in problems]}

    def _try_out(self) -> None:
        """Makes one item, because the library finds some impossible settings only then."""
        try:
            self._item(0)
        except Exception as error:
            raise ValueError(f"dataset_kwargs of {self.dataset!r} do not work: {error}") from error

    def _item(self, seed: int) -> Problem:
        if self.dataset in IMPURE:
            with _global_state_of(seed):
                return Problem(self._built(seed)[0], seed)
        if self.dataset in REBUILT:
            return Problem(self._built(seed)[0], seed)
        self._source.seed = seed  # the item's whole randomness; building a data set anew is slow
        return Problem(self._source[0], seed)

    def _built(self, seed: int) -> Any:
        from reasoning_gym.factory import DATASETS

        self._config.seed = seed
        source = DATASETS[self.dataset][0](self._config)
        if self.dataset in UNORDERED:
            source.letters = _Alphabet(source.letters)
        return source

    def _fits(self, problem: Problem) -> bool:
        """Whether question and gold answer are in the spaces; a blank one (no real roots) says nothing here."""
        question, gold = problem.entry["question"], problem.entry["answer"]
        short = max(len(question), len(gold)) <= LONGEST
        return short and bool(gold.strip()) and self._allowed.issuperset(question) and self._allowed.issuperset(gold)

    def _readable_answer(self, text: str, problem: Problem) -> str | None:
        """The answer, unless it is blank or so much longer than the gold one that scorers might choke on it."""
        answer = (last_answer(text) or "").strip()
        return answer if answer and len(answer) <= 1_024 + 4 * len(problem.entry["answer"]) else None

    def _is_right(self, answer: str, problem: Problem) -> bool:
        if not self._answered.issuperset(answer):  # int() and float() read digits of other scripts
            return False
        if self.dataset in _GRADERS:
            return _GRADERS[self.dataset](answer, problem.entry)
        if _NO_NUMBER.search(answer) and not _NO_NUMBER.search(problem.entry["answer"]):
            return False
        if not _has_form(self.dataset, answer, problem.entry["answer"]):
            return False
        if self.dataset in NO_EXTRAS and _has_extras(answer, problem.entry["answer"]):
            return False
        try:
            with redirect_stdout(StringIO()):  # tower_of_hanoi prints what it thinks of a move
                return float(self._source.score_answer(answer, problem.entry)) >= 1.0
        except Exception:  # a scorer may fail in any way on what it cannot read: such an answer is not correct
            return False


class _Alphabet(frozenset[str]):
    """A set of letters that is walked through in the same order in every process."""

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    def __sub__(self, other: Set[Any]) -> "_Alphabet":
        return _Alphabet(super().__sub__(other))


def _has_form(dataset: str, answer: str, gold: str) -> bool:
    """Whether an answer is no more than an answer, where the library's scorer does not look."""
    form = FORMS.get(dataset)
    short = dataset not in LENGTHS or len(answer) <= LENGTHS[dataset] * len(gold)
    return short and (form is None or re.fullmatch(form, answer, re.IGNORECASE) is not None)


def _has_extras(answer: str, gold: str) -> bool:
    return len(answer.split()) > len(gold.split()) or answer.count(",") > gold.count(",")


@contextmanager
def _global_state_of(seed: int) -> Iterator[None]:
    """Seeds the global generators that a data set reads or seeds, and puts all it may have changed back afterwards."""
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        with localcontext():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def _hash(question: str) -> int:
    return int.from_bytes(blake2b(question.encode(), digest_size=8).digest(), "little")


def _configured(dataset: str, kwargs: dict[str, Any], level: int | None) -> Any:
    """The library's config of a data set, checked; one sentence on what is wrong otherwise."""
    from reasoning_gym.factory import DATASETS

    config_class = DATASETS[dataset][1]
    valid = [field.name for field in fields(config_class) if field.name not in ("seed", "size")]
    for name in kwargs:
        if name not in valid:
            raise ValueError(f"dataset_kwargs of {dataset!r}: {unknown('setting', name, valid)}")
    try:
        config = config_class(**kwargs) if level is None else _curriculum_config(dataset, kwargs, level)
        if hasattr(config, "validate"):
            config.validate()
    except (AssertionError, TypeError, AttributeError) as error:
        raise ValueError(f"dataset_kwargs of {dataset!r} do not fit: {error}") from error
    config.size = 1  # only item 0 is ever used
    return config


def _curriculum_config(dataset: str, kwargs: dict[str, Any], level: int) -> Any:
    from reasoning_gym.factory import create_curriculum, has_curriculum

    if not has_curriculum(dataset):
        raise ValueError(f"data set {dataset!r} has no levels: leave level out, or set dataset_kwargs")
    curriculum = create_curriculum(dataset)
    highest = max(len(attribute.levels) for attribute in curriculum.attributes.values())
    if isinstance(level, bool) or not isinstance(level, int) or not 1 <= level <= highest:
        raise ValueError(f"data set {dataset!r} has levels 1 to {highest}, got {level!r}")
    curriculum.set_global_level(level - 1)
    config = curriculum.generate_configuration()
    for name, value in kwargs.items():
        setattr(config, name, value)
    return config


class ReasoningGymEnv(SingleEnv):
    """``tiltyard/ReasoningGym-v0``; keywords as :class:`ReasoningGym`."""

    batched_class = ReasoningGym


class ReasoningGymVectorEnv(BatchedVectorEnv):
    """``tiltyard/ReasoningGym-v0`` as a native vector; keywords as :class:`ReasoningGym`."""

    batched_class = ReasoningGym
