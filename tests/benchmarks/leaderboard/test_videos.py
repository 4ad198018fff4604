"""Videos that are played for the site: of the median run that has a checkpoint."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.leaderboard import write_page
from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.videos import collected, recorded
from tiltyard.benchmarks.runs import CHECKPOINT, RUN, FinishedRun, Run

PHONE = "tiltyard/Phone-v0"


@pytest.fixture
def finished(tmp_path: Path) -> FinishedRun:
    params = {"n_envs": 1, "n_steps": 8, "batch_size": 8, "n_epochs": 1}
    return Run(PHONE, "ppo", 0, 8, params, eval_episodes=2, eval_points=1).execute(tmp_path / "runs")


def test_an_episode_of_the_median_run_with_a_checkpoint_is_played(finished: FinishedRun, tmp_path: Path) -> None:
    others = [
        replace(finished, run=replace(finished.run, seed=seed), scores=(score,) * 2, folder=tmp_path / "none")
        for seed, score in ((1, 1.0), (2, 0.5))
    ]
    board = leaderboard([finished, *others], rng=np.random.default_rng(0), resamples=5)
    found = recorded(board, tmp_path / "site", steps=3)
    assert found == {finished.run.name: f"videos/{finished.run.name}.mp4"}
    assert len(imageio.mimread(tmp_path / "site" / found[finished.run.name], memtest=False)) > 3
    (finished.folder / CHECKPOINT).unlink()
    assert recorded(board, tmp_path / "site", steps=3) == {}


def test_runs_that_cannot_be_played_are_named_and_the_site_is_whole(
    finished: FinishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = finished.folder.parent
    replace(finished.run, env_id="CartPole-v1").execute(root)  # whose pictures need pygame
    record = json.loads((finished.folder / RUN).read_text())
    record["run"]["agent"] = "own_agent:Agent"
    copy = shutil.copytree(finished.folder, root / Run(**record["run"]).name)
    (copy / RUN).write_text(json.dumps(record))
    monkeypatch.setitem(sys.modules, "pygame", None)  # as if it were not installed
    monkeypatch.chdir(tmp_path)
    assert main(["leaderboard", str(root), "--out", "site", "--videos"]) == 0
    said = capsys.readouterr().err
    assert re.search("no video of Phone-v0-own_agent.*if you trust whoever made it, add --trust", said)
    assert re.search("no video of CartPole-v1-ppo.*: pygame is not installed", said)
    assert (tmp_path / "site" / "explore.html").is_file()
    assert [path.stem for path in (tmp_path / "site" / "videos").iterdir()] == [finished.run.name]
    assert main(["leaderboard", str(root), "--out", "trusted", "--videos", "--trust"]) == 0
    assert re.search("no video of Phone-v0-own_agent.*there is no module 'own_agent'", capsys.readouterr().err)


def test_the_site_is_whole_before_the_first_episode(
    finished: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tiltyard.benchmarks.leaderboard.page.recorded", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_page([finished], tmp_path / "site", record=True)
    assert {"index.html", "explore.html", "papers.html"} <= {path.name for path in (tmp_path / "site").iterdir()}


def test_a_pipe_or_a_link_in_a_run_folder_is_no_video(make_run: Callable[..., FinishedRun], tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "a.mp4")
    (tmp_path / "b.gif").symlink_to("/etc/hostname")
    run = make_run("tiltyard/Hopper-v5", "sac", 0, 0.5, folder=tmp_path)
    assert collected([run], tmp_path / "site") == {}
    (tmp_path / "c.gif").write_bytes(b"GIF89a")
    assert collected([run], tmp_path / "site") == {run.run.name: f"videos/{run.run.name}.gif"}
