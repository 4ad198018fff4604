"""Several base checkpoints: whether a difference of two conditions holds from each, and how far apart bases are.

One race from one checkpoint says what holds from that checkpoint. Values ``d[b, s]`` of base b and seed s (scores, or
paired differences of two conditions), of B bases with the same S seeds, are a two-way layout of random effects without
replication, ``d[b, s] = mean + base[b] + seed[s] + rest[b, s]``:

* mean squares ``MS_base = S var_b(mean_s d)``, ``MS_rest = sum (d - mean_s d - mean_b d + mean d)^2 / ((B-1)(S-1))``;
* standard deviation between bases ``sqrt(max(0, (MS_base - MS_rest) / S))``, by the method of moments;
* standard deviation between seeds ``sqrt(mean_b var_s d[b, s])``, within a base;
* ``F = MS_base / MS_rest`` with B-1 and (B-1)(S-1) degrees of freedom tests whether all bases have one mean; of two
  bases it is the paired t test.

The mean over bases has two intervals. Over these very bases it is Student's t of the S means over bases, one a seed. As
for another base of the kind, bases are the sample: Student's t of their B means, with B-1 degrees of freedom. Two bases
leave one, whose quantile is 12.7: such an interval is wide unless the two nearly agree, and then may be narrow by luck.
What a seed does from every base alike is no part of it.

Papers: Sellam et al., The MultiBERTs: BERT Reproductions for Robustness Analysis (2021), on conclusions about a
checkpoint and about the procedure that makes checkpoints. They resample both (the multi-bootstrap), which needs more
bases than two; the analysis of variance here is the textbook's (Searle, Casella and McCulloch, Variance Components,
1992; from memory).
"""

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
import numpy.typing as npt

from .statistics import MIN_RUNS, Interval
from .verdicts import student_interval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bases:
    """One value a base and seed, ``[bases, seeds]``."""

    values: Floats

    def __post_init__(self) -> None:
        """Refuses what has no spread of both kinds.

        Raises:
            ValueError: other axes, fewer than two bases or three seeds, or a value that is no finite number.
        """
        if self.values.ndim != 2 or self.values.shape[0] < 2 or self.values.shape[1] < MIN_RUNS:
            raise ValueError(
                f"bases are compared by a value each of two bases and {MIN_RUNS} seeds at least, "
                f"got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise ValueError("values of bases must be finite numbers")

    @property
    def of_these(self) -> Interval:
        """The mean over these bases: Student's t over seeds; ends are NaN where no seed differs from another."""
        return student_interval(self.values.mean(axis=0))

    @property
    def of_others(self) -> Interval:
        """The mean over bases of the kind, of which these are a sample: Student's t with B-1 degrees of freedom."""
        from scipy.stats import t

        means = self.values.mean(axis=1)
        half = float(t.ppf(0.975, len(means) - 1)) * float(means.std(ddof=1)) / sqrt(len(means))
        centre = float(means.mean())
        return Interval(centre, centre - half, centre + half) if half else Interval(centre, nan, nan)

    @property
    def between(self) -> float:
        """Standard deviation between bases, what the noise of seeds adds taken off; 0 where that is all there is."""
        base, rest = self._mean_squares
        return sqrt(max(0.0, (base - rest) / self.values.shape[1]))

    @property
    def within(self) -> float:
        """Standard deviation between seeds of one base, pooled over the bases."""
        return sqrt(float(self.values.var(axis=1, ddof=1).mean()))

    @property
    def p(self) -> float:
        """Of "every base has the same mean"; NaN where seeds leave nothing to hold the bases' difference against."""
        from scipy.stats import f

        base, rest = self._mean_squares
        bases, seeds = self.values.shape
        return float(f.sf(base / rest, bases - 1, (bases - 1) * (seeds - 1))) if rest else nan

    @property
    def _mean_squares(self) -> tuple[float, float]:
        """``MS_base`` and ``MS_rest``."""
        bases, seeds = self.values.shape
        by_base, by_seed = self.values.mean(axis=1), self.values.mean(axis=0)
        rest = self.values - by_base[:, None] - by_seed + self.values.mean()
        return seeds * float(by_base.var(ddof=1)), float((rest**2).sum()) / ((bases - 1) * (seeds - 1))
