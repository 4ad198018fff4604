"""What training comes to on a testbed whose success is exact: curves, a number for each problem and moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..statistics import Floats


@dataclass(frozen=True)
class Course:
    """What became of a learner at K moments of training; exact, nothing here is an estimate.

    Attributes:
        completions: ``[K]`` sampled so far.
        success: ``[K, N]`` probability of a correct completion of each problem.
        entropy: ``[K, N]`` nats a completion.
        trained: problems that are learnt from; the others are held out.
        at_end: further numbers, measured after training.
    """

    completions: npt.NDArray[np.int64]
    success: Floats
    entropy: Floats
    trained: int
    at_end: Mapping[str, float] = field(default_factory=dict)

    @property
    def held_out(self) -> Floats:
        """Mean success on the problems held out, ``[K]``."""
        return np.asarray(self.success[:, self.trained :].mean(1))

    @property
    def mean_held_out(self) -> float:
        """Mean over training of :attr:`held_out` (its area by the trapezoid rule): high is soon and well."""
        return float(np.trapezoid(self.held_out, self.completions) / (self.completions[-1] - self.completions[0]))

    @property
    def end(self) -> float:
        """Held-out success after the last step."""
        return float(self.held_out[-1])

    @property
    def loses_success(self) -> bool:
        """Held-out success ends below where it began."""
        return bool(self.held_out[-1] < self.held_out[0])

    @property
    def collapses(self) -> bool:
        """Held-out success ends below three quarters of its peak."""
        return bool(self.held_out[-1] < 0.75 * self.held_out.max())

    def pass_at(self, k: int, moment: int = -1) -> float:
        """Mean probability that one of ``k`` completions is correct, on the problems held out."""
        return float((1 - (1 - self.success[moment, self.trained :]) ** k).mean())

    def completions_until(self, level: float) -> float:
        """Completions until :attr:`held_out` is at least ``level``; infinite if never."""
        there = np.flatnonzero(self.held_out >= level)
        return float(self.completions[there[0]]) if len(there) else float("inf")

    def gain(self, low: float, high: float) -> float:
        """What success rose by on the held-out problems whose success before training is in ``[low, high)``."""
        before, after = self.success[[0, -1], self.trained :]
        return float((after - before)[(before >= low) & (before < high)].mean())
