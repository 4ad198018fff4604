r"""Perceptual rewards: steps of a task and a reward for each, from frames of a few demonstrations without labels.

Each demonstration is split in time so that the standard deviation of its features, averaged over features and then over
segments, is least (algorithm 1). The frames of step g in all demonstrations are then its positive ones, all others
negative; with features that are normalised over all frames, the n with the largest

.. math:: z_i = \alpha |\mu_i^+ - \mu_i^-| - (\sigma_i^+ + \sigma_i^-)                          \quad\text{(equation 1)}

are kept, and a frame's score is its mean log-density under their Gaussians, without what is the same for all frames:

.. math:: -\frac{1}{n} \sum_i \frac{(a_i - \mu_i^+)^2}{2 (\sigma_i^+)^2}                        \quad\text{(equation 2)}

Equation 2 is printed without the sign and the squared deviation of the log-density that the text names. Steps are
combined as :math:`R(a) = \sum_{g \ge 2} 2^{g-1} R_g(a)`: later ones yield more, and the first is where demonstrations
begin. These weights are from memory of appendix A.1, which was not at hand.

Departures: any function gives the features, where the paper has those of an Inception network trained on ImageNet. The
splits are found by dynamic programming, which has the same minimum. With ``by_length`` segments count by their frames,
as in the maximum likelihood that section 2.1 names; in algorithm 1 they count alike, and a still moment at an end of a
demonstration is soon a step of its own. Features that never vary are not kept, and no deviation is taken to be less
than ``least_std``. A step's reward :math:`R_g` is its score on a scale from 0, the mean of the frames of that other
step which is most like it, to 1, the mean of its own, and is cut to that: how its range is made finite, the paper does
not say.

Paper: Sermanet, Xu & Levine, Unsupervised Perceptual Rewards for Imitation Learning (2016), sections 2.1 and 2.2.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from ..driving import Array, Floats
from .frame_reward import FrameReward, Score, VectorFrameReward, check_frames

Features = Callable[[Array], Floats]
"""Of frames ``uint8 [n, H, W, 3]``, ``[n, d]``."""
Indices = npt.NDArray[np.int64]
TERM = "progress"
"""The reward's name in infos."""


def deviations(features: Floats) -> Floats:
    """The standard deviation over frames i to j - 1, averaged over features, of every i < j: ``[T, T + 1]``, else inf.

    Args:
        features: ``[T, d]``.
    """
    length = len(features)
    centred = features - features.mean(axis=0)
    found = np.full((length, length + 1), np.inf)
    for first in range(length):
        count = np.arange(1, length - first + 1)[:, None]
        mean = centred[first:].cumsum(axis=0) / count
        square = (centred[first:] ** 2).cumsum(axis=0) / count
        found[first, first + 1 :] = np.sqrt(np.maximum(square - mean**2, 0.0)).mean(axis=1)
    return found


def split(features: Floats, steps: int, *, min_size: int = 3, by_length: bool = False) -> list[int]:
    """The frames at which steps 2, 3, ... of a demonstration begin (algorithm 1).

    Args:
        features: of its frames ``[T, d]``.
        steps: that it has.
        min_size: frames of a step at least.
        by_length: whether a segment counts by its number of frames; else all count the same, as in the paper.

    Raises:
        ValueError: fewer frames than these steps have.
    """
    length = len(features)
    if steps < 1 or min_size < 1 or length < steps * min_size:
        raise ValueError(f"{steps} steps of at least {min_size} frames cannot be found in a demonstration of {length}")
    cost = deviations(features)
    starts, ends = np.arange(length)[:, None], np.arange(length + 1)
    if by_length:
        cost *= np.maximum(ends - starts, 1)
    cost[ends - starts < min_size] = np.inf
    best, before = cost[0], []  # of the first k steps, where they end at a frame
    for _ in range(steps - 1):
        total = best[:length, None] + cost
        before.append(total.argmin(axis=0))
        best = total.min(axis=0)
    found, at = [], length
    for chosen in reversed(before):
        at = int(chosen[at])
        found.append(at)
    return found[::-1]


def labels(starts: Sequence[int], length: int) -> Indices:
    """The step of each of ``length`` frames, from 0, where steps 2, 3, ... begin at ``starts``."""
    return np.searchsorted(np.asarray(starts, np.int64), np.arange(length), side="right").astype(np.int64)


def relevance(features: Floats, positive: npt.NDArray[np.bool_], alpha: float = 5.0) -> Floats:
    """Equation 1 of each feature ``[d]``; minus infinity for those that never vary.

    Args:
        features: normalised, of all frames ``[n, d]``.
        positive: whether a frame is of the step ``[n]``.
        alpha: how much the distance of means counts.
    """
    ours, others = features[positive], features[~positive]
    distance = np.abs(ours.mean(axis=0) - others.mean(axis=0))
    z: Floats = alpha * distance - (ours.std(axis=0) + others.std(axis=0))
    return np.where(np.ptp(features, axis=0) > 0, z, -np.inf)


