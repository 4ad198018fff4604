"""Clip and Delta: refinements of process rewards that bound what an episode can earn, however many steps it has."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ... import unknown
from ..components import Choice, Context, Episodes, Reward
from .catalogue import load
from .steps import by_step, step_ends

MODES = {"clip": (True, False), "delta": (False, True), "clip+delta": (True, True), "none": (False, False)}
DEFAULT = {"name": "implicitprm", "pays": "probability"}


def clip(scores: Tensor, eta: float) -> Tensor:
    """min(q_k - eta, 0) for each step; no step can earn anything, so that more steps are never better."""
    return (scores - eta).clamp(max=0)


def delta(scores: Tensor, ends: Tensor) -> Tensor:
    """q_k - q_(k+1) at the end of each step, q_K at that of the last; what is left from step k on sums to q_k.

    Args:
        scores: ``[B, T]``, a step's score on its last token.
        ends: ``[B, T]`` bool, the last tokens of steps.
    """
    refined, following = torch.zeros_like(scores), torch.zeros_like(scores[:, 0])
    for t in reversed(range(scores.shape[1])):
        refined[:, t] = torch.where(ends[:, t], scores[:, t] - following, 0.0)
        following = torch.where(ends[:, t], scores[:, t], following)
    return refined


class ClipAndDelta(Reward):
    """r = r + alpha * refined process reward, whose sum over an episode is bounded.

    What the reward ``process`` adds to the tokens of step k is the step's score q_k. Left as they are ("none"), scores
    are hacked: repeating a harmless step that scores well earns without limit. "clip" pays min(q_k - eta, 0), "delta"
    pays q_k - q_(k+1) and q_K for the last step, so that the return from step k on is that step's score, "clip+delta"
    clips first.

    The refined rewards stand on the last tokens of steps, which methods with a critic or rewards of turns read
    (``"ppo"``, ``"pure"``); to those of one reward an episode they are the sum, which with delta is the first step's
    score.

    Departures: the paper's process reward model is trained beforehand on labels of Monte-Carlo rollouts and frozen;
    here it is any reward, by default the probability of success that :class:`~.implicitprm.ImplicitPRM` learns
    meanwhile. The paper chooses eta so that most steps are clipped to 0; here it is a number of its own. A last step
    that only states the answer is scored here like any other.

    Args:
        process: the reward that scores steps: a name, a name with parameters or an object (None: :data:`DEFAULT`).
        mode: "clip", "delta", "clip+delta" or "none".
        eta: the threshold of "clip".
        alpha: weight of the refined rewards.
        separator: text with which a step ends (nothing: each turn is one).

    Paper: On Designing Effective RL Reward at Training Time for LLM Reasoning (2024), the Clip and the Delta mechanism,
    as the registry of papers words them: its equations were not at hand.
    """

    def __init__(
        self,
        *,
        process: Choice | Reward = None,
        mode: str = "clip+delta",
        eta: float = 0.5,
        alpha: float = 0.1,
        separator: str = " ",
    ) -> None:
        if mode not in MODES:
            raise ValueError(unknown("mode", mode, MODES))
        self.process = load(DEFAULT if process is None else process)
        self.needs = self.process.needs  # type: ignore[misc]  # those of the class are none
        self.mode, self.eta, self.alpha, self.separator = mode, eta, alpha, separator

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B, T]``: what was there, and the refined process rewards."""
        ends = step_ends(episodes, context, self.separator)
        return episodes.token_reward + self.alpha * self.refined(self.scores(episodes, context, ends), ends)

    def scores(self, episodes: Episodes, context: Context, ends: Tensor) -> Tensor:
        """What ``process`` adds to each step, on its last token; ``[B, T]``."""
        paid = self.process.shape(episodes, context)
        if paid.dim() == 2:
            return by_step((paid - episodes.token_reward) * episodes.mask, ends)
        last = ends & (ends.cumsum(1) == ends.sum(1, keepdim=True))
        return last * (paid - episodes.reward)[:, None]

    def refined(self, scores: Tensor, ends: Tensor) -> Tensor:
        """Scores ``[B, T]`` of steps as ``mode`` pays them."""
        clipped, differences = MODES[self.mode]
        scores = torch.where(ends, clip(scores, self.eta), 0.0) if clipped else scores
        return delta(scores, ends) if differences else scores

    def start(self, context: Context) -> None:
        """As the process reward does."""
        self.process.start(context)

    def begin(self, context: Context) -> None:
        """As the process reward does."""
        self.process.begin(context)

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Trains the process reward."""
        return self.process.fit(episodes, context)

    def state_dict(self) -> dict[str, Any]:
        """What the process reward remembers."""
        return self.process.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.process.load_state_dict(state)

    def networks(self) -> dict[str, Any]:
        """The process reward's."""
        return self.process.networks()
