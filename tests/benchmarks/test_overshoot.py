"""Runs that train for longer than their budget are told with both numbers."""

import csv
import json
import math
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tiltyard.agents.build import rollout_steps
from tiltyard.agents.catalogue import find
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.exports import FORMATS
from tiltyard.benchmarks.leaderboard import print_leaderboard, write_page
from tiltyard.benchmarks.leaderboard.report import write_report
from tiltyard.benchmarks.loading import load_runs
from tiltyard.benchmarks.overshoot import is_far, length_of, remark_on, rollout_of
from tiltyard.benchmarks.runs import CURVE, FINAL, FinishedRun, Run
from tiltyard.benchmarks.suites import Comparison, Entry, Suite, Task
from tiltyard.benchmarks.tuning import read_tuning
from tiltyard.benchmarks.verify import verify

CARTPOLE, HIGHWAY = "CartPole-v1", "tiltyard/Highway-v0"
SIZES = ["--eval-episodes", "2", "--eval-points", "1"]


def finished(agent: str, seed: int, steps: int, budget: int = 300) -> FinishedRun:
    run = Run(CARTPOLE, agent, seed, budget, eval_episodes=2, eval_points=1)
    return FinishedRun(run, (9.0, 9.0 + seed), (), 9.0 + seed / 2, ((steps, 9.0, math.nan),), {}, 1.0, "", "", Path())


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two real runs of 300 steps: PPO with rollouts of 256 steps, and DQN."""
    out = tmp_path_factory.mktemp("runs")
    line = ["train", "--env", CARTPOLE, "--steps", "300", *SIZES, "--out", str(out), "--agent"]
    assert main([*line, "ppo", "--set", "n_steps=128", "--set", "n_epochs=1", "--n-envs", "2"]) == 0
    assert main([*line, "dqn"]) == 0
    return out


@pytest.mark.parametrize(
    ("agent", "env_id", "settings", "steps"),
    [
        ("ppo", CARTPOLE, {}, 2048),  # SB3's own n_steps, one environment
        ("ppo", CARTPOLE, {"n_steps": 128, "n_envs": 3}, 384),
        ("stable_baselines3:A2C", CARTPOLE, {"n_envs": 4}, 20),
        ("fast-ppo", CARTPOLE, {}, 64 * 128),
        ("dqn", CARTPOLE, {}, None),  # its n_steps are those of returns
        ("sac", "tiltyard/Hopper-v5", {}, None),
        ("grpo", "tiltyard/Countdown-v0", {}, None),
    ],
)
def test_a_rollout_is_n_steps_of_each_environment(
    agent: str, env_id: str, settings: dict[str, int], steps: int | None
) -> None:
    domain = "text" if agent == "grpo" else None
    assert rollout_steps(find(agent, domain), env_id, settings) == steps
    assert rollout_of(Run(env_id, agent, 0, 300, settings)) == steps


def test_more_than_a_twentieth_is_told() -> None:
    assert not is_far(315, 300)
    assert is_far(316, 300)
    assert not is_far(5, 0)  # from data alone
    runs = [finished("ppo", seed, 300 + 15 * seed) for seed in range(3)]
    assert length_of(runs[:2]) == "300 steps"
    assert remark_on(runs[:2]) == ""
    assert length_of(runs) == "300 steps (trained for 300 to 330)"
    assert remark_on(runs) == "trained for 300 to 330 steps where 300 were asked for"
    assert length_of([finished("ppo", 0, 2048)]) == "300 steps (trained for 2,048)"


def test_it_is_said_before_the_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["train", "--env", CARTPOLE, "--agent", "ppo", *SIZES, "--set", "n_steps=64", "--set", "n_epochs=1"]
    warned = "tiltyard: ppo in CartPole-v1 will train for 64 steps where 50 are asked for, because a rollout of its"
    assert main([*line, "--steps", "50", "--out", str(tmp_path)]) == 0
    assert warned in capsys.readouterr().err
    assert main([*line, "--steps", "64", "--out", str(tmp_path)]) == 0
    assert "will train for" not in capsys.readouterr().err
    entries = 'entries = [{ agent = "ppo", budget = 50, params = { n_steps = 64, n_epochs = 1 } }]'
    task = f'env_id = "CartPole-v1"\neval_episodes = 2\neval_points = 1\n{entries}\n'
    (tmp_path / "two.toml").write_text(f"seeds = [1, 2]\n[[tasks]]\n{task}")
    assert main(["race", str(tmp_path / "two.toml"), "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count(warned) == 1


def test_boards_and_tables_tell_both_numbers(trained: Path, tmp_path: Path) -> None:
    runs = load_runs(trained)
    shown = StringIO()
    print_leaderboard(runs, console=Console(file=shown, width=100))
    assert "ppo: trained for 512 steps where 300 were asked for." in shown.getvalue()
    assert "dqn: trained" not in shown.getvalue()
    assert [word in shown.getvalue() for word in ("(trained for ", "512)")] == [True, True]
    page = write_page(runs, tmp_path)
    assert '<td class="n">300 (trained for 512)</td>' in page.read_text()
    assert '"300 steps (trained for 512)"' in (tmp_path / "explore.html").read_text()
    FORMATS["csv"](runs, tmp_path)
    rows = list(csv.DictReader((tmp_path / "runs.csv").open(encoding="utf-8")))
    assert {row["agent"]: (row["budget"], row["timesteps"]) for row in rows} == {
        "ppo": ("300", "512"),
        "dqn": ("300", "300"),
    }
    entries = (Entry("ppo", 300, 1.0, runs[0].run.params | runs[1].run.params), Entry("dqn", 300, 1.0))
    task = Task(CARTPOLE, entries, eval_episodes=2, eval_points=1)
    suite = Suite("mine", "", (task,), (0,), comparisons=(Comparison("Both", (CARTPOLE,), "dqn"),))
    text = write_report(suite, runs, tmp_path / "page", command="").read_text()
    assert "| 300 steps (trained for 512) |" in text
    assert text.count("trained for") == 1


def test_verify_allows_one_rollout_of_the_runs_settings(trained: Path) -> None:
    found = {run.run.agent: verify(run.folder, play=False) for run in load_runs(trained)}
    said = {agent: {check.name: check for check in one.checks}["budget"] for agent, one in found.items()}
    assert said["ppo"].said == "trained for 512 steps of 300 steps, because a rollout of its settings is 256"
    assert said["dqn"].said == "trained for 300 steps of 300 steps"


@pytest.mark.slow
def test_tunings_table_tells_both_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = 'entries = [{ agent = "ppo", budget = 50, params = { n_steps = 64, n_epochs = 1 } }]'
    task = f'env_id = "CartPole-v1"\neval_episodes = 2\neval_points = 1\n{entries}\n'
    (tmp_path / "one.toml").write_text(f"seeds = [0]\n[[tasks]]\n{task}")
    out = tmp_path / "tuning"
    line = ["tune", str(tmp_path / "one.toml"), "--grid", "gamma=0.8,0.9,0.99", "--seeds", "10000", "--out", str(out)]
    assert main(line) == 0
    assert "| 150 (trained for 192) |" in capsys.readouterr().out
    assert read_tuning(out).choices[0].trained == 192


def test_a_run_beyond_a_rollout_is_a_fault(trained: Path, tmp_path: Path) -> None:
    """600 steps are more than the 300 of the budget and the 256 of a rollout."""
    (of_ppo,) = (run for run in load_runs(trained) if run.run.agent == "ppo")
    folder = tmp_path / of_ppo.folder.name
    shutil.copytree(of_ppo.folder, folder)
    final = json.loads((folder / FINAL).read_text())
    (folder / FINAL).write_text(json.dumps({**final, "timesteps": 600}))
    with np.load(folder / CURVE) as points:
        np.savez(folder / CURVE, **{**points, "timesteps": np.array([600])})
    (fault,) = verify(folder, play=False).faults[:1]
    assert fault.name == "budget"
    wrong = "it trained for 600 steps where the run says 300, by more than a rollout of its settings, 256 steps"
    assert fault.said == wrong
