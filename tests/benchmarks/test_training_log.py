"""What is kept of a log of training: means and ends of the columns that tell whether a mechanism could act."""

from pathlib import Path

import pytest

from tiltyard.benchmarks.training_log import summary, training_of


def test_columns_have_their_mean_over_the_iterations_that_have_them_and_their_end(tmp_path: Path) -> None:
    log = tmp_path / "progress.csv"
    log.write_text("rollout/entropy,eval/mean_reward,train/clip_fraction\n0.5,,\n,0.9,\n0.25,,0.1\n0.0,,0.3\n")
    assert summary(log) == {"rollout/entropy": (0.25, 0.0), "train/clip_fraction": (pytest.approx(0.2), 0.3)}


def test_other_agents_have_no_such_columns_or_no_log(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("train/actor_loss\n1.0\n")
    assert summary(tmp_path / "progress.csv") == summary(tmp_path / "none.csv") == {}


def test_what_was_kept_is_read_and_damage_is_named() -> None:
    assert training_of({}) == {}
    found = training_of({"training": {"rollout/entropy": [0.5, 1]}})
    assert (found["rollout/entropy"].mean, found["rollout/entropy"].last) == (0.5, 1.0)
    for wrong in ([0.5], [0.5, float("nan")], "ab", {"a": 1}):
        with pytest.raises(ValueError, match="training"):
            training_of({"training": {"rollout/entropy": wrong}})
    with pytest.raises(ValueError, match="training"):
        training_of({"training": [1]})
