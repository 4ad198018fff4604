"""Does the IQM need fewer runs than the median for intervals of the same width?

The paper resamples 100 runs a game of Atari 100k agents. Those runs are not here, so the experiment draws from a model
of them: 26 tasks whose score ranges are those of the paper's figure A.14 (DER on Atari 100k, the histograms' axes), and
run-to-run noise of a shape drawn for each task from those the figure's caption names (skewed, heavy-tailed, multimodal)
or normal. One simulated suite is one draw of all task means, spreads and shapes; the effect's interval is over suites.

For a suite, thousands of experiments of N runs each give the sampling distribution of either statistic. Its width is
that of the central 95%, divided by the statistic's own value, because the two estimate different things (the paper's
figure 4 compares relative lifts for the same reason). The median's width at 25 runs is the mark: how many runs does the
IQM need to reach it?

The claim could fail: the median of task means averages over all runs of the two middle tasks, so with little noise, few
tasks or widely spaced tasks it can be the steadier of the two. ``details`` tells what happens there.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="rliable",
    sentence=(
        "IQM requires fewer runs than median for small uncertainty "
        "(Agarwal et al. 2021, section 4.3 and the captions of figures 2 and 4)"
    ),
    effect="runs the median needs for each run the IQM needs, at equal relative width of the 95% interval",
    margin=1.0,
)

SUITES = 40
MEDIAN_RUNS = 25
IQM_RUNS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
EXPERIMENTS = 1000

RANGES = (  # human-normalised scores of DER on the 26 games, alphabetical: axes of the paper's figure A.14
    *((0.04, 0.16), (0.03, 0.12), (0.45, 0.90), (0.02, 0.06), (0.0, 0.9), (0.0, 0.45), (-0.5, 0.25), (0.16, 0.40)),
    *((-0.06, 0.12), (0.0, 1.6), (0.15, 0.45), (0.0, 0.9), (0.15, 0.45), (0.0, 0.24), (0.08, 0.32), (0.5, 1.25)),
    *((0.0, 0.30), (0.8, 3.2), (0.0, 0.6), (0.08, 0.24), (0.0, 0.8), (0.0, 0.03), (0.1, 0.3), (0.5, 2.0)),
    *((0.0, 0.01), (0.1, 0.4)),
)

Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape)


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.asarray((rng.standard_gamma(2.0, shape) - 2.0) / np.sqrt(2.0))


def _heavy_tailed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    variance = np.exp(0.8**2)
    return np.asarray((rng.lognormal(0.0, 0.8, shape) - np.sqrt(variance)) / np.sqrt(variance * (variance - 1)))


def _multimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    signs = rng.integers(0, 2, shape) * 2 - 1
    return np.asarray(0.9 * signs + np.sqrt(1 - 0.9**2) * rng.standard_normal(shape))


SHAPES: tuple[Noise, ...] = (_normal, _skewed, _heavy_tailed, _multimodal)
"""Noise of mean 0 and variance 1."""


@dataclass(frozen=True)
class Suite:
    """An agent on some tasks: the law of its scores.

    Attributes:
        means: of each task.
        spreads: standard deviation over runs of each task.
        shapes: index into :data:`SHAPES` of each task.
    """

    means: Floats
    spreads: Floats
    shapes: tuple[int, ...]

    def experiments(self, rng: np.random.Generator, count: int, runs: int) -> Floats:
        """Scores ``[count, runs, tasks]`` of ``count`` independent experiments."""
        noise = [SHAPES[shape](rng, (count, runs)) for shape in self.shapes]
        return self.means + self.spreads * np.stack(noise, axis=-1)


def draw_suite(rng: np.random.Generator, *, tasks: int = 26, noise: float = 1.0, shape: int | None = None) -> Suite:
    """Draws an agent whose scores lie in the ranges of figure A.14.

    A hundred runs span about five standard deviations, of which the ticks of a histogram show about four.

    Args:
        rng: decides everything.
        tasks: that many of the 26, without replacement.
        noise: factor on the run-to-run spread.
        shape: of all tasks' noise; drawn for each by default.
    """
    low, high = np.array(RANGES)[rng.choice(len(RANGES), tasks, replace=False)].T
    shapes = rng.integers(len(SHAPES), size=tasks) if shape is None else np.full(tasks, shape)
    spreads = noise * (high - low) / 4 * rng.lognormal(0.0, 0.3, tasks)
    return Suite(low + (high - low) * rng.uniform(0.3, 0.7, tasks), spreads, tuple(shapes.tolist()))


def medians(scores: Floats) -> Floats:
    """Median over tasks of the mean over runs, of ``[experiments, runs, tasks]``."""
    return np.asarray(np.median(scores.mean(axis=1), axis=1))


def iqms(scores: Floats) -> Floats:
    """Mean of the middle half of each experiment's cells, of ``[experiments, runs, tasks]``."""
    cells = np.sort(scores.reshape(len(scores), -1), axis=1)
    cut = cells.shape[1] // 4
    return np.asarray(cells[:, cut : cells.shape[1] - cut].mean(axis=1))


