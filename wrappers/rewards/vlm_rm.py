r"""VLM-RM: the reward is how much a rendered frame is like a goal in words, by an encoder of pictures and texts.

With unit vectors s of the frame, g of the goal and b of the baseline text, and L the line through b and g:

.. math:: R = 1 - \tfrac12 \| \alpha \, \mathrm{proj}_L(s) + (1 - \alpha) s - g \|^2

At alpha 0 this is the cosine of s and g; at 1 only what differs between baseline and goal is left.

Paper: Rocamonde et al., Vision-Language Models are Zero-Shot Reward Models for Reinforcement Learning (2023),
definition 1; as in the authors' code (``reward_model.py``), which projects s - g, which is the same.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from ..checks import check_numbers
from ..driving import Array, Floats
from .encoders import Encoder, check_encoder
from .frame_reward import FrameReward, VectorFrameReward, check_frames, check_rendered

TERM = "likeness"
"""The reward's name in infos."""


def regularised(pictures: Floats, goal: Floats, baseline: Floats | None = None, alpha: float = 0.0) -> Floats:
    """Rewards ``[n]`` of unit vectors ``[n, d]``, of a goal's and of a baseline's ``[d]``; see the module.

    Raises:
        ValueError: alpha is not in [0, 1], or above 0 without a baseline that differs from the goal.
    """
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha is the share of the projection, in [0, 1], got {alpha}")
    away = pictures - goal
    if alpha > 0.0:
        if baseline is None:
            raise ValueError(f"alpha={alpha} projects on the line from a baseline to the goal: give a baseline text")
        line = goal - baseline
        length = float(line @ line)
        if length < 1e-8:
            raise ValueError("the encoder does not tell the baseline from the goal: give a baseline that says less")
        away = alpha * np.outer(away @ line / length, line) + (1.0 - alpha) * away
    found: Floats = 1.0 - 0.5 * (away**2).sum(axis=-1)
    return found


class GoalText:
    """Scores frames by what is wanted in words.

    Args:
        encoder: see :class:`.encoders.Encoder`.
        goal: what is wanted, in words of the encoder.
        baseline: what is seen anyway, without the goal; needed where alpha is above 0.
        alpha: of :func:`regularised`.

    Raises:
        TypeError: an encoder without ``pictures`` and ``words``, a text that is none, or an alpha that is no number.
        ValueError: see :func:`regularised`.
    """

    def __init__(self, encoder: Encoder, goal: str, baseline: str | None, alpha: float) -> None:
        check_encoder(encoder)
        texts = [goal] if baseline is None else [goal, baseline]
        if wrong := [text for text in texts if not isinstance(text, str) or not text.strip()]:
            raise TypeError(f"goal and baseline are texts with words, got {wrong[0]!r}")
        check_numbers(alpha=alpha)
        self.encoder, self.alpha = encoder, alpha
        vectors = encoder.words(texts).cpu().numpy().astype(np.float64)
        self.goal: Floats = vectors[0]
        self.baseline: Floats | None = None if baseline is None else vectors[1]
        self.score_vectors(vectors[:1])  # refuses alpha and baseline before the first step

    def score_vectors(self, pictures: Floats) -> Floats:
        """Of pictures' unit vectors ``[n, d]``, ``[n]``."""
        return regularised(pictures, self.goal, self.baseline, self.alpha)

    def score(self, frames: Array) -> Floats:
        """Of frames ``uint8 [n, H, W, 3]``, ``[n]``.

        Raises:
            ValueError: these are no such frames.
        """
        check_frames(frames)
        return self.score_vectors(self.encoder.pictures(frames).cpu().numpy().astype(np.float64))


class VLMRM(FrameReward, RecordConstructorArgs):
    """An environment under VLM-RM's reward, of the frame after each step; its own stays in the info as ``true_reward``.

    One departure from the authors' code: it encodes frames by the thousand before they are learnt from, this one at
    each step; rewards are the same.

    Args:
        env: made with ``render_mode="rgb_array"``.
        encoder: see :class:`GoalText`, as are the others.
        goal: likewise.
        baseline: likewise.
        alpha: likewise.

    Raises:
        ValueError: the environment renders no frames.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        encoder: Encoder,
        goal: str,
        *,
        baseline: str | None = None,
        alpha: float = 0.0,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, encoder=encoder, goal=goal, baseline=baseline, alpha=alpha
        )
        check_rendered(env.render_mode)
        self.text = GoalText(encoder, goal, baseline, alpha)
        super().__init__(env, self.text.score, TERM)


class VectorVLMRM(VectorFrameReward):
    """:class:`VLMRM` of all environments of a vector, whose frames are encoded in one batch.

    Args:
        env: see :class:`.frame_reward.VectorFrameReward`.
        encoder: see :class:`GoalText`, as are the others.
        goal: likewise.
        baseline: likewise.
        alpha: likewise.

    Raises:
        ValueError: the environments render no frames, or the last frame of an episode is not to be had.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        encoder: Encoder,
        goal: str,
        *,
        baseline: str | None = None,
        alpha: float = 0.0,
    ) -> None:
        check_rendered(env.render_mode)
        self.text = GoalText(encoder, goal, baseline, alpha)
        super().__init__(env, self.text.score, TERM)
