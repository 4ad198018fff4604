"""Lap times are of whole laps without recovery, and the page is made of the runs in its folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.studies.fastrlap import MOMENTS, expert, lap_time, report, scene, shares


def test_the_experts_lap_is_timed_and_who_leaves_the_road_has_no_time() -> None:
    env = scene()
    found = lap_time(env, 2, expert)
    assert found is not None
    _, info = env.reset(seed=2)
    steps = 0
    while "lap_time" not in info:
        *_, info = env.step(expert(env, None))
        steps += 1
    assert found == pytest.approx(0.2 * steps)
    assert lap_time(env, 2, lambda *_: np.array([1.0, 1.0], np.float32)) is None


def stored(arm: str, seed: int, laps: list[float | None]) -> dict[str, Any]:
    curve = [{"steps": 750 * i, "lap": lap, "laps": i, "recoveries": 10 + i} for i, lap in enumerate(laps, 1)]
    marks = {"limits": 40.0, "expert": 100.0} | ({"slow": 150.0} if arm == "prior" else {})
    told = {"commit": "c", "hardware": "h", "cpu_seconds": 60.0, "settings": {"steps": 6000, "updates": 4}}
    return {"name": f"{arm}-{seed}", "arm": arm, "seed": seed, "marks": marks, "curve": curve, **told}


def test_shares_are_of_the_best_lap_and_the_page_says_who_has_none(tmp_path: Path) -> None:
    none: list[float | None] = [None] * MOMENTS
    runs = [
        stored("prior", 2, [None, 80.0, 60.0, *none[3:]]),
        stored("prior", 3, [None, None, 50.0, *none[3:]]),
        stored("none", 2, none),
    ]
    assert shares(runs, "expert") == [0.6, 0.5]
    assert shares(runs, "limits") == [1.5, 1.25]
    for run in runs:
        (tmp_path / f"{run['name']}.json").write_text(json.dumps(run))
    report(tmp_path)
    lines = (tmp_path / "README.md").read_text().splitlines()
    by_arm = [line for line in lines if line.startswith(("| prior |", "| none |"))]
    assert by_arm[0].startswith("| prior | 2 of 2 | 0.55 [")
    assert by_arm[1].startswith("| none | 0 of 1 | none | none | 8.0 (one run) |")
    assert "| prior, seed 2 | 150.0 | 100.0 | 40.0 |  | 80.0 | 60.0 |" in "\n".join(lines)
