"""Pages of results and their raw data: made anew byte for byte, or said to be lost."""

import json
import shutil
from pathlib import Path

import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.docs import LOST, RESULTS
from tiltyard.benchmarks.leaderboard_commands import reported
from tiltyard.benchmarks.rebuild import PAGE, differing, rebuilt
from tiltyard.benchmarks.suites import RELEASED, find

KEPT = sorted({path.parents[2].name for path in RESULTS.glob("*/runs/*/final.json")})


def anew(name: str) -> dict[str, bytes]:
    suite = find(name)
    return rebuilt(suite, reported(RESULTS / name / "runs", suite), RESULTS / name)


@pytest.mark.parametrize(
    "name", [name if name in ("smoke", "gui-v1") else pytest.param(name, marks=pytest.mark.slow) for name in KEPT]
)
def test_a_page_is_made_from_its_raw_data_byte_for_byte(name: str) -> None:
    made = anew(name)
    assert made[PAGE].decode() == (RESULTS / name / PAGE).read_text(encoding="utf-8")
    assert {path.name for path in (RESULTS / name).iterdir()} >= {*made, "runs"}


@pytest.mark.parametrize("name", RELEASED)
def test_a_race_has_its_raw_data_or_says_that_they_are_lost(name: str) -> None:
    text = (RESULTS / name / PAGE).read_text(encoding="utf-8")
    assert (name in KEPT) == (LOST not in text)
    assert name in KEPT or f"`tiltyard race {name} --out runs/{name}`" in text.partition("\n\n## ")[0]


def test_no_other_page_is_without_its_raw_data() -> None:
    lost = {page.parent.name for page in RESULTS.glob("*/README.md") if LOST in page.read_text(encoding="utf-8")}
    assert lost == {"text-v1"}  # which is still the only one of so many methods


def test_raw_data_of_pages_come_from_clean_trees() -> None:
    commits = {json.loads(path.read_text())["commit"] for path in RESULTS.glob("*/runs/*/run.json")}
    assert commits
    assert not [commit for commit in commits if not commit or "changes" in commit]


def test_a_page_that_was_changed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "smoke"
    page.mkdir()
    text = (RESULTS / "smoke" / PAGE).read_text(encoding="utf-8")
    (page / PAGE).write_text(text.replace("0.809", "0.908"), encoding="utf-8")
    line = ["report", "smoke", "--runs", str(RESULTS / "smoke" / "runs"), "--out", str(page)]
    assert main([*line, "--check"]) == 1
    assert f"{page / PAGE} is not what" in capsys.readouterr().err
    assert main(line) == 0
    assert (page / PAGE).read_text(encoding="utf-8") == text
    assert differing({PAGE: text.encode(), "none.png": b""}, page) == ["none.png"]
    shutil.rmtree(page)
    assert main(line) == 2
    assert "has no marks" in capsys.readouterr().err
