"""Hard problems come with the beginning of their solution."""

from collections.abc import Sequence
from numbers import Real

from ..components import Guidance, Problem, Prompt
from .hints import beginnings


class GHPO(Guidance):
    """A problem whose whole group failed is sampled again with the first part of the expert's completion given.

    The part grows in stages (a quarter, a half, three quarters) until some completion succeeds; the last round sampled
    is learnt from, with the hint as part of the prompt, so that the hint itself carries no loss. A problem solved
    without help is plain GRPO.

    Departures: the paper puts the hint into the question, in words that a pretrained model understands; here it is the
    beginning of the completion, which a network trained from scratch can continue. The optional cold start, during
    which every prompt is hinted, is left out, as in the authors' published settings (``start_hint_step: 0``); a warm
    start takes its place.

    Args:
        stages: shares of the expert's completion, in the order tried.

    Paper: GHPO: Adaptive Guidance for Stable and Efficient LLM Reinforcement Learning (2025); the stages are those of
    the authors' trainer.
    """

    def __init__(self, *, stages: Sequence[float] = (0.25, 0.5, 0.75)) -> None:
        given = isinstance(stages, Sequence) and all(isinstance(stage, Real) for stage in stages)
        if not given or not all(0 < stage < 1 for stage in stages):
            raise ValueError(
                f"stages are shares of the solution between 0 and 1, such as (0.25, 0.5), got {stages!r:.200}"
            )
        self.stages = tuple(stages)

    def prompts(self, problems: Sequence[Problem], history: Sequence[Sequence[float]]) -> list[Prompt]:
        """Hints for the problems whose last round failed altogether; see the class."""
        return [self._prompt(problem, shares) for problem, shares in zip(problems, history, strict=True)]

    def _prompt(self, problem: Problem, shares: Sequence[float]) -> Prompt:
        failed = 0
        for share in shares:
            if share > 0:
                break
            failed += 1
        hints = beginnings(problem.solve(), self.stages) if failed else []
        return Prompt(problem.question, hints[min(failed, len(hints)) - 1] if hints else "")
