"""Environments of other packages in evaluation, videos and on the leaderboard."""

import math
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from rich.console import Console
from stable_baselines3 import A2C

from tiltyard import agents
from tiltyard.benchmarks import FinishedRun, Run, evaluate, evaluation, time_limit
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.evaluation import check_held_out, evaluation_env, success_of, view_of
from tiltyard.benchmarks.leaderboard import print_leaderboard, write_page
from tiltyard.benchmarks.loading import load_runs
from tiltyard.benchmarks.play import play
from tiltyard.benchmarks.race import _check_environments
from tiltyard.envs.errors import CannotBeMade
from tiltyard.wrappers import sb3_env

SHORT = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}


class Mine(A2C):
    """A class of somebody else's."""


class Says(gymnasium.Env[Any, Any]):
    """Ends at once; says how it went under the keyword given."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, word: str = "nothing", render_mode: str | None = None) -> None:
        self.word, self.render_mode = word, render_mode

    def render(self) -> Any:
        return np.zeros((8, 8, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(1, np.float32), float(action), True, False, {self.word: np.float32(action)}


@pytest.fixture
def says() -> Any:
    """The id under which :class:`Says` is registered."""
    gymnasium.register("Says-v0", entry_point=Says)
    yield "Says-v0"
    gymnasium.registry.pop("Says-v0")


class Endless(Says):
    """Never ends."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(1, np.float32), float(action), False, False, {}


@pytest.fixture
def endless() -> Any:
    """The id under which :class:`Endless` is registered, without a time limit."""
    gymnasium.register("Endless-v0", entry_point=Endless)
    yield "Endless-v0"
    gymnasium.registry.pop("Endless-v0")


def test_an_evaluation_gives_up_on_an_episode_that_nothing_ends(
    endless: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time_limit, "LONGEST", 50)
    monkeypatch.setattr(evaluation, "LONGEST", 50)
    words = "train --agent dqn --steps 20 --eval-episodes 2 --eval-points 1 --env"
    assert main([*words.split(), endless, "--out", str(tmp_path)]) == 2
    warned, refused = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tiltyard: ")]
    remedy = "register it with max_episode_steps, or wrap it in gymnasium.wrappers.TimeLimit"
    fails = "has no time limit, and an evaluation fails if one of its episodes does not end within 50 steps"
    assert warned == f"tiltyard: Endless-v0 {fails}: {remedy}"
    ended = "has not ended after 50 steps, and no time limit ends it"
    assert refused == f"tiltyard: an evaluation episode of Endless-v0 {ended}: {remedy}"
    limited = evaluate("random", endless, episodes=2, max_episode_steps=60)  # a limit of its own is no such case
    assert limited.lengths == (60, 60)


@pytest.mark.parametrize(
    ("env_id", "settings", "whether"),
    [
        ("Endless-v0", {}, True),
        ("Endless-v0", {"max_episode_steps": 60}, False),
        ("Wrapped-v0", {}, False),
        ("CartPole-v1", {}, False),
        ("tiltyard/Hopper-v5", {}, False),
    ],
)
def test_which_environments_have_no_time_limit(
    env_id: str, settings: dict[str, Any], whether: bool, endless: str
) -> None:
    gymnasium.register("Wrapped-v0", entry_point=lambda: gymnasium.wrappers.TimeLimit(Endless(), 60))
    try:
        env = sb3_env(env_id, 2, **settings)
        assert time_limit.is_endless(env) == whether
        env.close()
    finally:
        gymnasium.registry.pop("Wrapped-v0")


def test_a_race_warns_of_an_environment_without_a_time_limit(endless: str) -> None:
    with pytest.warns(UserWarning, match="Endless-v0 has no time limit, and an evaluation fails if"):
        _check_environments([Run(endless, "dqn", seed, 5) for seed in range(2)])


