"""A run is evaluated and played as it was: its own task, its own problems, its own way of acting."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard.benchmarks import Run, commands
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.runs import FinishedRun

SMALL = {"policy_kwargs": {"net_arch": [16]}}
WRITES = {"policy": "transformer-100k", "group_size": 2, "prompts_per_batch": 2, "max_answer_tokens": 24}
RUNS = [
    Run("tiltyard/Hopper-v5", "sac", 0, 80, {**SMALL, "buffer_size": 1000, "env_kwargs": {"healthy_reward": 3.0}}),
    Run("tiltyard/Highway-v0", "dqn", 10_000, 64, {**SMALL, "buffer_size": 1000}),
    Run("tiltyard/Hopper-v5", "ppo", 3, 64, {**SMALL, "n_steps": 32, "n_envs": 2, "batch_size": 32}),
    Run("tiltyard/Maze-v0", "grpo", 1, 8, {**WRITES, "env_kwargs": {"level": 2}}),
    Run("tiltyard/ChainSum-v0", "ppo", 1, 8, {**WRITES, "warm_start_steps": 2}),
    Run("tiltyard/ChainSum-v0", "language:gspo", 1, 8, {**WRITES, "warm_start_steps": 2}),
]


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: run.name)
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    run = request.param
    return replace(run, eval_episodes=6, eval_points=2).execute(tmp_path_factory.mktemp("runs"))


def test_evaluating_a_run_gives_its_final_score_bit_for_bit(
    finished: FinishedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = commands.find_policy(str(finished.folder), None)
    found = policy.evaluate()
    assert found.scores == finished.scores
    assert found.successes == finished.successes
    assert policy.evaluate(3).scores == pytest.approx(finished.scores[:3], rel=1e-4)  # smaller batches round otherwise
    assert main(["evaluate", str(finished.folder)]) == 0
    said = capsys.readouterr().out
    assert f"{sum(finished.scores) / 6:.3f}" in said
    assert f"{finished.run.task}, 6 held-out episodes, best actions" in " ".join(said.split())


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    params = {**RUNS[0].params, "eval_sampled": True, "eval_group": 2}
    run = replace(RUNS[0], params=params, eval_episodes=6, eval_points=1)
    return run.execute(tmp_path_factory.mktemp("sampled"))


def test_a_run_of_sampled_actions_is_evaluated_and_played_by_sampled_actions(
    sampled: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = commands.find_policy(str(sampled.folder), None)
    assert not policy.deterministic
    assert policy.group == 2
    assert policy.evaluate().scores != replace(policy, deterministic=True).evaluate().scores
    asked = []
    predict = type(policy.agent).predict

    def noted(*args: Any, deterministic: bool, **kwargs: Any) -> Any:
        asked.append(deterministic)
        return predict(*args, deterministic=deterministic, **kwargs)

    monkeypatch.setattr(type(policy.agent), "predict", noted)
    line = ["play", "--agent", str(sampled.folder), "--video", str(tmp_path / "a.gif"), "--steps", "3"]
    assert main(line) == 0
    assert asked == [False] * 3


def test_evaluation_says_which_actions_were_taken_where_an_agent_chooses(
    sampled: FinishedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(sampled.folder)]) == 0
    assert "6 held-out episodes, sampled actions" in " ".join(capsys.readouterr().out.split())
    assert main(["evaluate", "random", "--env", "tiltyard/Hopper-v5", "--episodes", "2"]) == 0
    assert "actions" not in capsys.readouterr().out


def test_a_run_is_played_in_its_own_task_on_its_own_problems(
    finished: FinishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["play", "--agent", str(finished.folder), "--video", str(tmp_path / "a.gif"), "--episodes", "1"]
    assert main(line) == 0
    assert f"return {finished.scores[0]:.2f}," in capsys.readouterr().out  # the first problem of the evaluation


def test_another_environment_and_other_episodes_may_be_asked_for(sampled: FinishedRun) -> None:
    elsewhere = commands.find_policy(str(sampled.folder), "tiltyard/Walker2d-v5")
    assert (elsewhere.task, elsewhere.env_kwargs, elsewhere.episodes) == ("tiltyard/Walker2d-v5", {}, 6)
    own = commands.find_policy(str(sampled.folder), "tiltyard/Hopper-v5")
    assert own.env_kwargs == {"healthy_reward": 3.0}
    assert own.task == "tiltyard/Hopper-v5 with healthy_reward=3.0"
    assert len(own.evaluate(2).scores) == 2
    expert = commands.find_policy("expert", "tiltyard/Hopper-v5")
    assert (expert.episodes, expert.deterministic, expert.env_kwargs) == (100, True, {})


def test_a_damaged_run_is_not_evaluated(
    sampled: FinishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(sampled.folder, tmp_path / sampled.folder.name)
    (folder / "final.json").write_text("{}")
    assert main(["evaluate", str(folder)]) == 2
    assert "is damaged or from an incompatible version ('scores' is missing)" in capsys.readouterr().err
    link = tmp_path / "best"
    link.symlink_to(sampled.folder)
    assert main(["evaluate", str(link), "--episodes", "3"]) == 0  # a link may have any name
