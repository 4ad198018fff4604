"""Tuning: equal grids on seeds that no race reports, and a choice that says when it lies at the grid's edge."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tiltyard.agents.diverged import Diverged
from tiltyard.benchmarks.choices import merged
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.diverging import RECORD, read_diverged, recorded
from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.tuned import conditions
from tiltyard.benchmarks.race import RaceIncomplete, race
from tiltyard.benchmarks.runs import RUN, Run, read_run
from tiltyard.benchmarks.scores import area
from tiltyard.benchmarks.suites import Entry, Suite, Task, find
from tiltyard.benchmarks.tuning import Choice, Tuning, parse_grid, read_tuning, tune

TOML = """
name = "pendulum"
summary = "Two learners for a moment."
seeds = [0, 1]

[[tasks]]
env_id = "Pendulum-v1"
eval_episodes = 2
eval_points = 1

[[tasks.entries]]
agent = "sac"
budget = 110
seconds = 2
params = { batch_size = 8, policy_kwargs = { net_arch = [8] } }
"""


def choice(**scores: tuple[float, ...]) -> Choice:
    return Choice("task", "agent", "x", scores, None, 0, 0.0)


def test_the_best_mean_is_chosen_and_the_first_of_equals() -> None:
    assert choice(a=(0.0, 1.0), b=(0.6, 0.6), c=(0.9, 0.0)).best == "b"
    assert choice(a=(0.5,), b=(0.7,), c=(0.7,)).best == "b"


@pytest.mark.parametrize(("best", "edge"), [("a", True), ("b", False), ("c", True)])
def test_a_best_value_at_an_end_of_the_grid_is_said_to_be_there(best: str, edge: bool) -> None:
    scores = dict.fromkeys("abc", (0.1, 0.2)) | {best: (0.3, 0.2)}
    assert choice(**scores).at_edge is edge


def test_a_rate_at_which_training_diverges_has_failed_and_is_not_run_again(tmp_path: Path, capsys: Any) -> None:
    suite, out = tmp_path / "pendulum.toml", tmp_path / "tuning"
    suite.write_text(TOML.replace("budget = 110", "budget = 150"))
    line = ["tune", str(suite), "--grid", "learning_rate=1e-4,1e-3,1e30", "--seeds", "10000", "--out", str(out)]
    assert main(line) == 0
    page = capsys.readouterr().out
    assert "| diverged (1 of 1) |" in page
    assert "at the edge" not in page
    (one,) = read_tuning(out).choices
    assert list(one.tried) == [1e-4, 1e-3]
    assert one.diverged == {1e30: (1, 1)}
    assert one.grid == [1e-4, 1e-3, 1e30]
    assert one.runs == 3
    assert one.steps == 3 * 150
    assert 2 * 150 < one.trained < 3 * 150
    before = {path: path.stat().st_mtime_ns for path in out.glob(f"*/{RECORD}")}
    assert len(before) == 1
    assert main(line) == 0
    assert {path: path.stat().st_mtime_ns for path in out.glob(f"*/{RECORD}")} == before
    assert json.loads((out / "tuning.json").read_text())["choices"][0]["diverged"] == [[1e30, 1, 1]]


def test_a_run_that_diverged_under_other_versions_is_run_again(tmp_path: Path) -> None:
    suite = tmp_path / "pendulum.toml"
    suite.write_text(TOML)
    run = replace(find(str(suite)).runs(seeds=[10_000])[0], budget=150)
    run = replace(run, params={**run.params, "learning_rate": 1e30})
    with pytest.raises(Diverged, match="diverged within 102 steps.*lower the learning rate"):
        run.execute(tmp_path)
    found = read_diverged(run, tmp_path)
    assert found is not None
    assert found.timesteps == 102
    assert found.wall_seconds > 0
    record = json.loads((run.partial(tmp_path) / RUN).read_text())
    (run.partial(tmp_path) / RUN).write_text(json.dumps(record | {"versions": record["versions"] | {"torch": "0.1"}}))
    assert read_diverged(run, tmp_path) is None


def test_a_policy_that_is_not_finite_has_diverged_though_it_raises_no_error(tmp_path: Path) -> None:
    """The largest of Q-values that are not numbers is the first, so that DQN plays on."""
    params = {"learning_starts": 20, "buffer_size": 100, "learning_rate": 1e30, "policy_kwargs": {"net_arch": [8, 8]}}
    run = Run("CartPole-v1", "stable_baselines3:DQN", 10_000, 100, params, eval_episodes=1, eval_points=1)
    with pytest.raises(Diverged, match="diverged within 100 steps, parameters of the policy are not finite: lower"):
        run.execute(tmp_path)
    assert read_diverged(run, tmp_path) is not None


def test_a_run_without_steps_in_the_environment_does_not_count_them(tmp_path: Path) -> None:
    agent = SimpleNamespace(num_timesteps=0)
    with (
        pytest.raises(Diverged, match=r"^training diverged, what the policy computes is not finite: lower"),
        recorded(agent, tmp_path),
    ):
        raise FloatingPointError("overflow")


@pytest.mark.slow
def test_training_that_diverges_at_every_value_leaves_nothing_to_choose(tmp_path: Path) -> None:
    suite = tmp_path / "pendulum.toml"
    suite.write_text(TOML)
    with pytest.raises(ValueError, match="sac on Pendulum-v1 diverged at every value of learning_rate"):
        tune(str(suite), "learning_rate", (1e28, 1e29, 1e30), seeds=(10_000,), root=tmp_path / "tuning")


@pytest.mark.slow
def test_a_run_that_fails_for_another_reason_is_no_failed_trial(tmp_path: Path) -> None:
    suite, out = tmp_path / "pendulum.toml", tmp_path / "tuning"
    suite.write_text(TOML)
    rates = (1e-4, 1e-3, 1e30)
    blocked = find(str(suite)).runs(seeds=[10_000])[0]
    blocked = replace(blocked, params={**blocked.params, "learning_rate": 1e-4})
    out.mkdir()
    blocked.partial(out).write_text("a file where the run's folder should be")
    with pytest.raises(RaceIncomplete, match="NotADirectoryError|File exists|Not a directory") as caught:
        tune(str(suite), "learning_rate", rates, seeds=(10_000,), root=out)
    assert blocked.name in caught.value.failures
    assert len(caught.value.finished) == 1


@pytest.mark.parametrize(("best", "edge"), [(1e-4, True), (1e-3, False)])
def test_a_value_at_which_training_diverged_is_an_end_of_the_grid(best: float, edge: bool) -> None:
    scores: dict[float, tuple[float, ...]] = {1e-4: (0.1,), 1e-3: (0.1,)}
    one = Choice("task", "agent", "x", scores | {best: (0.3,)}, None, 0, 0.0, diverged={1e-2: (1, 2)})
    assert one.at_edge is edge
    assert one.runs == 4


def test_a_grid_that_is_widened_keeps_what_diverged() -> None:
    one = Choice("task", "agent", "x", {1e-4: (0.1,), 1e-3: (0.2,)}, None, 400, 4.0, diverged={1e-2: (1, 2)})
    wider = replace(one, tried={1e-3: (0.2,), 1e-5: (0.3,)}, diverged={1e-2: (1, 2), 1e-1: (2, 2)})
    (both,) = merged([Tuning(("a",), "1", (one,)), Tuning(("b",), "1", (wider,))]).choices
    assert both.grid == [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
    assert both.tried == {1e-5: (0.3,), 1e-4: (0.1,), 1e-3: (0.2,)}
    assert both.diverged == {1e-2: (1, 2), 1e-1: (2, 2)}
    assert both.steps == 600, "two of four values are new"


def test_a_grid_is_a_name_and_numbers() -> None:
    assert parse_grid("learning_rate=1e-4,3e-4,0.001") == ("learning_rate", [1e-4, 3e-4, 1e-3])
    assert parse_grid("n_steps=8,16,-1") == ("n_steps", [8, 16, -1])


@pytest.mark.parametrize("text", ["learning_rate", "=1,2,3", "learning rate=1,2", "gamma=0.9,high"])
def test_a_grid_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="grid"):
        parse_grid(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [1e-3, 1e-2]}, "at least three"),
        ({"values": [1e-3, 1e-3, 1e-2]}, "all different"),
        ({"seeds": (10_000, 7)}, "seed 7 is for races"),
    ],
)
def test_what_no_tuning_takes_is_refused_before_anything_runs(change: dict, message: str, tmp_path: Path) -> None:
    asked = {"values": [1e-4, 1e-3, 1e-2], "seeds": (10_000,), "root": tmp_path / "runs"}
    suite = tmp_path / "pendulum.toml"
    suite.write_text(TOML)
    with pytest.raises(ValueError, match=message):
        tune(str(suite), "learning_rate", **(asked | change))
    assert not (tmp_path / "runs").exists()


def test_a_choice_of_agents_and_environments_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    tasks = tuple(
        Task(env, (Entry(agent, 100, 1.0),)) for env, agent in (("Pendulum-v1", "sac"), ("CartPole-v1", "dqn"))
    )
    how = {"agents": ["dqn"], "envs": ["Pendulum-v1"], "root": tmp_path / "runs"}
    with pytest.raises(ValueError, match="suite two has dqn in none of Pendulum-v1"):
        tune(Suite("two", "", tasks, (0,)), "gamma", [0.9, 0.95, 0.99], **how)
    assert not (tmp_path / "runs").exists()


def test_two_entries_that_differ_in_the_tuned_setting_alone_are_refused(tmp_path: Path) -> None:
    entries = tuple(Entry("sac", 100, 1.0, {"learning_rate": rate}) for rate in (1e-3, 3e-3))
    suite = Suite("two", "", (Task("Pendulum-v1", entries),), (0,))
    with pytest.raises(ValueError, match="differ in nothing but learning_rate"):
        tune(suite, "learning_rate", [1e-4, 1e-3, 1e-2], root=tmp_path)


def test_every_value_runs_on_every_seed_and_all_scores_are_kept(tmp_path: Path, capsys) -> None:
    suite, out = tmp_path / "pendulum.toml", tmp_path / "tuning"
    suite.write_text(TOML + TOML[TOML.index("[[tasks]]") :].replace("Pendulum-v1", "MountainCarContinuous-v0"))
    with pytest.raises(KeyError, match="did you mean 'Pendulum-v1'"):
        tune(str(suite), "learning_rate", [1e-4, 1e-3, 1e-2], envs=["Pendulum-v2"], root=out)
    command = [
        "tune",
        str(suite),
        "--grid",
        "learning_rate=0.0001,0.001,0.01",
        "--seeds",
        "10000",
        "--envs",
        "Pendulum-v1",
    ]
    assert main([*command, "--out", str(out)]) == 0
    found = json.loads((out / "tuning.json").read_text())
    (one,) = found["choices"]
    assert [value for value, _ in one["tried"]] == [1e-4, 1e-3, 1e-2]
    assert all(len(scores) == 1 for _, scores in one["tried"])
    assert len({tuple(scores) for _, scores in one["tried"]}) == 3, "the rate made no difference"
    assert one["steps"] == 3 * 110
    assert str(one["best"]) in capsys.readouterr().out


@pytest.mark.slow
def test_conditions_of_one_agent_keep_apart_and_score_as_their_suite_says(tmp_path: Path) -> None:
    suite, out = tmp_path / "pendulum.toml", tmp_path / "tuning"
    two = TOML.replace("seeds", 'score = "area"\nseeds').replace("eval_points = 1", "eval_points = 2")
    entry = two[two.index("[[tasks.entries]]") :]
    suite.write_text(two + entry.replace("batch_size = 8", "batch_size = 16"))
    line = ["tune", str(suite), "--grid", "learning_rate=0.0001,0.001,0.01", "--seeds", "10000", "--out", str(out)]
    assert main(line) == 0
    tuning = read_tuning(out)
    assert [one.agent for one in tuning.choices] == ["sac, batch_size=8", "sac, batch_size=16"]
    runs = tune(str(suite), "learning_rate", [1e-4, 1e-3, 1e-2], seeds=(10_000,), root=out)
    assert [one.tried for one in runs] == [one.tried for one in tuning.choices]
    finished = {run.name: read_run(run.folder(out)) for run in _trials(str(suite))}
    for choice in tuning.choices:
        mine = [one for one in finished.values() if one.run.params["batch_size"] == choice.params["batch_size"]]
        assert sorted(scores for (scores,) in choice.tried.values()) == pytest.approx(sorted(map(area, mine)))
        assert all(len(one.curve) == 2 and one.curve[0][1] != one.curve[1][1] for one in mine)
    raced = race(str(suite), seeds=[0], root=tmp_path / "runs")
    found = conditions(tuning, leaderboard(raced, rng=np.random.default_rng(0)), across=False)
    assert [(one.name, one.choices[0].agent) for one in found] == [
        ("sac, batch_size=16", "sac, batch_size=16"),
        ("sac, batch_size=8", "sac, batch_size=8"),
    ]
    unnamed = Tuning((), "", tuple(replace(one, params=None) for one in tuning.choices))  # as records were before
    assert conditions(unnamed, leaderboard(raced, rng=np.random.default_rng(0)), across=False) == []


def _trials(suite: str) -> list[Run]:
    runs = find(suite).runs(seeds=[10_000])
    return [replace(run, params={**run.params, "learning_rate": rate}) for run in runs for rate in (1e-4, 1e-3, 1e-2)]


@pytest.mark.parametrize(("best", "edge"), [(1e-2, True), (1e-3, False), (1e-4, True)])
def test_the_ends_of_a_grid_are_its_smallest_and_largest_value(best: float, edge: bool) -> None:
    grid: dict[float, tuple[float, ...]] = {1e-3: (0.1,), 1e-2: (0.1,), 1e-4: (0.1,)}
    assert Choice("task", "agent", "x", grid | {best: (0.3,)}, None, 0, 0.0).at_edge is edge


def test_equal_means_are_said_to_be_equal() -> None:
    assert choice(a=(0.5,), b=(0.7,), c=(0.7,)).ties == ", equal to c"
    assert choice(a=(0.5,), b=(0.5,), c=(0.5,)).ties == ", equal to all others"
    assert choice(a=(0.5,), b=(0.7,), c=(0.6,)).ties == ""


def test_a_gap_of_one_run_is_not_one_of_identical_runs() -> None:
    one = Choice("task", "agent", "x", {1: (0.7,), 2: (0.1,)}, None, 0, 0.0, tests=(0.2,))
    assert one.gap_told == "0.500 [no interval below 3 seeds a side]"
    three = replace(one, tried={1: (0.7,) * 3, 2: (0.1,) * 3}, tests=(0.2,) * 3)
    assert three.gap_told == "0.500 [no interval: identical runs]"
    assert replace(one, tests=()).gap_told == ""


def test_another_tuning_takes_no_ones_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite, out = tmp_path / "pendulum.toml", tmp_path / "tuning"
    suite.write_text(TOML)
    line = ["tune", str(suite), "--seeds", "10000", "--out", str(out), "--grid"]
    assert main([*line, "learning_rate=0.001,0.0001,0.01"]) == 0
    assert "Mean raw return over seeds 10000" in capsys.readouterr().out
    before = (out / "tuning.json").read_bytes()
    for other in (["gamma=0.9,0.99,0.999"], ["learning_rate=0.001,0.0001,0.01", "--agents", "sac"]):
        assert main([*line, *other]) == 2
        assert "holds the results of another tuning" in capsys.readouterr().err
    assert (out / "tuning.json").read_bytes() == before
    assert main([*line, "learning_rate=0.001,0.0001,0.01"]) == 0, "the same one is read again"
