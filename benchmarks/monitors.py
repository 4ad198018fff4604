"""Monitor files of Stable-Baselines3: the episodes of one training, which may have had several environments."""

import csv
import json
import math
import warnings
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from .records import LARGEST_FILE, read_bytes


@dataclass(frozen=True)
class Episode:
    """An episode of training.

    Attributes:
        ended: when, in seconds since 1970; NaN where the file does not say.
        value: its return.
        length: its steps.
    """

    ended: float
    value: float
    length: float


@dataclass(frozen=True)
class Trained:
    """The episodes of one training, in the order in which they ended, and its environment ("" if not told)."""

    env_id: str
    episodes: list[Episode]


def of_folder(folder: Path) -> Trained:
    """The training whose environments wrote a Monitor file each into ``folder``.

    Raises:
        ValueError: no such files, a damaged one, or several that do not say when their episodes ended.
    """
    files = sorted(folder.glob("*monitor.csv"))
    if not files:
        raise ValueError(f"{folder} holds no Monitor files (*.monitor.csv) of one training: give a file")
    read = [of_text(file, read_bytes(file, LARGEST_FILE).decode("utf-8-sig")) for file in files]
    episodes = [episode for one in read for episode in one.episodes]
    if len(files) > 1 and any(math.isnan(episode.ended) for episode in episodes):
        raise ValueError(f"{folder} holds Monitor files without t_start or t, so that their episodes have no order")
    return Trained(read[0].env_id, sorted(episodes, key=lambda episode: episode.ended))


def of_text(path: Path, text: str) -> Trained:
    """What the file at ``path`` holds, whose text is ``text``; a last row that was cut off is left out, with a warning.

    Raises:
        ValueError: no Monitor file, a row that is cut off, or an episode of fewer than 1 step.
    """
    first, _, rest = text.partition("\n")
    rows = csv_rows(path, rest)
    if rows and None in rows[-1].values():
        rows.pop()
        warnings.warn(f"{path}: its last row is cut off and was left out", UserWarning, 2)
    try:
        head = json.loads(first[1:])
        start, env_id = float(head.get("t_start", math.nan)), str(head.get("env_id", "") or "")
        episodes = [
            Episode(start + float(row.get("t") or math.nan), float(row["r"] or ""), float(row["l"] or ""))
            for row in rows
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no Monitor CSV of Stable-Baselines3: {error!r}") from error
    if any(None in row.values() for row in rows) or not all(episode.length >= 1 for episode in episodes):
        raise ValueError(f"{path} has a row that is cut off, or an episode of fewer than 1 step: take such rows out")
    return Trained("" if env_id == "None" else env_id, episodes)


def csv_rows(path: Path, text: str) -> list[dict[str, str | None]]:
    """The rows of a CSV file by the names of its columns; None where a row is shorter than the header.

    Raises:
        ValueError: no CSV, or a row that is longer than the header.
    """
    reader = csv.DictReader(StringIO(text))
    try:
        rows: list[dict[Any, Any]] = list(reader)
    except csv.Error as error:
        raise ValueError(f"{path} is no CSV file: {error}") from error
    for number, row in enumerate(rows, 1):
        if None in row:
            width = len(reader.fieldnames or ())
            raise ValueError(
                f"{path}: row {number} has {width + len(row[None])} cells and the header {width}: give each as many"
            )
    return rows
