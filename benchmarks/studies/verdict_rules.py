"""How often each rule that prints a verdict is wrong, and how often it finds what is there.

    python benchmarks/studies/verdict_rules.py [--repeats 20000] [--out docs/results/verdict-rules] [--page]

Scores are normal, lognormal (of normal logarithms with deviation 1) or bimodal (one of two modes four deviations
apart). Error rates are of two conditions that are alike; power is at an effect of 1.5 standard deviations. The rules
before 2026-11-23 stand beside today's: their code is here and nowhere else.
"""

import argparse
from collections.abc import Callable, Mapping
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.permutation import LEAST, permutation_ps
from tiltyard.benchmarks.statistics import Floats
from tiltyard.benchmarks.studies._study import keep, write_again
from tiltyard.benchmarks.verdicts import ALPHA

DRAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(0.0, 1.0, shape) / sqrt((np.e - 1) * np.e),
    "bimodal": lambda rng, shape: (4 * rng.integers(0, 2, shape) + rng.normal(size=shape)) / sqrt(5.0),
}
"""Scores of deviation 1."""
RUNS = (3, 5, 10, 20)
PARTS, EFFECT = 11, 1.5
CHUNK = 4_000_000


def alike(shape: str, repeats: int, runs: int, rng: np.random.Generator, shift: float = 0.0) -> tuple[Floats, Floats]:
    """Scores of two conditions, ``[repeats, runs]`` each, the first's higher by ``shift`` deviations."""
    return DRAWS[shape](rng, (repeats, runs)) + shift, DRAWS[shape](rng, (repeats, runs))


def student(differences: Floats, threshold: float = 0.0) -> Floats:
    """One-sided p-values of "the mean is at most the threshold", of ``[..., runs]``, as :mod:`..verdicts` has them."""
    runs = differences.shape[-1]
    error = differences.std(-1, ddof=1) / sqrt(runs)
    return np.asarray(t.sf((differences.mean(-1) - threshold) / error, runs - 1))


def claimed(differences: Floats) -> tuple[float, float]:
    """Shares of claims of one part that are supported and contradicted today."""
    above = student(differences)
    return float((2 * above <= ALPHA).mean()), float((2 * (1 - above) <= ALPHA).mean())


def in_parts(differences: Floats) -> tuple[float, float]:
    """Shares of claims of several parts, ``[repeats, parts, runs]``, with a part supported, and with one contradicted.

    The least p-value of all parts is the first that Holm's method looks at, and decides whether any is significant.
    """
    above, parts = student(differences), differences.shape[1]
    first = [2 * parts * side.min(1) <= ALPHA for side in (above, 1 - above)]
    return float(first[0].mean()), float(first[1].mean())


def equivalent(differences: Floats, margin: float) -> float:
    """Share of claims of one part that are called equivalent (and neither supported nor contradicted) today."""
    above = student(differences)
    within = np.maximum(student(differences, -margin), 1 - student(differences, margin))
    return float(((within <= ALPHA) & (2 * np.minimum(above, 1 - above) > ALPHA)).mean())


def raced(a: Floats, b: Floats, rng: np.random.Generator) -> float:
    """Share of tasks on which a race calls agents different today: permutation tests of the means."""
    return float((permutation_ps(a, b, rng=rng) <= ALPHA).mean()) if a.shape[1] >= LEAST else 0.0


def attainable(runs: int) -> float:
    """The largest level up to 5% that an exact permutation test can have: whole ways of all, in pairs."""
    ways = comb(2 * runs, runs)
    return 2 * int(ALPHA * ways / 2) / ways if runs >= LEAST else 0.0


def claimed_before(differences: Floats, rng: np.random.Generator, resamples: int = 2000) -> tuple[float, float]:
    """The same shares by the percentile bootstrap's 95% interval."""
    low, high = percentiles(differences, rng, resamples)
    return float((low > 0).mean()), float((high <= 0).mean())


