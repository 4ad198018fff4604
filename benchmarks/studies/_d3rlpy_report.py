"""What ``d3rlpy_peer.py`` makes of its finished parts: rates, intervals, tables, a page."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tiltyard.benchmarks.leaderboard.report import NO_VERDICT
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.permutation import LEAST
from tiltyard.benchmarks.statistics import (
    MIN_RUNS,
    bootstrap_interval,
    improvement_interval,
    mean,
    probability_of_improvement,
)

SIDES = ("ours", "theirs")
Part = dict[str, Any]
"""Of one algorithm, dataset and seed: ``job``, and of either side its scores, normalised return and CPU seconds."""


def rates(part: Part) -> dict[str, float]:
    """Updates a CPU second of one part, from the median chunk: of ours, theirs, and theirs without drawing batches."""
    chunk = part["job"]["chunk"]
    seconds = {"ours": part["ours"]["seconds"], "theirs": part["theirs"]["seconds"]}
    seconds["theirs, updating alone"] = part["theirs"]["updating"]
    return {name: chunk / statistics.median(values) for name, values in seconds.items()}


def summary(parts: Sequence[Part]) -> dict[str, dict[str, Any]]:
    """One row an algorithm: normalised returns over seeds and datasets, their comparison, and speed.

    Intervals (95%, bootstrap) are left out for fewer than three seeds: then each entry is the estimate alone.
    """
    rows = {}
    for algorithm in dict.fromkeys(part["job"]["algorithm"] for part in parts):
        own = [part for part in parts if part["job"]["algorithm"] == algorithm]
        ours, theirs = (returns(own, side) for side in SIDES)
        speeds = [rates(part) for part in own]
        ratios = [speed["ours"] / speed["theirs"] for speed in speeds]
        rows[algorithm] = {
            "seeds": len(ours),
            "ours": mean_of(ours),
            "theirs": mean_of(theirs),
            "improvement": improvement(ours, theirs),
            "updates a second": {name: statistics.median(speed[name] for speed in speeds) for name in speeds[0]},
            "ratio": [statistics.median(ratios), min(ratios), max(ratios)],
        }
    return rows


def returns(parts: Sequence[Part], side: str) -> Any:
    """Normalised mean returns ``[seeds, datasets]`` of one algorithm's parts."""
    found = {(part["job"]["seed"], part["job"]["dataset"]): part[side]["normalised"] for part in parts}
    seeds, datasets = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    return np.array([[found[seed, dataset] for dataset in datasets] for seed in seeds])


def mean_of(scores: Any) -> list[float]:
    """Mean and its interval."""
    if len(scores) < MIN_RUNS:
        return [mean(scores)]
    found = bootstrap_interval(scores, mean, rng=np.random.default_rng(0))
    return [found.estimate, found.low, found.high]


def improvement(ours: Any, theirs: Any) -> list[float]:
    """Probability that a run of ours scores above one of theirs, and its interval."""
    if len(ours) < MIN_RUNS:
        return [probability_of_improvement(ours, theirs)]
    found = improvement_interval(ours, theirs, rng=np.random.default_rng(0))
    return [found.estimate, found.low, found.high]


def verdict(chance: Sequence[float], seeds: int) -> str:
    """What an interval of the probability of improvement says, of so many seeds a side."""
    if seeds < LEAST:
        return NO_VERDICT
    return "ours better" if chance[1] > 0.5 else "theirs better" if chance[2] < 0.5 else "no significant difference"


def tables(rows: Mapping[str, Mapping[str, Any]], parts: Sequence[Part]) -> str:
    """The result as Markdown tables."""
    return render("d3rlpy_tables.md.jinja", summary=rows, parts=parts, verdict=verdict)


def page(result: Mapping[str, Any], *, differences: str) -> str:
    """The result as a Markdown page."""
    return render("d3rlpy.md.jinja", **result, differences=differences, verdict=verdict)
