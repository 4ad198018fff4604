"""Columns of returns in CSV files that other libraries' loggers and pages write, for :mod:`.imports`.

=====================  ========================================================================================
W&B                    ``Step`` or the metric of the axis, and ``RUN - METRIC`` (with ``__MIN`` and ``__MAX``) a run
CleanRL, SB3's logger  a column of steps and one a metric, such as ``charts/episodic_return``
TensorBoard's page     ``Wall time,Step,Value`` in ``run-RUN-tag-TAG.csv``, whose name alone says what it holds
=====================  ========================================================================================

A cell may be empty, or ``NaN``, as W&B writes the value of a metric that had none: such rows are left out and counted.
Any other cell that is no finite number is an error.
"""

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .monitors import csv_rows

TAGS = ("charts/episodic_return", "eval/mean_reward", "rollout/ep_rew_mean", "eval/episodic_return", "train/return")
STEPS = ("global_step", "Step", "step", "_step", "timesteps", "total_timesteps", "time/total_timesteps")
TIMES = ("", "Wall time", "Relative Time (Process)", "Relative Time (Wall)", "_timestamp", "_runtime", "time")
"""Columns that are neither steps nor values: times, and the numbers of rows that pandas writes."""
VALUE = "Value"
"""TensorBoard's column of whatever scalar was downloaded."""
_DOWNLOADED = re.compile(r"run[-_](?P<run>.+)-tag-(?P<tag>.+?)(?: ?\(\d+\))?\.csv")


@dataclass(frozen=True)
class Column:
    """The returns of one run.

    Attributes:
        steps, values: of rows that have both; ``values`` may hold NaN.
        tag: what was logged.
        run: its name in the file or the file's name; "" where neither says it.
        shared: whether the file has a column a run.
    """

    steps: list[float]
    values: list[float]
    tag: str
    run: str
    shared: bool


def columns_of(path: Path, text: str, tag: str | None) -> list[Column]:
    """The columns of ``tag``, or of the first usual tag there is, or the only one that returns can be in.

    Raises:
        ValueError: no CSV, no column of steps, none or several that may be meant, or a cell that is no number.
    """
    rows = csv_rows(path, text)
    names = list(rows[0]) if rows else []
    step = next((name for name in STEPS if name in names), None)
    downloaded = _DOWNLOADED.fullmatch(path.name) if VALUE in names else None
    chosen = [] if step is None else _chosen(path, names, tag, downloaded and downloaded["tag"])
    if step is None or not chosen:
        what = f"give --tag, one of {', '.join(names)}" if names else "it has no rows"
        raise ValueError(f"{path} has no column of steps and returns; {what}")
    columns = []
    for name in chosen:
        run, dash, metric = name.rpartition(" - ")
        points = _points(path, rows, step, name)
        steps, values = [at for at, _ in points], [value for _, value in points]
        if downloaded and name == VALUE:
            columns.append(Column(steps, values, downloaded["tag"], downloaded["run"], shared=False))
        else:
            columns.append(Column(steps, values, metric, run, shared=bool(dash)))
    empty = len(chosen) * len(rows) - sum(len(one.steps) for one in columns)
    if empty:
        told = f"{empty} of {len(chosen) * len(rows)} returns in it have no value or no step and were left out"
        warnings.warn(f"{path}: {told}", UserWarning, 2)
    return columns


def _chosen(path: Path, names: Sequence[str], tag: str | None, downloaded: str | None) -> list[str]:
    """The columns that hold returns; ``downloaded`` is the tag in the name that TensorBoard's page gave the file."""
    wanted = (tag,) if tag else TAGS
    if found := [name for name in names if name.endswith(tuple(f" - {one}" for one in wanted))]:
        return found
    if found := [name for name in wanted if name in names][:1]:
        return found
    if downloaded is not None:
        if downloaded in {one.replace("/", "_") for one in wanted}:
            return [VALUE]
        if not tag:
            raise ValueError(f"{path} holds {downloaded} by its name: if these are returns, give --tag {VALUE}")
    values = [name for name in names if name not in (*STEPS, *TIMES) and not name.endswith(("__MIN", "__MAX"))]
    if tag or len(values) != 1:
        return []
    warnings.warn(f"{path}: its only column of values, {values[0]!r}, is taken for returns", UserWarning, 2)
    return values


def _points(path: Path, rows: Sequence[Mapping[str, str | None]], step: str, name: str) -> list[tuple[float, float]]:
    """Step and value of the rows that have a step and a cell that is not empty; a value may be NaN."""
    points = []
    for number, row in enumerate(rows, 1):
        at, value = _number(path, number, step, row[step]), _number(path, number, name, row[name])
        if at is not None and not math.isnan(at) and value is not None:
            points.append((at, value))
    return points


def _number(path: Path, row: int, name: str, cell: str | None) -> float | None:
    """A cell's number, NaN included; None where it is empty."""
    if cell is None or not cell.strip():
        return None
    try:
        number = float(cell)
    except ValueError:
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"{path}: row {row} has {cell!r} in column {name}, which is no finite number")
    return number