def percentiles(values: Floats, rng: np.random.Generator, resamples: int) -> tuple[Floats, Floats]:
    """Ends of percentile bootstrap intervals of means of ``[repeats, runs]``."""
    runs = values.shape[1]
    ends = []
    size = max(1, CHUNK // (resamples * runs))
    for i in range(0, len(values), size):
        counts = rng.multinomial(runs, np.full(runs, 1 / runs), resamples)
        ends.append(np.quantile(values[i : i + size] @ counts.T / runs, (0.025, 0.975), axis=1))
    low, high = np.concatenate(ends, axis=1)
    return low, high


def least_before(differences: Floats, rng: np.random.Generator, resamples: int = 1000) -> float:
    """Share of claims of several parts that were "not reproduced": the least high end of all parts at most 0."""
    highs = [percentiles(differences[:, i], rng, resamples)[1] for i in range(differences.shape[1])]
    return float((np.min(highs, axis=0) <= 0).mean())


def raced_before(a: Floats, b: Floats, rng: np.random.Generator, resamples: int = 1000) -> float:
    """Share of tasks by the bootstrap interval of the probability of improvement that leaves out one half."""
    wins = (a[:, :, None] > b[:, None, :]) + 0.5 * (a[:, :, None] == b[:, None, :])
    runs, called = a.shape[1], []
    for one in wins:
        ours, theirs = (rng.multinomial(runs, np.full(runs, 1 / runs), resamples) for _ in range(2))
        low, high = np.quantile(((ours @ one) * theirs).sum(1) / runs**2, (0.025, 0.975))
        called.append(low > 0.5 or high < 0.5)
    return float(np.mean(called))


def simulated(shape: str, runs: int, repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """Rates of every rule for one shape of scores and number of runs, by what they are rates of."""
    a, b = alike(shape, repeats, runs, rng)
    c, d = alike(shape, repeats, runs, rng, EFFECT)
    parts = DRAWS[shape](rng, (repeats // 4, PARTS, runs)) - DRAWS[shape](rng, (repeats // 4, PARTS, runs))
    few = min(repeats, 2000)
    return {
        "scores": shape,
        "runs": runs,
        "task_false_before": raced_before(a[:few], b[:few], rng),
        "task_false": raced(a, b, rng),
        "task_attainable": attainable(runs),
        "task_found": raced(c[:few], d[:few], rng),
        "claim_false_before": claimed_before(a[:few] - b[:few], rng)[0],
        "claim_false": claimed(a - b),
        "claim_found": claimed(c - d)[0],
        "parts_false_before": least_before(parts[:500], rng),
        "parts_false": in_parts(parts)[1],
        "equivalent_false": equivalent(a - b + 2.0, 2.0),
    }


def cells(rates: Mapping[str, Any]) -> list[str]:
    """A row of the page: shares that are found to whole percents, shares that are wrong to tenths."""
    row = [str(rates["scores"]), str(rates["runs"])]
    for name, rate in rates.items():
        if name not in ("scores", "runs"):
            digits = 0 if name.endswith("_found") else 1
            row.append(" / ".join(f"{one:.{digits}%}" for one in np.atleast_1d(rate)))
    return row


def page(found: Mapping[str, Any]) -> str:
    """The page of ``results.json``."""
    return render("verdict_rules.md.jinja", **{**found, "rows": list(map(cells, found["rows"]))})


def main() -> None:
    """Simulates, prints the table and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("docs/results/verdict-rules"))
    parser.add_argument("--page", action="store_true", help="write the page again, from results.json")
    arguments = parser.parse_args()
    if arguments.page:
        write_again(arguments.out, page)
    else:
        rng = np.random.default_rng(0)
        rows = [simulated(shape, runs, arguments.repeats, rng) for shape in DRAWS for runs in RUNS]
        keep(arguments.out, {"repeats": arguments.repeats, "parts": PARTS, "effect": EFFECT, "rows": rows}, page)
    print((arguments.out / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