@pytest.mark.parametrize("word", ["success", "is_success", "nothing"])
def test_success_is_what_the_environment_says(word: str, says: str) -> None:
    found = evaluate("random", says, episodes=40, word=word)
    assert set(found.scores) == {0.0, 1.0}
    if word == "nothing":
        assert found.successes == ()
        assert math.isnan(found.success_rate)
    else:
        assert found.successes == tuple(score == 1 for score in found.scores)
        assert found.success_rate == found.mean
    assert success_of({}) is None


def test_held_out_means_other_seeds_where_there_is_no_split(monkeypatch: pytest.MonkeyPatch) -> None:
    training, evaluation = sb3_env("CartPole-v1", 2, seed=7), evaluation_env("CartPole-v1", "ppo", 3)
    check_held_out(training, evaluation, splits=False)
    evaluation.unwrapped.seed_envs([10**9, 10**9 + 1, 10**9 + 2])
    first = gymnasium.make("CartPole-v1").reset(seed=10**9 + 1)[0]
    np.testing.assert_array_equal(evaluation.reset()[1], first)
    training.seed(10**9 - 1)
    with pytest.raises(ValueError, match="training seeds end below 1,000,000,000"):
        check_held_out(training, evaluation, splits=False)


def test_there_is_no_expert_to_evaluate_or_play(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="CartPole-v1 has no expert: evaluate an agent, or random"):
        evaluate("expert", "CartPole-v1", episodes=2)
    with pytest.raises(ValueError, match="CartPole-v1 has no expert: play an agent, or random"):
        play("CartPole-v1", video=tmp_path / "a.gif")
    with pytest.raises(ValueError, match="unknown policy 'expret'; did you mean 'expert'"):
        view_of("expret", "CartPole-v1")


def test_a_video_of_an_environment_that_says_nothing_of_success(says: str, tmp_path: Path) -> None:
    (episode,) = play(says, "random", video=tmp_path / "a.gif", episodes=1)
    assert (episode.success, episode.steps) == (None, 1)
    assert (tmp_path / "a.gif").stat().st_size > 100


def test_no_video_of_an_environment_without_frames(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    video = ["--agent", "random", "--video", str(tmp_path / "a.gif")]
    assert main(["play", "--env", "CartPole-v1", *video]) == 2
    assert 'tiltyard: pygame is not installed, run `pip install "gymnasium[' in capsys.readouterr().err
    monkeypatch.setattr(Says, "metadata", {"render_modes": []})
    with pytest.raises(ValueError, match="Says-v0 cannot be shown: its class names no render mode 'rgb_array'"):
        play(says, "random", video=tmp_path / "a.gif")


class Fails(Says):
    """Cannot be made."""

    def __init__(self, level: int = 0, render_mode: str | None = None) -> None:
        raise KeyError(f"no data of level {level}")


@pytest.mark.parametrize(
    "words",
    [
        ["train", "--agent", "ppo", "--steps", "16", "--set", 'env_kwargs={"level":3}', "--out", "OUT"],
        ["evaluate", "random"],
        ["play", "--agent", "random", "--video", "OUT/a.gif"],
    ],
)
def test_what_a_constructor_raises_is_told_in_a_sentence(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gymnasium.register("Fails-v0", Fails)
    try:
        assert main([*(word.replace("OUT", str(tmp_path)) for word in words), "--env", "Fails-v0"]) == 2
        level, given = (3, " with level=3") if words[0] == "train" else (0, "")
        (said,) = [line for line in capsys.readouterr().err.splitlines() if "cannot be made" in line]
        assert said == f"tiltyard: environment Fails-v0{given} cannot be made: KeyError: no data of level {level}"
        with pytest.raises(CannotBeMade, match="no data of level 0") as raised:
            sb3_env("Fails-v0", 1)
        assert isinstance(raised.value.__cause__, KeyError)
        with pytest.raises(CannotBeMade, match="^environment Fails-v0 cannot be made: KeyError: no data of level 0$"):
            _check_environments([Run("Fails-v0", "dqn", 0, 5)])
    finally:
        gymnasium.registry.pop("Fails-v0")


def test_keywords_that_a_constructor_does_not_have_are_told_too() -> None:
    with pytest.raises(CannotBeMade, match="environment CartPole-v1 with lenght=3 cannot be made: TypeError: .*lenght"):
        sb3_env("CartPole-v1", 1, lenght=3)


def test_a_checkpoint_of_another_packages_class_is_loaded_with_trust_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"{__name__}:Mine"
    agents.make(name, "CartPole-v1", n_steps=4).save(tmp_path / "mine")
    agents.make("stable_baselines3:A2C", "CartPole-v1", n_steps=4).save(tmp_path / "theirs")
    words = ["--env", "CartPole-v1", "--episodes", "2"]
    assert main(["evaluate", str(tmp_path / "mine"), *words]) == 2
    assert f"names {name}: using it imports the module" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "mine"), *words, "--trust"]) == 0
    assert main(["evaluate", str(tmp_path / "theirs"), *words]) == 0