def relative_width(values: Floats) -> float:
    """Width of the central 95% of ``values``, divided by their median."""
    low, middle, high = np.quantile(values, (0.025, 0.5, 0.975))
    return float((high - low) / abs(middle))


def run_ratio(suite: Suite, rng: np.random.Generator) -> float:
    """Runs the median needs for each run the IQM needs, where the median has :data:`MEDIAN_RUNS`.

    The IQM's runs are interpolated between :data:`IQM_RUNS` on logarithmic scales; beyond them the ratio is that of the
    last, which understates how far apart the two are.
    """
    mark = relative_width(medians(suite.experiments(rng, EXPERIMENTS, MEDIAN_RUNS)))
    widths = [relative_width(iqms(suite.experiments(rng, EXPERIMENTS, runs))) for runs in IQM_RUNS]
    falling = np.minimum.accumulate(widths)  # more runs never widen; what rises here is Monte Carlo noise
    needed = np.exp(np.interp(-np.log(mark), -np.log(falling), np.log(IQM_RUNS)))
    return float(MEDIAN_RUNS / needed)


def _ratios(seed: int, count: int, *, tasks: int = 26, noise: float = 1.0, shape: int | None = None) -> Floats:
    ratios = []
    for i in range(count):
        rng = np.random.default_rng([2021, seed, i])
        ratios.append(run_ratio(draw_suite(rng, tasks=tasks, noise=noise, shape=shape), rng))
    return np.array(ratios)


def _summary(ratios: Floats) -> Interval:
    """Geometric mean over suites with its bootstrap interval."""
    logs = bootstrap_interval(np.log(ratios)[:, None], mean, rng=np.random.default_rng(2021))
    return Interval(*(float(np.exp(x)) for x in (logs.estimate, logs.low, logs.high)))


def measure(*, seeds: int | None = None) -> Measurement:
    """Simulates ``seeds`` suites (40 by default) of 26 tasks, and as many of each variation."""
    count = SUITES if seeds is None else seeds
    ratios = _ratios(0, count)
    variations = {
        "4 tasks": _ratios(1, count, tasks=4),
        "10 tasks": _ratios(2, count, tasks=10),
        "half the noise": _ratios(3, count, noise=0.5),
        "a quarter of the noise": _ratios(4, count, noise=0.25),
        "normal noise": _ratios(5, count, shape=0),
    }
    details = {
        "suites": count,
        "share of suites with a ratio above 1": float((ratios > 1).mean()),
        "smallest and largest ratio of a suite": [round(float(ratios.min()), 2), round(float(ratios.max()), 2)],
        "runs of the median": MEDIAN_RUNS,
        "variations": {name: asdict(_summary(x)) for name, x in variations.items()},
        "model": "task ranges of figure A.14 (DER, Atari 100k); noise normal, skewed, heavy-tailed or bimodal by task",
    }
    return Measurement(_summary(ratios), details)
