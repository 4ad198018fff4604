"""Settings tuned for environments are data, named and dated; without them agents have their papers' values."""

import json
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tiltyard.agents import make, presets
from tiltyard.agents.catalogue import ROWS, find
from tiltyard.agents.settings import check_setting, check_settings
from tiltyard.benchmarks import Run
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.suites import find as suite
from tiltyard.envs.catalogue import ROWS as ENVIRONMENTS

FROZEN = {
    "control-v1": "72799a1bb8c49f6c",
    "general-v1": "22ef2e093761d052",
    "smoke": "9c147f6329072aa9",
    "swimmer-v1": "5732f12ae68cbbdc",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in presets.FOLDER.glob("*.toml")))
def test_a_released_preset_is_frozen(name: str) -> None:
    data = tomllib.loads((presets.FOLDER / f"{name}.toml").read_text())
    digest = sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:16]
    assert FROZEN[name] == digest, "runs were published with it: leave it, and put other settings in another file"


def test_every_rule_speaks_of_agents_and_environments_that_there_are() -> None:
    agents, places = (
        {row.name for row in ROWS},
        {"*"} | {env.id for env in ENVIRONMENTS} | {e.domain for e in ENVIRONMENTS},
    )
    for preset in presets.presets().values():
        assert set(preset.environments) <= places
        for rule in preset.rules:
            assert set(rule.agents) <= agents
            assert set(rule.environments) <= places


def test_every_environment_has_one_default() -> None:
    named = [scope for preset in presets.presets().values() if preset.default for scope in preset.environments]
    assert len(named) == len(set(named))
    assert str(presets.find("auto", "tiltyard/Ant-v5")).startswith("control-v1 of 20")
    assert str(presets.find("auto", "CartPole-v1")).startswith("general-v1")


@pytest.mark.parametrize("row", [row for row in ROWS if not row.speaks], ids=lambda row: row.name)
def test_all_settings_of_presets_are_accepted(row: Any) -> None:
    for env in ENVIRONMENTS:
        for preset in presets.presets():
            if env.domain in row.domains and (set(presets.presets()[preset].environments) & {env.id, env.domain, "*"}):
                check_settings(row.load(), row.settings_for(env.id, preset))
                check_setting("n_envs", row.n_envs_for(env.id, preset), int, of=row.name)


def test_swimmer_has_long_horizons_of_ppo_and_everything_else_of_robots() -> None:
    swimmer, hopper = "tiltyard/Swimmer-v5", "tiltyard/Hopper-v5"
    assert str(presets.find("auto", swimmer)).startswith("swimmer-v1")
    ours = find("fast-ppo")
    assert ours.settings_for(swimmer)["gamma"] == 0.9999
    assert "gamma" not in ours.settings_for(hopper)
    (raced,) = (
        one
        for one in suite("control-v2-swimmer-rollouts").tasks[0].entries
        if "n_envs=16, gamma=0.9999, gae_lambda=0.98" in one.label
    )
    assert {**ours.settings_for(swimmer), "n_envs": ours.n_envs_for(swimmer), "preset": "none"} == raced.params
    for row in ROWS:
        if row.name != "fast-ppo" and not row.speaks and "robotics" in row.domains:
            assert row.settings_for(swimmer) == row.settings_for(swimmer, "control-v1"), row.name
            assert row.n_envs_for(swimmer) == row.n_envs_for(swimmer, "control-v1"), row.name


def test_sb3s_ppo_has_the_same_settings_under_both_of_its_names() -> None:
    for env_id in ("tiltyard/Hopper-v5", "tiltyard/Phone-v0", "tiltyard/Highway-v0", "CartPole-v1"):
        one, other = find("ppo"), find("sb3-ppo")
        assert one.load() is other.load()
        assert one.settings_for(env_id if "/" in env_id else "") == other.settings_for(env_id if "/" in env_id else "")
        assert one.n_envs_for(env_id) == other.n_envs_for(env_id) if "/" in env_id else True
    assert find("sb3-ppo").settings_for("tiltyard/Hopper-v5")["n_steps"] == 256


