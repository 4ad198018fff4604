"""VLM-RL: what is wanted and what is not, in words; how much more a picture is like the one is part of the reward.

Paper: Huang et al., VLM-RL: A Unified Vision Language Models and Reinforcement Learning Framework for Safe Autonomous
Driving (2024); formulas and numbers as in the authors' code (``clip_rewarded_sac.py``, ``rewards.py``, ``config.py``).
"""

from collections import deque
from numbers import Real
from typing import Any, TypeGuard

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from ..checks import check_numbers
from ..driving import Array, Floats, Judged, VectorJudged, seen
from .driving_captions import GOALS
from .driving_encoder import Encoder, load
from .encoders import check_encoder

FARTHEST = 3.0  # m from the middle of the lane at which centring is worth nothing
MOST_TURN = 0.5 * np.pi  # rad of heading, likewise
MOST_SWAY = 0.4  # m, likewise: standard deviation of the distance from the middle
TARGET = 25.0 / 3.6  # m/s
PENALTY = -10.0  # of an infraction
MEMORY = 30  # steps of which the sway is measured


class Contrast:
    r"""Contrasting language goals: how near pictures are to the goal that is not wanted.

    .. math:: z = \beta \cos(E(o), E(l^-)) - \alpha \cos(E(o), E(l^+))

    is cut to a range and turned into a score in [0, 1], of which 1 is good. The authors' range for CLIP is [0, 0.03]
    (with both weights 1); for the encoder shipped here it is measured at its training.

    Args:
        encoder: see :class:`.driving_encoder.Encoder`; the one that is shipped if None.
        goals: what is wanted, and what is not.
        weights: alpha and beta.
        span: the range of z; that of the encoder shipped if None.

    Raises:
        TypeError: an encoder without ``pictures`` and ``words``, or goals that are not two texts.
        ValueError: a span that is none, or none for an encoder of one's own.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        goals: tuple[str, str] = (GOALS[0], GOALS[1]),
        weights: tuple[float, float] = (1.0, 1.0),
        span: tuple[float, float] | None = None,
    ) -> None:
        if encoder is None:
            encoder, told = load()
            span = tuple(told["span"]) if span is None else span
        check_encoder(encoder)
        if not _is_pair(goals, str):
            raise TypeError(f"goals are two texts, what is wanted and what is not, got {goals!r:.200}")
        if not _is_pair(span, Real) or not span[0] < span[1]:
            raise ValueError(
                f"the span of contrasts is two growing numbers, got {span!r:.200}: (0.0, 0.03) is the paper's"
            )
        self.encoder = encoder
        self.span: tuple[float, float] = span
        wanted, unwanted = encoder.words(list(goals)).cpu().numpy().astype(np.float64)
        self.direction: Floats = weights[1] * unwanted - weights[0] * wanted

    def contrast(self, frames: Array) -> Floats:
        """The contrast z of rasters ``[n, 64, 64, 8]``, ``[n]``."""
        found: Floats = self.encoder.pictures(frames).cpu().numpy().astype(np.float64) @ self.direction
        return found

    def score(self, frames: Array) -> Floats:
        """1 for what is wanted, 0 for what is not, ``[n]``."""
        low, high = self.span
        return 1.0 - (np.clip(self.contrast(frames), low, high) - low) / (high - low)


def _is_pair(value: Any, kind: type[Any]) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(one, kind) for one in value)


def pace(score: npt.ArrayLike, speed: npt.ArrayLike, target: float) -> Floats:
    """``1 - |v - s v*| / v*``: the score is the share of the target speed that is wanted now."""
    wanted = np.clip(score, 0.0, 1.0) * target
    found: Floats = 1.0 - np.abs(np.asarray(speed) - wanted) / target
    return found


def quality(offset: Floats, heading: Floats, sway: Floats) -> Floats:
    r""":math:`(1 - |d| / 3)^+ (1 - |\phi| / 90°)^+ (1 - \sigma_d / 0.4)^+`, of m, rad and m, ``[n]``."""
    centring = np.maximum(1.0 - np.abs(offset) / FARTHEST, 0.0)
    straight = np.maximum(1.0 - np.abs(heading) / MOST_TURN, 0.0)
    steady = np.maximum(1.0 - sway / MOST_SWAY, 0.0)
    found: Floats = centring * straight * steady
    return found


class LanguageGoals:
    """VLM-RL's reward as a judge of :mod:`tiltyard.wrappers.driving`: all pictures of a step are encoded at once.

    Args:
        contrast: of the goals.
        target: speed that is wanted where all is well, m/s.
        penalty: of an infraction, in place of the reward; the authors' is -10.
    """

    def __init__(self, contrast: Contrast, *, target: float = TARGET, penalty: float = PENALTY) -> None:
        check_numbers(target=target, penalty=penalty)
        if not 0.0 < target < np.inf or not np.isfinite(penalty):
            raise ValueError(f"target is a positive speed in m/s and penalty finite, got {target!r} and {penalty!r}")
        self.contrast, self.target, self.penalty = contrast, target, penalty
        self._offsets: dict[int, deque[float]] = {}

    def begin(self, indices: npt.NDArray[np.int64]) -> None:
        """Forgets where these cars were."""
        for index in indices:
            self._offsets[int(index)] = deque(maxlen=MEMORY)

    def judge(self, before: Array, after: Array, infractions: Array, frames: Array | None) -> dict[str, Floats]:
        """Hierarchical synthesis: :func:`pace` times :func:`quality`; an infraction is paid ``penalty`` alone."""
        if frames is None:
            raise ValueError("language goals judge frames, and none were given")
        score = self.scores(after, infractions, frames)
        at = seen(after)
        sway = np.zeros(len(after))
        for index, offset in enumerate(at.offset):
            past = self._offsets.setdefault(index, deque(maxlen=MEMORY))
            past.append(float(offset))
            sway[index] = np.std(past)
        terms = {
            "score": score,
            "pace": pace(score, at.speed, self.target),
            "quality": quality(at.offset, at.heading, sway),
            "penalty": np.where(infractions != "", self.penalty, 0.0),
        }
        drive = np.where(infractions != "", 0.0, terms["pace"] * terms["quality"])
        return {**terms, "reward": drive + terms["penalty"]}

    def scores(self, after: Array, infractions: Array, frames: Array) -> Floats:
        """Of the frames, ``[n]``."""
        return self.contrast.score(frames)


class VLMRL(Judged):
    """A driving scene under VLM-RL's reward; its own stays in the info as ``true_reward``.

    The agent observes numbers, the reward sees the raster of the same moment. Departures from the authors' code: the
    raster stands for CARLA's segmented view from above, the encoder is pluggable (theirs is CLIP ``ViT-bigG-14``), and
    frames are encoded at each step, all environments of a vector in one batch, where theirs are encoded 64 steps at a
    time before they are learnt from: the rewards are the same.

    Args:
        env: with ``observation="vector"``.
        encoder: see :class:`Contrast`; the one that is shipped if None.
        goals: likewise.
        span: likewise.
        target: speed that is wanted where all is well, m/s.
        penalty: of an infraction.
    """

    needs_frames = True

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        encoder: Encoder | None = None,
        goals: tuple[str, str] = (GOALS[0], GOALS[1]),
        span: tuple[float, float] | None = None,
        target: float = TARGET,
        penalty: float = PENALTY,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, encoder=encoder, goals=goals, span=span, target=target, penalty=penalty
        )
        contrast = Contrast(encoder, goals=goals, span=span)
        super().__init__(env, LanguageGoals(contrast, target=target, penalty=penalty))


class VectorVLMRL(VectorJudged):
    """:class:`VLMRL` of all environments of a vector.

    Args:
        env: a vector of scenes with ``observation="vector"``.
        encoder: see :class:`VLMRL`, as are the others.
        goals: likewise.
        span: likewise.
        target: likewise.
        penalty: likewise.
    """

    needs_frames = True

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        encoder: Encoder | None = None,
        goals: tuple[str, str] = (GOALS[0], GOALS[1]),
        span: tuple[float, float] | None = None,
        target: float = TARGET,
        penalty: float = PENALTY,
    ) -> None:
        contrast = Contrast(encoder, goals=goals, span=span)
        super().__init__(env, LanguageGoals(contrast, target=target, penalty=penalty))
