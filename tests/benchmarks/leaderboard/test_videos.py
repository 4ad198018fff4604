"""Videos that are played for the site: of the median run that has a checkpoint."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.videos import collected, recorded
from tiltyard.benchmarks.runs import CHECKPOINT, FinishedRun, Run

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


def test_a_pipe_or_a_link_in_a_run_folder_is_no_video(make_run: Callable[..., FinishedRun], tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "a.mp4")
    (tmp_path / "b.gif").symlink_to("/etc/hostname")
    run = make_run("tiltyard/Hopper-v5", "sac", 0, 0.5, folder=tmp_path)
    assert collected([run], tmp_path / "site") == {}
    (tmp_path / "c.gif").write_bytes(b"GIF89a")
    assert collected([run], tmp_path / "site") == {run.run.name: f"videos/{run.run.name}.gif"}
