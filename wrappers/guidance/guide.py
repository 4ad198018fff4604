"""Guide: failed problems are sampled again with a hint in the prompt, and learnt from without it."""

from collections.abc import Sequence

from ..components import Guidance, Problem, Prompt
from .hints import check_phrase, without_answer


class Guide(Guidance):
    """A problem whose whole group failed is sampled again from (q, g), a hint g in the prompt, and learnt from as q.

    The completions o of the hinted round replace those of the first, and the policy without the hint is taught by
    them, with the importance ratio pi_theta(o | q) / pi_old(o | q, g) in the clipped objective: what it would hardly
    have said without the hint counts little, and what it can nearly say by itself is learnt to be said without help.
    Problems that any completion solved are plain GRPO, and nothing is hinted when the policy is evaluated.

    Departures: the paper's hints are sentences that a larger model wrote from the solution without giving its answer;
    here the hint is the first part of the expert's worked solution, up to its ``<answer>`` at most.

    The ratio is that of ``method="guide"``, GRPO with this guidance. With other methods the guidance alone is taken,
    and what was hinted is weighed by a capped pi_old(o | q) / pi_old(o | q, g) outside their ratios, unless
    ``correction="ratio"`` is asked for.

    Args:
        share: of the worked solution, without its answer, that is the hint.
        phrase: how the hint is put into the question.

    Paper: Adaptive Guidance Accelerates Reinforcement Learning of Reasoning Models (2025), Guide-GRPO, by its
    abstract and the registry of papers: its equations were not at hand.
    """

    def __init__(self, *, share: float = 0.75, phrase: str = "{question} Hint: {hint}") -> None:
        if not 0 < share <= 1:
            raise ValueError(f"share lies above 0 and up to 1, got {share}")
        check_phrase(phrase)
        self.share, self.phrase = share, phrase

    def prompts(self, problems: Sequence[Problem], history: Sequence[Sequence[float]]) -> list[Prompt]:
        """A hint for the problems whose first round failed altogether; see the class."""
        return [
            self._hinted(problem) if shares and shares[0] == 0 else Prompt(problem.question)
            for problem, shares in zip(problems, history, strict=True)
        ]

    def _hinted(self, problem: Problem) -> Prompt:
        worked = without_answer(problem.solve())
        hint = worked[: int(self.share * len(worked))]
        return Prompt(self.phrase.format(question=problem.question, hint=hint), trained=problem.question)
