"""What ``d3rlpy_peer.py`` makes of its finished parts: rates, intervals, tables, a page."""

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tiltyard.benchmarks.leaderboard.report import NO_VERDICT, VERDICT_RUNS
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
    if seeds < VERDICT_RUNS:
        return NO_VERDICT
    return "ours better" if chance[1] > 0.5 else "theirs better" if chance[2] < 0.5 else "no significant difference"


def shown(values: Sequence[float], form: str = ".3f") -> str:
    """``0.500 [0.400, 0.600]``, or the estimate alone."""
    estimate, *ends = (format(value, form) for value in values)
    return f"{estimate} [{', '.join(ends)}]" if ends else estimate


def tables(rows: Mapping[str, Mapping[str, Any]], parts: Sequence[Part]) -> list[str]:
    """The result as lines of Markdown."""
    lines = ["| | ours | d3rlpy | P(ours > d3rlpy) | |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        cells = [shown(row[key]) for key in ("ours", "theirs", "improvement")]
        lines.append(f"| {name} | {' | '.join(cells)} | {verdict(row['improvement'], row['seeds'])} |")
    lines += [
        "",
        "| updates/s | ours | d3rlpy | d3rlpy, updating alone | ratio [least, most] |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        speeds = " | ".join(f"{speed:.1f}" for speed in row["updates a second"].values())
        lines.append(f"| {name} | {speeds} | {shown(row['ratio'], '.2f')} |")
    return [*lines, "", "| | dataset | seed | ours | d3rlpy |", "|---|---|---|---|---|", *seed_rows(parts)]


def seed_rows(parts: Sequence[Part]) -> list[str]:
    """One line a part: its normalised returns."""
    lines = []
    for part in parts:
        job, (ours, theirs) = part["job"], (part[side]["normalised"] for side in SIDES)
        lines.append(f"| {job['algorithm']} | {job['dataset']} | {job['seed']} | {ours:.3f} | {theirs:.3f} |")
    return lines


def page(result: Mapping[str, Any], *, differences: str) -> str:
    """The result as a Markdown page."""
    parts, versions = result["parts"], result["versions"]
    job = parts[0]["job"]
    lines = [
        f"# Offline agents beside d3rlpy {versions['peer d3rlpy']}",
        "",
        f"Command: `{result['command']}`  ",
        f"Commit {result['commit']}, {result['hardware']}, torch {versions['torch']}, one thread a side.",
        "",
        f"{job['updates']:,} updates of each side on the same transitions; both evaluated in the same "
        f"{job['episodes']} test episodes. Returns are normalised (0 random, 1 the scripted expert) and averaged over "
        "seeds and datasets, with 95% bootstrap intervals; P is the probability that a run of ours scores above one of "
        "d3rlpy's.",
        "",
        *tables(result["summary"], parts),
        "",
        "Updates a second are of CPU time and of each library's whole training loop, median over parts of the median "
        "chunk, both sides in turns.",
        "",
        f"What differs{differences}",
        "Settings: `" + json.dumps(result["settings"]) + "`.",
        "",
    ]
    return "\n".join(lines)
