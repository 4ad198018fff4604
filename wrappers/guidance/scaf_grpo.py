"""Scaf-GRPO: of a group that failed, one completion is sampled again with the smallest hint that makes it succeed."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from numbers import Real
from typing import Any

from ..components import Guidance, Problem, Prompt
from .hints import beginnings, check_phrase, without_answer

Ladder = Callable[[str, str], Sequence[str]]
"""Hints from a question and its worked solution, the least telling first."""


class ScafGRPO(Guidance):
    r"""Scaffolded group relative policy optimisation: minimal hints for problems that stay unsolved.

    In the first part of training there are no hints, so that problems that were hard only because the policy was young
    are told from those that stay hard. Afterwards, where all completions of a group failed, the first of them is
    sampled again with a hint, from the least telling one on until one succeeds. It takes the failed completion's place,
    so that a group has one success of G and with it an advantage: :math:`(1 - 1/G) / \sigma` for it and :math:`-(1/G) /
    \sigma` for the others. It is learnt from with the hint before it, as it was drawn, so that no importance weight is
    needed; the hint carries no loss, and nothing is hinted when the policy is evaluated.

    Departures: the paper's hints are sentences in the question that a larger model wrote, of three tiers (knowledge,
    plan, solution) in four growing parts each. Here hints are growing parts of the expert's worked solution without its
    answer, which is the paper's last tier, unless ``ladder`` makes others; and without a ``phrase`` the completion
    begins with the hint, which a network trained from scratch can continue. The authors' code samples all levels at
    once and takes the least that succeeded; here the next level is sampled where the last one failed, which is the same
    draw for fewer samples. A problem that fails at all levels keeps the last one's completion, which has no advantage.

    Args:
        exemption: share of training without hints.
        shares: of the worked solution, in the order tried.
        ladder: ``ladder(question, solution)`` is the list of hints of a problem, in the order tried; None for the
            ``shares`` of its solution.
        phrase: how the hint is put into the question, such as ``"{question} Hint: {hint}"``, for language models that
            understand one; None: it is the beginning of the completion.

    Raises:
        ValueError: a share of training or of a solution that is none, or a phrase that could not be filled in.

    Paper: Zhang et al., Scaf-GRPO: Scaffolded Group Relative Policy Optimization for Enhancing LLM Reasoning (2025),
    and the authors' trainer, whose script has 50 steps without hints and replaces one completion.
    """

    def __init__(
        self,
        *,
        exemption: float = 0.15,
        shares: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
        ladder: Ladder | None = None,
        phrase: str | None = None,
    ) -> None:
        if not 0 <= exemption <= 1:
            raise ValueError(f"exemption is a share of training from 0 to 1, got {exemption}")
        given = isinstance(shares, Sequence) and all(isinstance(share, Real) for share in shares)
        if not given or not shares or not all(0 < share <= 1 for share in shares):
            raise ValueError(
                f"shares are of the worked solution, above 0 and up to 1, such as (0.5, 1.0), got {shares!r:.200}"
            )
        if phrase is not None:
            check_phrase(phrase)
        self.exemption, self.shares, self.ladder, self.phrase = exemption, tuple(shares), ladder, phrase
        self._exempt = exemption > 0

    def begin(self, context: Any) -> None:
        """Looks how far training has come."""
        self._exempt = context.progress < self.exemption

    def prompts(
        self, problems: Sequence[Problem], history: Sequence[Sequence[float]]
    ) -> list[Prompt | Sequence[Prompt]]:
        """A hint for the first completion of each problem whose group failed altogether; see the class."""
        return [self._group(problem, shares) for problem, shares in zip(problems, history, strict=True)]

    def _group(self, problem: Problem, shares: Sequence[float]) -> Prompt | Sequence[Prompt]:
        plain, failed = Prompt(problem.question), len(list(takewhile(lambda share: share == 0, shares)))
        hints = self._hints(problem) if failed and not self._exempt else []
        if not hints:
            return plain
        hint = hints[min(failed, len(hints)) - 1]
        return [self._hinted(problem, hint)] + [plain] * (problem.group_size - 1)

    def _hinted(self, problem: Problem, hint: str) -> Prompt:
        if self.phrase is None:
            return Prompt(problem.question, hint)
        return Prompt(self.phrase.format(question=problem.question, hint=hint))

    def _hints(self, problem: Problem) -> list[str]:
        solution = problem.solve()
        if self.ladder is not None:
            return list(self.ladder(problem.question, solution))
        return beginnings(without_answer(solution), self.shares)
