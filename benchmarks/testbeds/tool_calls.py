"""Tool calls: some problems are answered without a call, others need one or two, and calling more never makes it wrong.

The task of :mod:`.thoughts` with calls of a tool in place of thoughts, up to six, and with fewer needed: about two
problems in five need none. Who answers after fewer calls than the problem takes is incorrect, and so is who only calls.
The policy starts as models do that have learnt to rely on a tool: it makes about three calls, whatever the problem.
Success and calls are computed exactly, on problems that were not trained on.
"""

from dataclasses import dataclass

import torch as th

from ...agents.language.rollouts import Rollouts
from ..statistics import Floats
from .paid_sequences import told
from .thoughts import ThoughtLearner, ThoughtProblems, Thoughts

CALL = "<tool_call>"


@dataclass(frozen=True)
class ToolCalls(Thoughts):
    """The task; its outcome is success and calls at every moment.

    Attributes:
        thoughts: calls at most.
        begins: what the chance to answer next begins with, as a logit.
    """

    thoughts: int = 6
    begins: float = -1.1

    def problems(self, seed: int) -> ThoughtProblems:
        """Those of :class:`.thoughts.Thoughts`, with none, one or two calls needed."""
        found = super().problems(seed)
        stop = found.stop.clone()
        stop[-1] = self.begins
        return found._replace(needed=(found.needed - 1) // 3, stop=stop)

    def learner(self, seed: int) -> "ToolCaller":
        """The policy that training starts from."""
        return ToolCaller(self, self.problems(seed), seed)

    def fewest_calls(self, seed: int) -> float:
        """Calls of who makes as many as each problem held out takes."""
        return float(self.problems(seed).needed[self.trained :].double().mean())


class ToolCaller(ThoughtLearner):
    """The policy; its episodes are told as texts, in which calls can be counted."""

    def rollouts(self) -> Rollouts:
        """A batch."""
        batch = super().rollouts()
        return told(batch, completions=[[CALL * calls] for calls in batch.info["thoughts"].tolist()])

    @th.no_grad()
    def exact(self) -> tuple[float, float]:
        """Success and calls, expected over the problems held out."""
        success, _ = super().exact()
        stops = (self.problems.features[self.task.trained :] @ self.stop).sigmoid()
        return success, float((1 - stops).cumprod(1).sum(1).mean())  # the k-th call is made by who stopped before none


def productivity(run: Floats) -> float:
    """Correct answers a call, after training."""
    return float(run[-1, 0] / run[-1, 1])


def success(run: Floats) -> float:
    """After training."""
    return float(run[-1, 0])


def calls(run: Floats) -> float:
    """After training."""
    return float(run[-1, 1])
