"""What ``leaderboard`` and ``report`` say where they cannot show what they were given, and what a page's command is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.docs import RESULTS
from tiltyard.benchmarks.leaderboard_commands import reported
from tiltyard.benchmarks.rebuild import rebuilt
from tiltyard.benchmarks.runs import RUN, read_run
from tiltyard.benchmarks.suites import find

SMOKE = RESULTS / "smoke" / "runs"


def test_runs_that_are_all_of_another_suite_are_said_to_be_that() -> None:
    with pytest.raises(ValueError, match="holds no finished run to show: none of its 27 runs is of suite gui-v1"):
        reported(SMOKE, find("gui-v1"))


def test_a_folder_of_tuning_is_said_to_be_one(tmp_path: Path) -> None:
    source = next(folder for folder in sorted(SMOKE.iterdir()) if "Highway" in folder.name)
    record = json.loads((source / RUN).read_text())
    record["run"]["seed"] = 10_000
    folder = tmp_path / replace(read_run(source).run, seed=10_000).name
    folder.mkdir()
    for path in source.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / RUN).write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"its 1 runs are of tuning \(seeds from 10000 on\), which no board shows"):
        reported(tmp_path)


def test_a_run_itself_is_no_folder_of_runs() -> None:
    folder = next(folder for folder in sorted(SMOKE.iterdir()) if (folder / RUN).is_file())
    with pytest.raises(ValueError, match=r"it is a run itself, so give the folder that it lies in, \S+/smoke/runs"):
        reported(folder)


def test_what_is_no_record_of_verified_runs_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mini.toml").write_text("seeds = [0]\n")
    line = ["leaderboard", str(SMOKE), "--out", str(tmp_path / "site"), "--verified", str(tmp_path / "mini.toml")]
    assert main(line) == 2
    assert "is no record of verified runs, which is what tiltyard verify --record writes\n" in capsys.readouterr().err


def test_a_file_in_the_place_of_a_folder_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site").write_text("")
    assert main(["leaderboard", str(SMOKE), "--out", str(tmp_path / "site")]) == 2
    assert "site is a file, and a folder of this name is needed: give --out another one" in capsys.readouterr().err


TOML = """
seeds = [0, 1, 2]

[[tasks]]
env_id = "tiltyard/Highway-v0"
entries = [{ agent = "ppo", budget = 20_000 }, { agent = "dqn", budget = 20_000 }]

[[comparisons]]
title = "Road"
tasks = ["tiltyard/Highway-v0"]
reference = "dqn"
"""


def test_the_command_of_a_page_races_the_suites_file(tmp_path: Path) -> None:
    path = tmp_path / "my suite.toml"
    path.write_text(TOML)
    suite, runs = find(str(path)), reported(SMOKE)
    files = rebuilt(suite, runs, tmp_path, name=str(path))
    assert f"Command: `tiltyard race '{path}' --out 'runs/my suite'`" in files["README.md"].decode()
    assert b"Command: `tiltyard race 'my suite' --out" in rebuilt(suite, runs, tmp_path)["README.md"]
