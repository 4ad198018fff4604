"""Suites from TOML files."""

from pathlib import Path

import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.suites import Entry, Recipe, Suite, Task, find, read_suite

WHOLE = """
summary = "Two tasks"
seeds = [3, 4]
score = "area"
paired = true

[[tasks]]
env_id = "CartPole-v1"
eval_episodes = 7
eval_sampled = true
eval_group = 7
entries = [{ agent = "ppo", budget = 100, seconds = 2, params = { gamma = 0.9 } }]

[[tasks]]
env_id = "tiltyard/Hopper-v5"
dataset = "tiltyard/hopper/medium-v0"
[[tasks.entries]]
agent = "bc"
budget = 0
params = { offline_steps = 50 }

[datasets."tiltyard/hopper/medium-v0"]
env_id = "tiltyard/Hopper-v5"
policy = "medium"
"""


def test_a_file_is_the_suite_that_its_fields_make(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(WHOLE)
    suite = find(str(tmp_path / "two.toml"))
    assert suite == Suite(
        "two",
        "Two tasks",
        (
            Task(
                "CartPole-v1", (Entry("ppo", 100, 2, {"gamma": 0.9}),), eval_episodes=7, eval_sampled=True, eval_group=7
            ),
            Task(
                "tiltyard/Hopper-v5", (Entry("bc", 0, 0.0, {"offline_steps": 50}),), dataset="tiltyard/hopper/medium-v0"
            ),
        ),
        (3, 4),
        {"tiltyard/hopper/medium-v0": Recipe("tiltyard/Hopper-v5", "medium")},
        score="area",
        paired=True,
    )
    assert [(run.agent, run.seed, run.budget) for run in suite.runs()][:2] == [("ppo", 3, 100), ("ppo", 4, 100)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seeds = [3, 4]", "", "a suite needs seeds"),
        ('score = "area"', 'score = "best"', "score of a suite is final or area or last-five, got 'best'"),
        ("paired = true", "paired = 1", "paired of a suite is of kind bool, got 1"),
        ("seeds = [3, 4]", "seeds = 3", "seeds of a suite is of kind list, got 3"),
        ("seeds = [3, 4]", "seeds = ['3']", "seeds of a suite holds values of kind int, got '3'"),
        ("seeds = [3, 4]", "seeds = [true]", "seeds of a suite holds values of kind int, got True"),
        ("eval_episodes", "eval_episode", "unknown field of a task 'eval_episode'; did you mean 'eval_episodes'"),
        ("eval_episodes = 7", "eval_episodes = 7.5", "eval_episodes of a task is of kind int, got 7.5"),
        ("budget = 100, ", "", "an entry needs budget"),
        ("{ gamma = 0.9 }", "0.9", "params of an entry is of kind table, got 0.9"),
        ('[[tasks]]\nenv_id = "CartPole-v1"', '[tasks]\nenv_id = "CartPole-v1"', "holds no suite"),
        ('"tiltyard/Hopper-v5"\npolicy', "3\npolicy", "env_id of a recipe is of kind str, got 3"),
        ('summary = "Two tasks"', "summary = ", "holds no suite: Invalid value"),
        ('datasets."tiltyard/hopper/medium-v0"', "datasets", "a recipe is a table, got 'tiltyard/Hopper-v5'"),
        ("eval_group = 7", "eval_group = 0", "eval_group of task CartPole-v1 is at least 1"),
        ("eval_group = 7", "eval_group = -3", "episodes of each evaluation problem, got -3"),
        ("seeds = [3, 4]", "seeds = []", "suite bad has no seeds"),
        ("[{ agent", "[] # [{ agent", "task CartPole-v1 of suite bad has no entries"),
        ('summary = "Two tasks"', "comparisons = 3", "comparisons are tables, written [[comparisons]], got 3"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_place(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in WHOLE
    (tmp_path / "bad.toml").write_text(WHOLE.replace(old, new))
    with pytest.raises(ValueError, match="bad.toml holds no suite: ") as error:
        read_suite(tmp_path / "bad.toml")
    assert says in str(error.value)


def test_a_file_without_tasks_is_no_suite(tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text("seeds = [0]\n")
    with pytest.raises(ValueError, match=r"none.toml holds no suite: suite none has no tasks: name an environment"):
        read_suite(tmp_path / "none.toml")


SHORT = """
seeds = [0]
[[tasks]]
env_id = "CartPole-v1"
eval_episodes = 2
eval_points = 1
entries = [{ agent = "dqn", budget = 50 }, { agent = "ppo", budget = 50 }]
[[comparisons]]
title = "Both"
tasks = ["CartPole-v1"]
reference = "dqn"
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('reference = "dqn"', 'reference = "sac"', "comparison 'Both' of suite bad: unknown agent 'sac'"),
        ('tasks = ["CartPole-v1"]', 'tasks = ["CartPole-v2"]', "comparison 'Both' of suite bad: unknown task"),
        ("seeds = [0]", 'seeds = [0]\nrepeats = "text-v2-pol"', "what suite bad repeats: unknown suite 'text-v2-pol'"),
        ("eval_points = 1", "eval_points = 1\nenv_kwargs = { suton_barto_reward = true }", "environment CartPole"),
    ],
)
def test_what_cannot_be_compared_or_made_is_refused_before_any_run(
    old: str, new: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in SHORT
    text = SHORT.replace(old, new)
    (tmp_path / "bad.toml").write_text(text.partition("[[comparisons]]")[0] if "env_kwargs" in new else text)
    assert main(["race", str(tmp_path / "bad.toml"), "--seeds", "0", "--out", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"tiltyard: {says}")
    assert not (tmp_path / "runs").exists()


def test_a_file_that_is_no_text_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "bin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bin.toml holds no suite: it is no text in UTF-8$"):
        read_suite(tmp_path / "bin.toml")


def test_neither_a_name_nor_a_file() -> None:
    with pytest.raises(FileNotFoundError, match="there is no suite file nowhere.toml"):
        find("nowhere.toml")
    with pytest.raises(KeyError, match=r"unknown suite 'smok'; did you mean 'smoke'.*\.toml file"):
        find("smok")