def test_without_a_preset_agents_have_the_papers_values() -> None:
    tuned, plain = (
        make("cal-ql", "tiltyard/Hopper-v5", buffer_size=100),
        make("cal-ql", "tiltyard/Hopper-v5", preset=None, buffer_size=100),
    )
    assert (tuned.n_actions, tuned.n_envs, tuned.learning_rate) == (4, 4, 1e-3)
    assert (plain.n_actions, plain.n_envs, plain.learning_rate) == (10, 1, 3e-4)
    assert find("serl").settings_for("tiltyard/Ant-v5", None)["critic_subset"] == 2  # what makes it RLPD
    assert "target_entropy" not in find("serl").settings_for("tiltyard/Ant-v5", "none")
    assert find("awr").settings_for("CartPole-v1" and "", "auto") == {"train_freq": 512}


def test_a_preset_may_be_named() -> None:
    assert find("sac").settings_for("tiltyard/Hopper-v5", "general-v1") == {"gradient_steps": -1}
    with pytest.raises(ValueError, match="unknown preset 'contro-v1'; did you mean 'control-v1'"):
        make("sac", "tiltyard/Hopper-v5", preset="contro-v1")
    with pytest.raises(ValueError, match="preset smoke is for gui, driving, not for tiltyard/Hopper-v5"):
        make("sac", "tiltyard/Hopper-v5", preset="smoke")


def test_a_file_of_rules_is_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old-v1.toml").write_text(
        'date = 2020-01-01\nenvironments = ["robotics"]\n[[rules]]\nagents = ["sac"]\nn_envs = 2\n'
        "settings = { gamma = 0.9, policy_kwargs = { n_critics = 3 } }\n"
    )
    (tmp_path / "old-v2.toml").write_text(
        'date = 2020-01-02\nenvironments = ["robotics"]\nextends = "old-v1"\ndefault = false\n[[rules]]\n'
        'agents = ["sac"]\nenvironments = ["tiltyard/Ant-v5"]\nn_envs = 3\n'
        "settings = { gamma = 0.8, policy_kwargs = { net_arch = [8] } }\n"
    )
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    presets.presets.cache_clear()
    try:
        row = find("sac")
        assert row.settings_for("tiltyard/Ant-v5")["gamma"] == 0.9
        assert row.settings_for("tiltyard/Ant-v5", "old-v2") == {
            "gamma": 0.8,
            "policy_kwargs": {"n_critics": 3, "net_arch": [8]},
        }
        assert [row.n_envs_for(f"tiltyard/{name}-v5", "old-v2") for name in ("Ant", "Hopper")] == [3, 2]
        assert str(presets.find("old-v2", "tiltyard/Ant-v5")) == "old-v2 of 2020-01-02"
    finally:
        presets.presets.cache_clear()


def test_make_says_which_settings_it_uses_where_agents_speak(capsys: pytest.CaptureFixture[str]) -> None:
    make("sac", "tiltyard/Hopper-v5", buffer_size=100, verbose=1)
    assert "settings of preset control-v1 of 2026-11-21" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said", "params"),
    [
        ([], "sac in tiltyard/PointMaze-v0: settings of preset control-v1 of 2026-11-21 (--preset chooses)", {}),
        (["--preset", "none"], "sac in tiltyard/PointMaze-v0: the paper's values, no preset", {"preset": "none"}),
    ],
)
def test_train_says_which_settings_it_uses(
    options: Any, said: str, params: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "train --env tiltyard/PointMaze-v0 --agent sac --steps 4 --eval-episodes 1 --eval-points 1 --out".split()
    assert main([*command, str(tmp_path), "--set", "buffer_size=100", *options]) == 0
    assert said in capsys.readouterr().out
    (folder,) = tmp_path.iterdir()
    record = json.loads((folder / "run.json").read_text())
    assert record["run"]["params"] == {"buffer_size": 100, **params}
    assert record["settings"] in said
    assert ("--set preset=none" in record["command"]) == bool(params)


def test_an_unknown_preset_is_refused_before_a_run_begins() -> None:
    with pytest.raises(ValueError, match="unknown preset 'x'"):
        Run("tiltyard/PointMaze-v0", "sac", 0, 10, {"preset": "x"}).check()
    with pytest.raises(TypeError, match="preset must be"):
        Run("tiltyard/PointMaze-v0", "sac", 0, 10, {"preset": 3}).check()