def finished(env_id: str, agent: str, seed: int, score: float, successes: tuple[bool, ...] = ()) -> FinishedRun:
    run = Run(env_id, agent, seed, 1000, eval_episodes=2)
    curve = ((500, score / 2, math.nan), (1000, score, math.nan))
    return FinishedRun(run, (score, score), successes, score, curve, {}, 1.0, "", "", Path(run.name))


def test_the_leaderboard_shows_raw_returns_by_themselves(tmp_path: Path) -> None:
    runs = [finished("CartPole-v1", "ppo", seed, 100.0 + seed) for seed in range(3)]
    runs += [finished("CartPole-v1", "stable_baselines3:A2C", seed, 50.0 + seed) for seed in range(3)]
    runs += [finished("Acrobot-v1", "ppo", seed, -200.0 - seed) for seed in range(3)]
    for env_id in ("tiltyard/Hopper-v5", "tiltyard/Highway-v0"):
        runs += [finished(env_id, "ppo", seed, 0.5 + seed / 10, (True, False)) for seed in range(3)]
    shown = StringIO()
    board = print_leaderboard(runs, console=Console(file=shown, width=120))
    assert [section.title for section in board.sections] == [
        "All domains",
        "Driving",
        "Robotics",
        "Acrobot-v1, raw returns",
        "CartPole-v1, raw returns",
    ]
    everything, *_, acrobot, cartpole = board.sections
    assert set(everything.tasks) == {"tiltyard/Hopper-v5", "tiltyard/Highway-v0"}
    assert [(one.agent, one.metrics["mean"].value) for one in cartpole.standings] == [
        ("ppo", 101.0),
        ("stable_baselines3:A2C", 51.0),
    ]
    assert acrobot.standings[0].metrics["iqm"].value == pytest.approx(-201.0)
    assert [str(result.success) for result in board.results if "CartPole" in result.task] == ["-", "-"]
    assert "nan" not in shown.getvalue()
    page = write_page(runs, tmp_path).read_text()
    assert "nan" not in page.replace("finance", "")
    part = page[page.index("<h2>CartPole-v1, raw returns") : page.index('id="reading"')]
    assert "normalised" not in part
    assert "1 expert" not in part


def test_a_run_keeps_its_names_and_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "train --env CartPole-v1 --agent stable_baselines3:PPO --steps 16 --eval-episodes 2 --eval-points 2"
    sets = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    assert main([*words.split(), *sets, "--out", str(tmp_path)]) == 0
    assert "the environment does not say" in capsys.readouterr().out
    (run,) = load_runs(tmp_path)
    assert run.folder.name.startswith("CartPole-v1-stable_baselines3.PPO-s0-")
    assert run.run.command.startswith("tiltyard train --env CartPole-v1 --agent stable_baselines3:PPO ")
    assert run.successes == ()
    assert run.normalised == sum(run.scores) / 2
    assert [math.isnan(success) for _, _, success in run.curve] == [True, True]
