"""Empirical support: which correct completions a policy can be expected to write, before and after training.

A correct completion is in a policy's support if its probability is above a threshold, or if it was sampled at all. Of
those in the base's support P are preserved by training and S lost; E are new. Then

    retention  SRR = P / (P + S)       discovery  NDR = E / (P + E)
    SDS = 2 SRR NDR / (SRR + NDR)      change     NSCR = (E - S) / (P + E + S)

Paper: The Invisible Leash? Why RLVR May or May Not Escape Its Origin (2025), section 2 (empirical support, its four
categories and their rates) and section 4 (entropy of tokens and of answers).
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..statistics import Floats


@dataclass(frozen=True)
class Support:
    """Correct completions, by who can write them: counts, or means over problems.

    Attributes:
        preserved: P, base and trained policy.
        lost: S, the base alone.
        new: E, the trained policy alone.
        outside: neither.
    """

    preserved: float
    lost: float
    new: float
    outside: float

    @property
    def retention(self) -> float:
        """SRR; NaN where the base supports nothing."""
        return _share(self.preserved, self.preserved + self.lost)

    @property
    def discovery(self) -> float:
        """NDR; NaN where the trained policy supports nothing."""
        return _share(self.new, self.preserved + self.new)

    @property
    def dynamic(self) -> float:
        """SDS, the harmonic mean of both; 0 where one is 0."""
        both = self.retention + self.discovery
        return _share(2 * self.retention * self.discovery, both) if both else 0.0

    @property
    def change(self) -> float:
        """NSCR, from -1 (all lost) to 1 (all new)."""
        return _share(self.new - self.lost, self.preserved + self.new + self.lost)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def support(base: npt.ArrayLike, trained: npt.ArrayLike, correct: npt.ArrayLike, *, threshold: float) -> Support:
    """The support of policies whose distributions are known, counted over all problems.

    Args:
        base: probabilities of all completions, ``[..., completions]``.
        trained: the same of the trained policy.
        correct: which completions are correct, bool of the same shape.
        threshold: a completion is supported if it is at least this likely; 1 / k for a budget of k samples.

    Raises:
        ValueError: other shapes, or a threshold beyond 0 to 1.
    """
    ours, theirs, right = np.asarray(base, np.float64), np.asarray(trained, np.float64), np.asarray(correct, bool)
    if not ours.shape == theirs.shape == right.shape:
        raise ValueError(f"give the same completions for all, got {ours.shape}, {theirs.shape} and {right.shape}")
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is a probability above 0, got {threshold}")
    before, after = (ours >= threshold) & right, (theirs >= threshold) & right
    parts = (before & after, before & ~after, after & ~before, right & ~before & ~after)
    return Support(*(float(part.sum()) for part in parts))


def sampled_support(base: Iterable[Hashable], trained: Iterable[Hashable], correct: Iterable[Hashable] = ()) -> Support:
    """The support of policies that can only be sampled: which correct completions each has written.

    Args:
        base: correct completions (or answers) that the base wrote, of one problem.
        trained: those that the trained policy wrote, in as many samples.
        correct: all that are known to be correct; only needed for what is outside of both.
    """
    before, after, known = set(base), set(trained), set(correct)
    outside = known - before - after
    return Support(*(float(len(part)) for part in (before & after, before - after, after - before, outside)))


def answer_entropy(counts: npt.ArrayLike) -> float:
    """Entropy of the distribution of final answers in nats, from how often each was given, ``[answers]``.

    Beside the entropy of tokens: uncertainty at every step need not lead to different answers.

    Raises:
        ValueError: no answers, or counts below 0.
    """
    given: Floats = np.asarray(counts, np.float64)
    if given.ndim != 1 or (given < 0).any() or not given.sum():
        raise ValueError("give how often each answer was written: at least one, none below 0")
    share = given[given > 0] / given.sum()
    return float(-(share * np.log(share)).sum()) + 0.0
