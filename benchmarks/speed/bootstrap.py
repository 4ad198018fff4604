"""Resamples a second of the stratified bootstrap against rliable: python benchmarks/speed/bootstrap.py [--repeats 5].

Both sides work on the same 10 runs x 26 tasks on one thread; repeats are interleaved, so a busy machine slows both, and
the ratio is the median over repeats. (Not called statistics.py: scripts beside it would import it for the standard
library's.)
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table
from rliable import library, metrics

from tiltyard.benchmarks import statistics

RUNS, TASKS, TAUS = 10, 26, np.linspace(0.0, 8.0, 101)
Job = tuple[str, Callable[[int], object], int, Callable[[int], object], int]


def per_second(job: Callable[[int], object], resamples: int) -> float:
    """Resamples a second of one call."""
    start = time.perf_counter()
    job(resamples)
    return resamples / (time.perf_counter() - start)


def jobs() -> list[Job]:
    """(name, ours, resamples, rliable's, resamples): more of ours, so that both take about as long."""
    draw = np.random.default_rng(0)
    a, b = draw.lognormal(size=(RUNS, TASKS)), draw.lognormal(size=(RUNS, TASKS))
    rng = np.random.default_rng(1)

    def theirs(metric: Callable[..., float], data: object) -> Callable[[int], object]:
        return lambda n: library.get_interval_estimates({"x": data}, lambda *x: np.array([metric(*x)]), reps=n)

    ours = statistics.bootstrap_interval
    return [
        *(
            (name, lambda n, f=f: ours(a, f, rng=rng, resamples=n), 200_000, theirs(metric, a), 1000)
            for name, f, metric in (
                ("IQM", statistics.iqm, metrics.aggregate_iqm),
                ("mean", statistics.mean, metrics.aggregate_mean),
                ("median", statistics.median, metrics.aggregate_median),
                ("optimality gap", statistics.optimality_gap, metrics.aggregate_optimality_gap),
            )
        ),
        (
            "probability of improvement",
            lambda n: statistics.improvement_interval(a, b, rng=rng, resamples=n),
            50_000,
            theirs(metrics.probability_of_improvement, [a, b]),
            20,
        ),
        (
            "performance profile (101 thresholds)",
            lambda n: statistics.profile_band(a, TAUS, rng=rng, resamples=n),
            20_000,
            lambda n: library.create_performance_profile({"x": a}, TAUS, reps=n),
            200,
        ),
    ]


def main() -> None:
    """Prints one row a statistic."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    table = Table("statistic", "ours /s", "rliable /s", "ratio", title=f"{RUNS} runs x {TASKS} tasks, one thread")
    for name, ours, many, theirs, few in jobs():
        ours(10), theirs(10)  # compilation and caches
        pairs = np.array([(per_second(ours, many), per_second(theirs, few)) for _ in range(repeats)])
        mine, peer = np.median(pairs, axis=0)
        table.add_row(name, f"{mine:,.0f}", f"{peer:,.0f}", f"{np.median(pairs[:, 0] / pairs[:, 1]):.0f}x")
    Console().print(table)


if __name__ == "__main__":
    main()
