"""What studies share: a run a file, means with intervals, and a page of what lies in a folder."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions
from tiltyard.benchmarks.saturated import no_width, none
from tiltyard.benchmarks.threads import one_thread


class Table(NamedTuple):
    """A table of a page."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def once(out: Path, name: str, settings: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``work`` returns, from ``out/name.json`` if it lies there; else it is done and written, whole or not at all.

    Raises:
        ValueError: there is a run of this name with other settings.
    """
    file = out / f"{name}.json"
    told = json.loads(json.dumps(dict(settings)))
    if file.exists():
        stored: dict[str, Any] = json.loads(file.read_text())
        if stored["settings"] != told:
            raise ValueError(f"{file} was made with other settings: give another --out, or delete it")
        return stored
    out.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    with one_thread():
        result = work()
    spent = round(time.process_time() - began, 1)
    where = {"commit": commit(), "hardware": hardware(), "versions": versions()}
    whole = {"name": name, "settings": told, **result, "cpu_seconds": spent, **where}
    partial = file.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(whole, indent=1) + "\n")
    partial.replace(file)
    return whole


def stored(out: Path) -> list[dict[str, Any]]:
    """All runs in a folder, by name."""
    return [json.loads(file.read_text()) for file in sorted(out.glob("*.json"))]


def keep(out: Path, measured: Mapping[str, Any], page: Callable[[Mapping[str, Any]], str]) -> None:
    """Writes ``out/results.json``, with where it was measured, and ``out/README.md``, the page of it."""
    out.mkdir(parents=True, exist_ok=True)
    whole = {**measured, "commit": commit(), "hardware": hardware(), "versions": versions()}
    (out / "results.json").write_text(json.dumps(whole, indent=1) + "\n")
    write_again(out, page)


def write_again(out: Path, page: Callable[[Mapping[str, Any]], str]) -> None:
    """Writes ``out/README.md``, the page of ``out/results.json``."""
    (out / "README.md").write_text(page(json.loads((out / "results.json").read_text())), encoding="utf-8")


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95% Student interval; NaN bounds for one value."""
    found = np.asarray(values, np.float64)
    if len(found) < 2:
        return float(found.mean()), float("nan"), float("nan")
    half = float(student.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return float(found.mean()), float(found.mean()) - half, float(found.mean()) + half


def said(values: Sequence[float], digits: int = 2) -> str:
    """Mean and interval in words; of one value that it is one."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f} (one run)"
    mean, low, high = interval(values)
    if len(values) > 1 and no_width(low, high):
        return f"{mean:.{digits}f} ({none(len(values))})"
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def write_page(
    out: Path, runs: Sequence[Mapping[str, Any]], *, title: str, command: str, words: str, tables: Any, found: str
) -> None:
    """Writes ``out/README.md``.

    Raises:
        ValueError: there is no run.
    """
    if not runs:
        raise ValueError(f"{out} holds no run yet")
    commits = sorted({str(run["commit"]) for run in runs})
    minutes = sum(float(run["cpu_seconds"]) for run in runs) / 60.0
    made = f"{len(runs)} runs, commit {', '.join(commits)}, {runs[0]['hardware']}; {minutes:.0f} core minutes."
    page = render("study.md.jinja", title=title, command=command, made=made, words=words, tables=tables, found=found)
    (out / "README.md").write_text(page, encoding="utf-8")
