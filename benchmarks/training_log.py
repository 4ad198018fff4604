"""What a language agent's log says of the completions it learnt from: each column's mean over training, and its end.

Columns are those of ``progress.csv`` that tell whether a method's mechanism could act: how many groups had one reward
throughout, how many tokens were clipped, how far the policy had moved, and how much entropy was left.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .records import number, part

TRAINING = "training"
COLUMNS = (
    "rollout/entropy",
    "rollout/uniform_groups",
    "rollout/completion_tokens",
    "train/clip_fraction",
    "train/approx_kl",
)


class Logged(NamedTuple):
    """A column: its mean over all iterations that have it, and what the last of them has."""

    mean: float
    last: float


def summary(path: Path) -> dict[str, Logged]:
    """The columns of a ``progress.csv`` that it has, of :data:`COLUMNS`; nothing where there is no such file."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {name: [float(row[name]) for row in rows if row.get(name)] for name in COLUMNS}
    return {name: Logged(sum(values) / len(values), values[-1]) for name, values in found.items() if values}


def training_of(final: Mapping[str, Any]) -> dict[str, Logged]:
    """The columns that a ``final.json`` holds; none of runs that did not record them.

    Raises:
        ValueError: something else than two finite numbers a column.
    """
    stored = part(final, TRAINING, dict) if TRAINING in final else {}
    if any(type(pair) is not list or len(pair) != 2 for pair in stored.values()):
        raise ValueError(f"{TRAINING!r} must hold pairs of numbers")
    return {str(name): Logged(*(number(value, TRAINING) for value in pair)) for name, pair in stored.items()}
