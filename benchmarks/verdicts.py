"""Verdicts on effects that a few paired runs measured: supported, contradicted, equivalent or undecided.

A claim has one or several parts, each one effect with one value a run (a seed), paired where both sides met the same
problems. Every part gets a Student t interval of its own and two tests at 5%, with Holm's correction over the parts:

* against its bar, two-sided: ``supported`` above it, ``contradicted`` below it. The bar is the part's threshold; of an
  effect that is wanted to be no less than it, within a stated margin, it lies the margin below;
* two one-sided tests within a stated margin around the threshold: ``equivalent``.

Else it is ``undecided``, and :attr:`Judged.detectable` says how large an effect had to be for this design to find it in
four of five experiments. A part whose largest possible effect lies at or below its threshold cannot be decided, and
says so, and so does one whose runs all agree: their spread is not known, and an interval of no width would be false.

The t test holds its level where differences are symmetric, as those of two conditions that are alike are, whatever each
condition's scores look like; ``tests/benchmarks/test_error_rates.py`` simulates it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, isfinite, log, nan, sqrt
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from .permutation import holm
from .saturated import SAME
from .statistics import MIN_RUNS, Interval

Judgement = Literal["supported", "contradicted", "equivalent", "undecided"]
Wanted = Literal["above", "no less"]

ALPHA, POWER = 0.05, 0.8
RULE = (
    'Student\'s t a part, Holm over the parts, two one-sided tests within the margin, "no less" against threshold '
    "minus margin; from 2026-11-26"
)
"""Of these verdicts, as their records name it."""


@dataclass(frozen=True)
class Sample:
    """What is known of an effect: its mean, the mean's standard error, degrees of freedom, and the number of runs."""

    mean: float
    error: float
    freedom: float
    runs: int

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """Of one value a run, ``[runs]``.

        Raises:
            ValueError: fewer than three runs, more than one value a run, or a value that is no finite number.
        """
        array = np.asarray(values, np.float64)
        if array.ndim != 1 or len(array) < MIN_RUNS:
            raise ValueError(f"an effect needs one value of at least {MIN_RUNS} runs, got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"effects must be finite numbers, got {array.tolist()}")
        spread = float(array.std(ddof=1))
        if spread <= SAME * float(np.abs(array).max()):
            spread = 0.0
        return cls(float(array.mean()), spread / sqrt(len(array)), len(array) - 1, len(array))

    @classmethod
    def from_percentiles(cls, interval: Interval, runs: int) -> Self:
        """What a 95% percentile bootstrap interval of a mean over ``runs`` tells of it.

        Its half-width is 1.96 sqrt((n - 1) / n) standard errors, as the bootstrap draws from n values as if they were
        all there are.
        """
        error = (interval.high - interval.low) / (2 * 1.959964) * sqrt(runs / (runs - 1))
        return cls(interval.estimate, error, runs - 1, runs)

    def minus(self, other: Self) -> "Sample":
        """The difference to another, of which it is not known which runs belong together (Welch's test)."""
        ours, theirs = self.error**2, other.error**2
        below = ours**2 / self.freedom + theirs**2 / other.freedom
        freedom = (ours + theirs) ** 2 / below if below else min(self.freedom, other.freedom)
        return Sample(self.mean - other.mean, sqrt(ours + theirs), freedom, min(self.runs, other.runs))

    def interval(self, level: float = 1 - ALPHA) -> Interval:
        """Student's t interval of the mean; ends are NaN where no run differs from another."""
        if not self.error:
            return Interval(self.mean, nan, nan)
        half = _quantile((1 + level) / 2, self.freedom) * self.error
        return Interval(self.mean, self.mean - half, self.mean + half)

    def above(self, value: float) -> float:
        """One-sided p-value of "the effect is at most ``value``"; 1 where runs have no spread."""
        from scipy.stats import t

        return float(t.sf((self.mean - value) / self.error, self.freedom)) if self.error else 1.0

    def below(self, value: float) -> float:
        """One-sided p-value of "the effect is at least ``value``"; 1 where runs have no spread."""
        from scipy.stats import t

        return float(t.cdf((self.mean - value) / self.error, self.freedom)) if self.error else 1.0

    def detectable(self, alpha: float = ALPHA, power: float = POWER) -> float:
        """The effect beyond the threshold that a two-sided test at ``alpha`` finds with a probability of ``power``."""
        return noncentrality(self.freedom, alpha, power) * self.error if self.error else nan


def student_interval(values: npt.ArrayLike, level: float = 1 - ALPHA) -> Interval:
    """Mean of one value a run, ``[runs]``, with Student's t interval; its ends are NaN where all values are equal."""
    return Sample.of(values).interval(level)


@lru_cache(maxsize=1024)
def _quantile(share: float, freedom: float) -> float:
    from scipy.stats import t

    return float(t.ppf(share, freedom))


@lru_cache(maxsize=1024)
def noncentrality(freedom: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Standard errors that an effect must be away from 0 for a two-sided t test to find it with ``power``."""
    from scipy.optimize import brentq
    from scipy.stats import nct

    cut = _quantile(1 - alpha / 2, freedom)
    return float(brentq(lambda away: nct.sf(cut, freedom, away) - power, 0.0, 20 * cut + 20))


@dataclass(frozen=True)
class Part:
    """One effect of a claim.

    Attributes:
        sample: what was measured.
        values: one a run where they are kept, ``()`` where only their summary is.
        threshold: supported above it.
        margin: an effect this near to the threshold counts as none; None where no size counts as none.
        wanted: "above" the threshold, or "no less": it may be less by the margin, see :attr:`bar`.
        highest: the largest value that the effect could have had.
        log: the effect is a natural logarithm; intervals are shown as what it is the logarithm of.
        decides: whether the whole claim rests on it; else it is told, and judged, beside it.
        source: where a sample comes from that has no values.
    """

    sample: Sample
    values: tuple[float, ...] = ()
    threshold: float = 0.0
    margin: float | None = None
    wanted: Wanted = "above"
    highest: float = inf
    log: bool = False
    decides: bool = True
    source: str = "runs"

    def __post_init__(self) -> None:
        """Refuses what cannot be judged.

        Raises:
            ValueError: a margin that is not positive, or none where the effect may be less by it.
        """
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"a margin must be positive, got {self.margin}")
        if self.wanted == "no less" and self.margin is None:
            raise ValueError("an effect that may be a little less needs the margin that says how much")

    @property
    def bar(self) -> float:
        """What the effect is tested against: supported above it, contradicted below."""
        return self.threshold - self.margin if self.wanted == "no less" and self.margin else self.threshold


@dataclass(frozen=True)
class Judged:
    """A part with its verdict.

    Attributes:
        name: of the part.
        judgement: of this part alone, corrected for how many parts there are.
        interval: 95%, of this part alone.
        p: two-sided, against the part's bar, after Holm's correction; NaN where runs have no spread.
        detectable: the smallest effect beyond the bar that the design would have found in four of five
            experiments, at the level of Holm's first step; NaN where runs have no spread.
        reason: why it could not be decided, where that is not a matter of more runs; else empty.
        runs: how many.
        threshold: of the part.
        margin: of the part.
        wanted: of the part.
        decides: of the part.
        source: of the part.
        values: of the part.
    """

    name: str
    judgement: Judgement
    interval: Interval
    p: float
    detectable: float
    reason: str
    runs: int
    threshold: float
    margin: float | None
    wanted: Wanted
    decides: bool
    source: str
    values: tuple[float, ...]

    @property
    def part(self) -> Part:
        """What was judged, from the values that are kept; only its largest possible value is not kept.

        Raises:
            ValueError: no values are kept.
        """
        if not self.values:
            raise ValueError(f"part {self.name!r} keeps no value a run, and cannot be judged again: run its claim")
        mean = float(np.mean(self.values))
        logarithm = not np.isclose(mean, self.interval.estimate, rtol=1e-6, atol=1e-12)
        threshold = log(self.threshold) if logarithm else self.threshold
        how: dict[str, Any] = {"log": logarithm, "decides": self.decides, "source": self.source}
        return Part(Sample.of(self.values), self.values, threshold, self.margin, self.wanted, **how)

    def __str__(self) -> str:
        beside = "" if self.decides else " (beside the claim)"
        note = f": {self.reason}" if self.reason else ""
        sizes = f"p {self.p:.2g}, detectable {self.detectable:.2g}" if isfinite(self.p) else "no p"
        equal = "" if self.margin is None else f", margin {self.margin:g}"
        return (
            f"{self.name}: {told(self.interval)}, {self.judgement}{beside}{note} "
            f"({self.wanted} {self.threshold:g}{equal}; {sizes}; {self.runs} runs)"
        )


def told(interval: Interval) -> str:
    """An interval with so many decimals that its width has two digits: no difference hides behind rounding."""
    width = interval.high - interval.low
    size = width if isfinite(width) and width > 0 else abs(interval.estimate) or 1.0
    decimals = min(max(0, 1 - int(np.floor(np.log10(size)))), 8)
    return format(interval, f".{decimals}f")


def judge(parts: Mapping[str, Part]) -> dict[str, Judged]:
    """Every part with its verdict, by name; the error rate of 5% is that of all of them together."""
    two_sided = dict(zip(parts, holm({name: _two_sided(part) for name, part in parts.items()}), strict=True))
    within = dict(zip(parts, holm({name: _within(part) for name, part in parts.items()}), strict=True))
    return {name: _judged(name, part, two_sided[name], within[name], len(parts)) for name, part in parts.items()}


def _two_sided(part: Part) -> float:
    """p-value of "the effect is the bar"."""
    return min(1.0, 2 * min(part.sample.above(part.bar), part.sample.below(part.bar)))


def _within(part: Part) -> float:
    """p-value of "the effect is outside the margin": the larger of two one-sided ones (TOST)."""
    if part.margin is None:
        return 1.0
    return max(part.sample.above(part.threshold - part.margin), part.sample.below(part.threshold + part.margin))


def _judged(name: str, part: Part, p: float, within: float, parts: int) -> Judged:
    sample, interval = part.sample, part.sample.interval()
    reason = _undecidable(part)
    judgement: Judgement = "undecided"
    if not reason and sample.error:
        if p <= ALPHA:
            judgement = "supported" if sample.mean > part.bar else "contradicted"
        elif within <= ALPHA:
            judgement = "equivalent"
    if part.log:
        interval = Interval(*(exp(end) for end in (interval.estimate, interval.low, interval.high)))
    return Judged(
        name=name,
        judgement=judgement,
        interval=interval,
        p=p if sample.error else nan,
        detectable=sample.detectable(ALPHA / parts),
        reason=reason,
        runs=sample.runs,
        threshold=exp(part.threshold) if part.log else part.threshold,
        margin=part.margin,
        wanted=part.wanted,
        decides=part.decides,
        source=part.source,
        values=part.values,
    )


def _undecidable(part: Part) -> str:
    """Why no number of runs could decide a part; empty where they could."""
    if part.wanted == "above" and part.highest <= part.threshold:
        return (
            f"cannot be decided here: the largest possible value is {part.highest:.3g}, and support begins above "
            f"{part.threshold:g}"
        )
    if not part.sample.error:
        return f"all {part.sample.runs} runs have the value {part.sample.mean:g}: their spread is not known"
    return ""


def overall(judged: Mapping[str, Judged]) -> Judgement:
    """A whole claim's verdict from its parts', those beside the claim left out.

    It is contradicted as soon as one part is, supported where all parts are; equivalent where all parts are decided and
    at least one shows that there is no difference; else undecided.
    """
    found = {one.judgement for one in judged.values() if one.decides}
    if not found or "contradicted" in found:
        return "contradicted" if found else "undecided"
    if "undecided" in found:
        return "undecided"
    return "equivalent" if "equivalent" in found else "supported"
