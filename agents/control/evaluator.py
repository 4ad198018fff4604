"""Evaluators: what says to a learner whether an episode was a success: the truth, a noisy truth, or a model of it.

DigiRL learns from outcomes that a vision-language model reads off the last screenshots, for want of the state's truth
(Bai et al., DigiRL: Training In-The-Wild Device-Control Agents with Autonomous Reinforcement Learning, 2024; after Pan
et al., Autonomous Evaluation and Refinement of Digital Agents, 2024). Here the truth is known, so that its place can be
taken by anything whose errors are known too. An evaluator judges what an agent learns from, never how it is evaluated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ... import unknown
from ..binomial import wilson_interval
from .trajectories import Trajectory

__all__ = ["Errors", "Evaluator", "NoisyOutcome", "Share", "Truth", "error", "made"]

STREAM = 0x6E6F6973
"""What an evaluator's randomness is seeded with beside the agent's seed, so that the two draw different numbers."""
_NOISE, _MODEL = ("false_positive", "false_negative", "seed"), ("model", "threshold")


@runtime_checkable
class Evaluator(Protocol):
    """Says whether an episode was a success."""

    def judge(self, trajectory: Trajectory) -> bool:
        """Whether this episode counts as one."""


class Truth:
    """What the environment says."""

    def judge(self, trajectory: Trajectory) -> bool:
        """The episode's own outcome."""
        return trajectory.success


class NoisyOutcome:
    r"""The truth, flipped at random: :math:`P(1 | r_H = 0)` and :math:`P(0 | r_H = 1)` are given.

    Each judgement is a fresh draw, so the same episode may be judged otherwise the next time.

    Args:
        false_positive: probability that a failure is judged a success.
        false_negative: probability that a success is judged a failure.
        seed: of the draws.

    Raises:
        ValueError: no probability.
    """

    def __init__(self, *, false_positive: float = 0.0, false_negative: float = 0.0, seed: Any = 0) -> None:
        for name, value in (("false_positive", false_positive), ("false_negative", false_negative)):
            _check_share(name, value)
        self.false_positive, self.false_negative = false_positive, false_negative
        self._rng = np.random.default_rng(seed)

    def judge(self, trajectory: Trajectory) -> bool:
        """The outcome, or its contrary."""
        flips = self._rng.random() < (self.false_negative if trajectory.success else self.false_positive)
        return trajectory.success != flips


@dataclass(frozen=True)
class Share:
    """A share of ``n`` episodes with Wilson's 95% interval (1927)."""

    estimate: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Errors:
    """How often an evaluator is wrong.

    Attributes:
        false_positive: of failures, those judged successes.
        false_negative: of successes, those judged failures.
    """

    false_positive: Share
    false_negative: Share


def error(judged: Sequence[bool], true: Sequence[bool]) -> Errors:
    """Errors of judgements ``[n]`` of episodes whose true outcomes are known.

    Raises:
        ValueError: there is no failure or no success among them, so that a rate is of nothing.
    """
    said, won = np.asarray(judged, np.bool_), np.asarray(true, np.bool_)
    if won.all() or not won.any():
        raise ValueError("error rates need failures and successes: all of these episodes ended alike")
    return Errors(_share(said[~won]), _share(~said[won]))


def _share(wrong: Any) -> Share:
    return Share(float(wrong.mean()), *wilson_interval(int(wrong.sum()), len(wrong)), len(wrong))


def made(asked: "Mapping[str, Any] | Evaluator | None", seed: int | None) -> Evaluator:
    """The evaluator that an agent's setting ``evaluator`` asks for.

    Args:
        asked: None for the truth; ``{"false_positive": 0.1, "false_negative": 0.1}`` for a :class:`NoisyOutcome`, with
            the agent's seed unless one is given; ``{"model": FILE}`` for an :class:`~.outcome_model.OutcomeModel` that
            was saved there, with its ``threshold`` unless one is given; or an evaluator.
        seed: the agent's.

    Raises:
        FileNotFoundError: no such file.
        TypeError: nothing that judges.
        ValueError: another keyword, no probability, or a file of something else.
    """
    if asked is None:
        return Truth()
    if not isinstance(asked, Mapping):
        if not callable(getattr(asked, "judge", None)):
            raise TypeError(f"an evaluator has judge(trajectory) -> bool, which {asked!r:.100} has not")
        return asked
    known = _MODEL if "model" in asked else _NOISE
    for name in asked:
        if name not in known:
            raise ValueError(f"evaluator: {unknown('keyword', str(name), known)}")
    if "model" in asked:
        from .outcome_model import OutcomeModel

        if not isinstance(asked["model"], str | PathLike):
            raise ValueError(f"evaluator: model must be the name of a file, got {asked['model']!r:.100}")
        found = OutcomeModel.load(asked["model"])
        found.threshold = _check_share("threshold", asked.get("threshold", found.threshold))
        return found
    drawn = asked.get("seed", seed)
    if not (drawn is None or (isinstance(drawn, int) and not isinstance(drawn, bool) and drawn >= 0)):
        raise ValueError(f"evaluator: seed must be a whole number of at least 0, got {drawn!r:.100}")
    stream = None if drawn is None else [drawn, STREAM]
    return NoisyOutcome(**{**asked, "seed": stream})


def _check_share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"evaluator: {name} must be a probability from 0 to 1, got {value!r:.100}")
    return value
