"""Three domains of text problems in one environment with one alphabet: arithmetic, program traces, and logic puzzles.

===========  ==============================================================  =======================================
domain       problem                                                         answer
===========  ==============================================================  =======================================
arithmetic   :class:`~tiltyard.envs.text.chain_sum.ChainSum`, level 1        the sum
code         :class:`Programs`: four assignments to two or three variables   what the program prints
logic        :class:`~tiltyard.envs.text.knights_knaves.KnightsKnaves`, 1    who is a knight and who a knave
logic-hard   :class:`Guesses`: five people who make statements of level 1          likewise, at once
===========  ==============================================================  =======================================

Every question is asked in a template, as chat models are asked: :data:`TEMPLATES`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...envs.core import BatchedVectorEnv, Bools, Info
from ...envs.seeding import Split
from ...envs.text.base import CLOSE, OPEN, BatchedText, draw_problems, last_answer
from ...envs.text.chain_sum import ChainSum
from ...envs.text.knights_knaves import KINDS, LEVELS, KnightsKnaves, Level
from ...envs.text.knights_knaves import Problem as Puzzle
from ...wrappers.components import Context, Episodes, Reward

DOMAINS = ("arithmetic", "code", "logic")
HARD = "logic-hard"
TEMPLATES = {"chat": "User: {} Assistant:", "bare": "{}"}
NAMES = "abc"
LINES = 4
LARGEST = 99


class Line(NamedTuple):
    """``target=left`` where there is no sign, else ``target=left+right`` or ``target=left-right``."""

    target: str
    left: str
    sign: str
    right: str


class Program(NamedTuple):
    """Assignments, and the variable that is printed."""

    lines: tuple[Line, ...]
    printed: str


def draw_program(rng: np.random.Generator) -> Program:
    """Four assignments, the last of which decides what is printed."""
    names = [NAMES[i] for i in rng.permutation(len(NAMES)).tolist()]
    lines, known = [Line(names[0], str(rng.integers(1, 10)), "", "")], [names[0]]
    while len(lines) < LINES:
        left = known[int(rng.integers(len(known)))]
        right = known[int(rng.integers(len(known)))] if rng.random() < 0.5 else str(rng.integers(1, 10))
        target = names[int(rng.integers(len(names)))]
        lines.append(Line(target, left, "+-"[int(rng.integers(2))], right))
        known += [] if target in known else [target]
    return Program(tuple(lines), lines[-1].target)


def values(program: Program, slips: Sequence[int] = (0,) * LINES) -> list[int]:
    """What every line assigns, the i-th off by ``slips[i]``, which later lines inherit."""
    held: dict[str, int] = {}
    found = []
    for line, slip in zip(program.lines, slips, strict=True):
        left, right = (held[x] if x in held else int(x or 0) for x in (line.left, line.right))
        held[line.target] = (left - right if line.sign == "-" else left + right) + slip
        found.append(held[line.target])
    return found


def trace(program: Program, slips: Sequence[int] = (0,) * LINES) -> str:
    """The values that every line assigns, and the last as the answer."""
    found = values(program, slips)
    steps = " ".join(f"{line.target}={value}" for line, value in zip(program.lines, found, strict=True))
    return f"{steps}{OPEN}{found[-1]}{CLOSE}"


class Programs(BatchedText[Program]):
    """Programs of four assignments, whose output is asked for.

    ::

        b=7;a=b-3;b=a+b;a=b-9;print a
        b=7 a=4 b=11 a=2<answer>2</answer>

    Corrupted texts are off by 1, 2 or 10 in one line. Keywords as :class:`~tiltyard.envs.text.base.BatchedText`.
    """

    def __init__(self, num_envs: int, *, split: Split = "train", render_mode: str | None = None) -> None:
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=64, answer_length=64)

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Program]:
        """Programs of this split."""
        return draw_problems(self.split, seeds, episodes, draw_program, self.canonical)

    def canonical(self, problem: Program) -> str:
        """The program with its variables renamed in the order in which they appear."""
        order = list(dict.fromkeys(line.target for line in problem.lines))
        return self.prompt(problem).partition(";print")[0].translate({ord(x): f"x{i}" for i, x in enumerate(order)})

    def prompt(self, problem: Program) -> str:
        """The lines, and the print statement."""
        return ";".join([*(f"{x.target}={x.left}{x.sign}{x.right}" for x in problem.lines), f"print {problem.printed}"])

    def grade(self, texts: Sequence[str], problems: Sequence[Program]) -> tuple[Bools, Bools]:
        """The number as Python prints it."""
        said = [(last_answer(text) or "").strip() for text in texts]
        readable = [text.removeprefix("-").isdecimal() and text.isascii() for text in said]
        correct = [text == str(values(problem)[-1]) for text, problem in zip(said, problems, strict=True)]
        return np.array(correct, np.bool_), np.array(readable, np.bool_)

    def solve(self, problem: Program) -> str:
        """The trace."""
        return trace(problem)

    def corrupt(self, problem: Program, rng: np.random.Generator) -> str:
        """A trace with a slip, which changes what is printed."""
        while True:
            slips = [0] * LINES
            slips[int(rng.integers(1, LINES))] = (-10, -2, -1, 1, 2, 10)[int(rng.integers(6))]
            if values(problem, slips)[-1] != values(problem)[-1]:
                return trace(problem, slips)

    def describe(self, problems: Sequence[Program]) -> Info:
        """``lines``."""
        return {"lines": [problem.lines for problem in problems]}


class Guesses(KnightsKnaves):
    """Five knights and knaves, whose demonstrations answer at once; the corrupted ones at random.

    Keywords as :class:`~tiltyard.envs.text.knights_knaves.KnightsKnaves`, but for its level.
    """

    def __init__(self, num_envs: int, *, split: Split = "train", render_mode: str | None = None) -> None:
        super().__init__(num_envs, split=split, render_mode=render_mode)
        self._shape = Level(5, LEVELS[1].forms)

    def solve(self, problem: Puzzle) -> str:
        """The answer alone."""
        return _named(problem, problem.knights)

    def corrupt(self, problem: Puzzle, rng: np.random.Generator) -> str:
        """Kinds drawn at random until one is mistaken."""
        while True:
            kinds = tuple((rng.random(len(problem.names)) < 0.5).tolist())
            if kinds != problem.knights:
                return _named(problem, kinds)


def _named(problem: Puzzle, knights: Sequence[bool]) -> str:
    told = ", ".join(f"{name} {KINDS[knight]}" for name, knight in zip(problem.names, knights, strict=True))
    return f"{OPEN}{told}{CLOSE}"


class Asked(NamedTuple):
    """A problem of a domain, and the template that asks for it."""

    domain: str
    template: str
    problem: Any


def _member(domain: str, split: Split) -> BatchedText[Any]:
    if domain == "arithmetic":
        return ChainSum(1, level=1, split=split)
    if domain == "code":
        return Programs(1, split=split)
    return Guesses(1, split=split) if domain == HARD else KnightsKnaves(1, split=split)


class Domains(BatchedText[Asked]):
    """Problems of several domains, each drawn with equal chance by the problem's seed, and likewise its template.

    Args:
        num_envs: number of environments.
        domains: of :data:`DOMAINS`, or :data:`HARD`.
        templates: of :data:`TEMPLATES`.
        noise: the share of corrupted demonstrations by domain, which takes the place of a warm start's one noise.
        split: "train" or "test".
        render_mode: None.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        domains: Sequence[str] = DOMAINS,
        templates: Sequence[str] = tuple(TEMPLATES),
        noise: dict[str, float] | None = None,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=512, answer_length=512)
        self.domains, self.templates, self.noise = tuple(domains), tuple(templates), dict(noise or {})
        self.members = {domain: _member(domain, split) for domain in self.domains}

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Asked]:
        """A problem each of the domain and template that the seed draws."""
        found = []
        for seed, episode in zip(np.asarray(seeds).tolist(), np.asarray(episodes).tolist(), strict=True):
            rng = np.random.default_rng([seed, episode])
            domain = self.domains[int(rng.integers(len(self.domains)))]
            template = self.templates[int(rng.integers(len(self.templates)))]
            found.append(Asked(domain, template, self.members[domain].problems([seed], [episode])[0]))
        return found

    def canonical(self, problem: Asked) -> str:
        """As the domain has it."""
        return self.members[problem.domain].canonical(problem.problem)

    def prompt(self, problem: Asked) -> str:
        """The question in its template."""
        return TEMPLATES[problem.template].format(self.members[problem.domain].prompt(problem.problem))

    def grade(self, texts: Sequence[str], problems: Sequence[Asked]) -> tuple[Bools, Bools]:
        """As the domain does."""
        each = [
            self.members[one.domain].grade([text], [one.problem]) for text, one in zip(texts, problems, strict=True)
        ]
        correct, readable = zip(*each, strict=True)
        return np.concatenate(correct), np.concatenate(readable)

    def solve(self, problem: Asked) -> str:
        """As the domain's expert does."""
        return self.members[problem.domain].solve(problem.problem)

    def corrupt(self, problem: Asked, rng: np.random.Generator) -> str:
        """As the domain does."""
        return self.members[problem.domain].corrupt(problem.problem, rng)

    def describe(self, problems: Sequence[Asked]) -> Info:
        """``domain`` and ``template``."""
        return {"domain": [one.domain for one in problems], "template": [one.template for one in problems]}

    def _to_demonstrate(
        self, seeds: npt.ArrayLike, noise: float, rng: np.random.Generator | None, episodes: npt.ArrayLike | None
    ) -> tuple[Sequence[Asked], list[bool]]:
        """Each domain has its own noise; without a generator, as references are asked for, there is none."""
        problems, _ = super()._to_demonstrate(seeds, noise, rng, episodes)
        if rng is None:
            return problems, [False] * len(problems)
        drawn = rng.random(len(problems)).tolist()
        return problems, [x < self.noise.get(one.domain, noise) for x, one in zip(drawn, problems, strict=True)]


class DomainsVectorEnv(BatchedVectorEnv):
    """:class:`Domains` as a native vector."""

    batched_class = Domains


class PartialCredit(Reward):
    """R = N_c / N, the share of people of a puzzle whose kind is right; 0 where an answer names others than it asks.

    Paper: Can One Domain Help Others? A Data-Centric Study on Multi-Domain Reasoning via Reinforcement Learning (2025),
    section 7, R2.
    """

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``."""
        shares = [
            right_share(said[0], reference)
            for said, reference in zip(episodes.completions, episodes.references(), strict=True)
        ]
        return torch.as_tensor(shares, dtype=episodes.reward.dtype, device=episodes.reward.device)


def right_share(text: str, reference: str) -> float:
    """The share of parts of the reference's answer, between commas, that a text's answer has, in any order.

    0 where it has another number of parts, or two for one name.
    """
    wanted, said = ([part.strip().lower() for part in (last_answer(one) or "").split(",")] for one in (reference, text))
    people = {part.partition(" ")[0] for part in said}
    if len(said) != len(wanted) or people != {part.partition(" ")[0] for part in wanted}:
        return 0.0
    return sum(part in said for part in wanted) / len(wanted)
