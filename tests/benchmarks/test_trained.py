"""The agents that are shipped: every folder is a whole run of the suite, and plays as it was stored."""

import shutil
from dataclasses import replace

import pytest

from tiltyard.agents.checkpoint import read_checkpoint
from tiltyard.benchmarks import trained
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.commands import find_policy
from tiltyard.benchmarks.runs import read_run
from tiltyard.benchmarks.suites import find
from tiltyard.benchmarks.trained.ship import main as main_of_ship
from tiltyard.benchmarks.trained.ship import ship
from tiltyard.envs.catalogue import find as find_env

MOST_BYTES = 500_000
FOLDERS = trained.folders()
SHORT = ("tiltyard/Reacher-v5", "tiltyard/InvertedPendulum-v5")


def test_what_is_shipped_is_of_the_suite():
    runs = {run.name for run in find("trained-v1").runs()}
    assert set(SHORT) <= set(FOLDERS)
    assert {folder.name for folder in FOLDERS.values()} <= runs


@pytest.mark.parametrize("env_id", FOLDERS)
def test_a_shipped_agent_is_small_and_better_than_chance(env_id):
    stored = read_run(FOLDERS[env_id])
    assert stored.run.name == FOLDERS[env_id].name
    assert sum(file.stat().st_size for file in FOLDERS[env_id].iterdir()) < MOST_BYTES
    assert find_env(env_id).normalise(sum(stored.scores) / len(stored.scores)) > 0.25


def test_shipping_leaves_out_optimisers_and_what_is_of_another_suite(tmp_path):
    stored = FOLDERS["tiltyard/InvertedPendulum-v5"]
    copy = ship(stored, tmp_path)
    assert copy.name == stored.name
    assert read_run(copy).scores == read_run(stored).scores
    assert not any(name.startswith("policy.optimizer/") for name in read_checkpoint(copy / "checkpoint.zip")[1])
    longer = replace(read_run(stored).run, budget=200_001)
    other = tmp_path / longer.name
    shutil.copytree(stored, other)
    (other / "run.json").write_text((stored / "run.json").read_text().replace('"budget": 200000', '"budget": 200001'))
    with pytest.raises(ValueError, match="is no run of the suite trained-v1: make those with `tiltyard race"):
        ship(other, tmp_path)
    with pytest.raises(SystemExit, match="holds no finished run"):
        main_of_ship([str(tmp_path)])


def plays_as_stored(env_id):
    scores = find_policy("trained", env_id).evaluate().scores
    assert list(scores) == pytest.approx(list(read_run(FOLDERS[env_id]).scores), rel=1e-6)


@pytest.mark.parametrize("env_id", SHORT)
def test_a_shipped_agent_plays_as_it_was_stored(env_id):
    plays_as_stored(env_id)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", sorted(set(FOLDERS) - set(SHORT)))
def test_a_shipped_agent_of_long_episodes_plays_as_it_was_stored(env_id):
    plays_as_stored(env_id)


def test_it_is_played_and_evaluated_by_name(tmp_path, capsys):
    video = str(tmp_path / "play.gif")
    env = ["--env", "tiltyard/InvertedPendulum-v5"]
    assert main(["play", *env, "--agent", "trained", "--steps", "12", "--episodes", "1", "--video", video]) == 0
    assert "12 steps" in capsys.readouterr().out
    assert main(["evaluate", "trained", *env, "--episodes", "4"]) == 0
    assert "4 held-out episodes" in capsys.readouterr().out


def test_an_environment_without_one_is_said(capsys):
    assert main(["play", "--env", "tiltyard/Countdown-v0", "--agent", "trained"]) != 0
    assert "unknown environment with a trained agent 'tiltyard/Countdown-v0'" in capsys.readouterr().err
    assert main(["evaluate", "trained"]) != 0
    assert "give --env ID" in capsys.readouterr().err