class Step(NamedTuple):
    """What is known of a step: the features kept ``[k]``, their means and deviations, and what scores are 0 and 1."""

    kept: Indices
    mean: Floats
    std: Floats
    least: float = 0.0
    most: float = 1.0

    def score(self, features: Floats) -> Floats:
        """Equation 2: the mean log-density, up to a constant, of normalised features ``[n, d]``: ``[n]``."""
        found: Floats = -0.5 * (((features[:, self.kept] - self.mean) / self.std) ** 2).mean(axis=1)
        return found

    def reward(self, features: Floats) -> Floats:
        """The score on a scale from 0 to 1, ``[n]``."""
        found: Floats = ((self.score(features) - self.least) / max(self.most - self.least, 1e-12)).clip(0.0, 1.0)
        return found


class StepRewards:
    """Steps and their rewards, found in demonstrations.

    Args:
        demonstrations: frames ``uint8 [T, H, W, 3]`` of each; their lengths may differ.
        features: of frames.
        steps: of the task, at least two; the first one is not paid.
        n_features: that are kept for each step.
        alpha: of equation 1.
        min_size: see :func:`split`.
        by_length: likewise.
        least_std: of a normalised feature within a step.

    Attributes:
        starts: where steps 2, 3, ... of each demonstration begin.
        found: what is known of each step.

    Raises:
        ValueError: no demonstrations or too short ones, fewer than two steps, or settings that are not positive.
    """

    def __init__(
        self,
        demonstrations: Sequence[Array],
        features: Features,
        *,
        steps: int,
        n_features: int = 32,
        alpha: float = 5.0,
        min_size: int = 3,
        by_length: bool = False,
        least_std: float = 0.1,
    ) -> None:
        if not len(demonstrations):
            raise ValueError("steps are found in demonstrations: give at least one")
        if steps < 2:
            raise ValueError(f"the first step of a task is not paid: steps must be 2 or more, got {steps}")
        if n_features < 1 or alpha <= 0 or least_std <= 0:
            raise ValueError(
                f"n_features, alpha and least_std must be positive, got {n_features}, {alpha} and {least_std}"
            )
        for frames in demonstrations:
            check_frames(frames)
        self.features = features
        seen = [np.asarray(features(frames), np.float64) for frames in demonstrations]
        self.starts = [split(one, steps, min_size=min_size, by_length=by_length) for one in seen]
        whole = np.concatenate(seen)
        self.centre: Floats = whole.mean(axis=0)
        deviation = whole.std(axis=0)
        self.scale: Floats = np.where(deviation > 0, deviation, 1.0)
        whole = (whole - self.centre) / self.scale
        of = np.concatenate([labels(starts, len(one)) for starts, one in zip(self.starts, seen, strict=True)])
        self.found = [_learnt(whole, of, step, n_features, alpha, least_std) for step in range(steps)]

    def step_rewards(self, frames: Array) -> Floats:
        """The reward of each step alone, ``[n, steps]``, in [0, 1].

        Raises:
            ValueError: these are no frames ``uint8 [n, H, W, 3]``.
        """
        check_frames(frames)
        normal = (np.asarray(self.features(frames), np.float64) - self.centre) / self.scale
        return np.stack([step.reward(normal) for step in self.found], axis=1)

    def score(self, frames: Array) -> Floats:
        """The reward of frames ``uint8 [n, H, W, 3]``, ``[n]``, from 0 to ``2 + 4 + ... + 2**(steps - 1)``."""
        return combined(self.step_rewards(frames))


def combined(rewards: Floats) -> Floats:
    """The steps' rewards ``[n, steps]`` as one, ``[n]``: each counts twice as much as the one before, the first 0."""
    weights = 2.0 ** np.arange(rewards.shape[1])
    total: Floats = rewards[:, 1:] @ weights[1:]
    return total


def _learnt(whole: Floats, of: Indices, number: int, count: int, alpha: float, least_std: float) -> Step:
    """A step of normalised features of all frames ``[n, d]``, where ``of`` says which step each frame is of."""
    z = relevance(whole, of == number, alpha)
    kept = np.argsort(-z, kind="stable")[: min(count, int(np.isfinite(z).sum()))]
    if not len(kept):
        raise ValueError("no feature varies over these demonstrations: their frames are all alike")
    ours = whole[of == number][:, kept]
    step = Step(kept, ours.mean(axis=0), ours.std(axis=0).clip(least_std))
    scores = step.score(whole)
    means = [float(scores[of == other].mean()) for other in range(of.max() + 1)]
    return step._replace(least=max(means[:number] + means[number + 1 :]), most=means[number])


def _score_of(rewards: StepRewards) -> Score:
    if not hasattr(rewards, "score"):
        raise TypeError(f"rewards must be StepRewards, which are found in demonstrations, got {rewards!r:.200}")
    return rewards.score


class PerceptualReward(FrameReward, RecordConstructorArgs):
    """An environment paid by what :class:`StepRewards` say of the frame after each step.

    Args:
        env: made with ``render_mode="rgb_array"``, and rendered as the demonstrations were.
        rewards: found in demonstrations; environments may share them.

    Raises:
        TypeError: no rewards.
        ValueError: the environment renders no frames.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], rewards: StepRewards) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, rewards=rewards)
        super().__init__(env, _score_of(rewards), TERM)
        self.rewards = rewards


class VectorPerceptualReward(VectorFrameReward):
    """:class:`PerceptualReward` of all environments of a vector, whose frames are scored in one batch.

    Args:
        env: see :class:`.frame_reward.VectorFrameReward`.
        rewards: likewise.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], rewards: StepRewards) -> None:
        super().__init__(env, _score_of(rewards), TERM)
        self.rewards = rewards
