"""Population-based training: the paper's toy, selection by hand, settings that take effect, and real kills."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.agents.archive import read_checkpoint
from tiltyard.agents.spaces import SPACES, Dimension
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.pbt import RECORD, Member, Population, exploited, explored, train_population
from tiltyard.benchmarks.runs import CONTINUES, NAME, RESUMED, Run, read_run
from tiltyard.benchmarks.session import REPLAY, spend

SETTINGS = {"batch_size": 8, "buffer_size": 500, "learning_starts": 20, "policy_kwargs": {"net_arch": [8]}}
SAC: dict[str, Any] = {"population": 2, "steps": 120, "ready": 40, "space": ["learning_rate", "gamma"]}
SAC |= {"params": SETTINGS, "eval_episodes": 2, "workers": 2}


def test_the_toy_of_the_paper_needs_copies_of_the_better_member() -> None:
    """Section 4 and figure 2: Q = 1.2 - x^2 - y^2 climbed by the gradient of 1.2 - h0 x^2 - h1 y^2, h = (1, 0), (0, 1).

    Neither member alone can improve both coordinates; with copies every few steps, one of them comes to the top.
    """

    def climbed(copying: bool) -> float:
        weights, rates = np.full((2, 2), 0.9), np.array([[1.0, 0.0], [0.0, 1.0]])
        rng, space = np.random.default_rng(0), {"h0": Dimension(0.0, 1.0), "h1": Dimension(0.0, 1.0)}
        for step in range(1, 201):
            weights = weights - 0.02 * rates * weights
            if copying and step % 5 == 0:
                parents = exploited(list(1.2 - (weights**2).sum(1)), rng)
                for i, parent in enumerate(parents):
                    if parent != i:
                        weights[i] = weights[parent]
                        again = explored({"h0": rates[parent][0], "h1": rates[parent][1]}, space, rng, "resample")
                        rates[i] = list(again.values())
        return float((1.2 - (weights**2).sum(1)).max())

    assert climbed(copying=False) == pytest.approx(1.2 - 0.9**2, abs=0.01)  # the other one stays
    assert climbed(copying=True) > 1.15


def test_the_bottom_fifth_copies_the_top_fifth() -> None:
    scores = [0.5, 0.9, 0.1, 0.4, 0.8, 0.3, 0.2, 0.6, 0.7, 0.45]
    seen = [exploited(scores, np.random.default_rng(i)) for i in range(40)]
    for parents in seen:
        assert [i for i, parent in enumerate(parents) if parent != i] == [2, 6]
    assert {parents[2] for parents in seen} == {1, 4}, "each of the top fifth is copied at times"
    assert exploited([0.3, 0.3, 0.3], np.random.default_rng(0)) == [0, 1, 0], "of equals the first is higher"
    assert exploited([0.0, 1.0], np.random.default_rng(0)) == [1, 1], "a fifth of two is one"


def test_all_that_diverged_copy_members_that_did_not() -> None:
    lost = -np.inf
    seen = {tuple(exploited([lost, 0.2, lost, lost, 0.1], np.random.default_rng(i))) for i in range(40)}
    assert seen == {(1, 1, 1, 1, 4)}, "a fifth of five is one, the best"
    assert exploited([lost, 0.3, lost], np.random.default_rng(0)) == [1, 1, 1]
    many = exploited([*[lost] * 9, 0.3], np.random.default_rng(0))
    assert many == [9] * 10, "one alone is left of the top fifth"


def test_settings_are_varied_by_a_factor_within_the_space() -> None:
    space = {name: SPACES[name] for name in ("learning_rate", "batch_size", "gamma")}
    given = {"learning_rate": 1e-3, "batch_size": 64, "gamma": 0.95}
    seen = [explored(given, space, np.random.default_rng(i), "perturb") for i in range(40)]
    assert {one["learning_rate"] for one in seen} == {8e-4, 1.2e-3}
    assert {one["batch_size"] for one in seen} == {32, 128}
    assert {one["gamma"] for one in seen} == {0.9, 0.9999}, "0.76 and 1.14 lie outside the space"
    anew = [explored(given, space, np.random.default_rng(i), "resample")["learning_rate"] for i in range(400)]
    assert np.mean([rate == 1e-3 for rate in anew]) == pytest.approx(0.75, abs=0.07)


def test_the_lineage_of_the_best_goes_back_to_the_first_generation() -> None:
    def member(score: float, parent: int) -> Member:
        return Member(f"{score}", {}, score, 0, parent)

    found = Population(
        ((member(0.1, 0), member(0.2, 1)), (member(0.3, 1), member(0.25, 1)), (member(0.4, 0), member(0.5, 0))), 0, 0.0
    )
    assert [one.score for one in found.lineage] == [0.2, 0.3, 0.5]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Population]:
    root = tmp_path_factory.mktemp("pbt")
    return root, train_population("Pendulum-v1", "sac", root=root, **SAC)


@pytest.mark.slow
def test_weights_steps_and_settings_go_from_generation_to_generation(trained: tuple[Path, Population]) -> None:
    root, found = trained
    assert len(found.generations) == 3
    assert found.steps == 3 * 2 * 40
    assert [one.steps for one in found.lineage] == [40, 80, 120]
    for before, members in zip(found.generations, found.generations[1:], strict=False):
        loser = min((0, 1), key=lambda i: before[i].score)
        assert {one.parent for one in members} == {1 - loser}, "the lower of two copies the other"
        assert members[1 - loser].settings == before[1 - loser].settings
        assert members[loser].settings != before[loser].settings
    for members in found.generations:
        for member in members:
            run = read_run(root / member.run)
            stored, tensors = read_checkpoint(run.folder / "checkpoint.zip")
            assert stored["settings"]["gamma"] == member.settings["gamma"]
            rates = [group["$items"] for group in _groups(stored["described"])]
            assert {dict(group)["lr"] for group in rates} == {member.settings["learning_rate"]}
            assert tensors
    assert [bool((root / one.run / REPLAY).exists()) for one in found.lineage] == [False, False, True]
    record = json.loads((root / RECORD).read_text())
    assert record["steps"] == found.steps
    assert record["test"] == found.test
    assert found.test != found.best.score, "the test is on other problems"


def _groups(described: Any) -> Any:
    """Parameter groups of the stored optimisers of actor and critic."""
    for name, state in described.items():
        if "optimizer" in name and "ent" not in name:
            yield from dict(state["$items"])["param_groups"]["$list"]


@pytest.mark.slow
def test_two_members_with_the_same_parent_draw_different_samples(trained: tuple[Path, Population]) -> None:
    root, found = trained
    last = [read_run(root / one.run) for one in found.generations[-1]]
    assert last[0].run.params[CONTINUES] == last[1].run.params[CONTINUES]
    assert last[0].run.params[RESUMED] == 80
    weights = [read_checkpoint(one.folder / "checkpoint.zip")[1] for one in last]
    assert any((weights[0][name] != weights[1][name]).any() for name in weights[0])


@pytest.mark.slow
def test_what_is_killed_ends_as_if_it_had_not_been(trained: tuple[Path, Population], tmp_path: Path) -> None:
    whole, found = trained
    how = {**SAC, "root": str(tmp_path)}
    code = f"from tiltyard.benchmarks.pbt import train_population; train_population('Pendulum-v1', 'sac', **{how!r})"
    kills = 0
    for wanted in (1, 3, 5):  # in each of the three generations
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, start_new_session=True)
        while sum(bool(NAME.fullmatch(one.name)) for one in tmp_path.iterdir() if one.is_dir()) < wanted:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        if (tmp_path / RECORD).exists():
            assert json.loads((tmp_path / RECORD).read_text())["test"] is None, "it was over before it was killed"
    again = train_population("Pendulum-v1", "sac", **{**how, "root": tmp_path})
    assert kills == 3
    assert again == found
    for member in found.generations[-1]:
        ours, theirs = (read_checkpoint(root / member.run / "checkpoint.zip")[1] for root in (whole, tmp_path))
        assert all((ours[name] == theirs[name]).all() for name in ours)


@pytest.mark.slow
def test_a_language_agent_is_trained_by_the_command(tmp_path: Path, capsys: Any) -> None:
    line = "pbt tiltyard/TreeMDP-v0 --agent grpo --population 2 --steps 32 --ready 16 --space learning_rate,kl_coef "
    line += "--set group_size=4 prompts_per_batch=4 --explore resample --eval-episodes 8 --out"
    assert main([*line.split(), str(tmp_path)]) == 0
    assert "64 steps of all members" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"population": 1}, ValueError, "at least 2 members"),
        ({"steps": 100}, ValueError, "multiple of ready"),
        ({"seed": 0}, ValueError, "give a seed from 10000 on"),
        ({"explore": "pertub"}, KeyError, "did you mean 'perturb'"),
        ({"space": ["n_epochs"]}, TypeError, "SAC has no setting n_epochs"),
        ({"params": {"gama": 1}}, TypeError, "did you mean 'gamma'"),
        ({"params": {**SETTINGS, "gamma": 0.9}}, ValueError, "gamma is to vary and to be shared"),
    ],
)
def test_bad_input_is_a_sentence(change: dict, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        train_population("Pendulum-v1", "sac", **{**SAC, **change, "root": tmp_path})
    assert not list(tmp_path.glob("*/run.json"))


PPO: dict[str, Any] = {"population": 2, "steps": 8, "ready": 8, "eval_episodes": 1, "workers": 2}
PPO |= {"params": {"n_steps": 8, "batch_size": 8, "gamma": 0.5, "policy_kwargs": {"net_arch": [8]}}}


def test_shared_settings_do_not_vary_and_the_command_goes_on(tmp_path: Path) -> None:
    found = train_population("Pendulum-v1", "ppo", **PPO, root=tmp_path)
    for member in found.generations[0]:
        assert read_run(tmp_path / member.run).run.params["gamma"] == 0.5
        assert "gamma" not in member.settings
    record = json.loads((tmp_path / RECORD).read_text())
    assert main(shlex.split(record["command"])[1:]) == 0
    assert json.loads((tmp_path / RECORD).read_text()) == record
    assert len(list(tmp_path.glob("*/run.json"))) == 2, "all runs were those that are there"
    for change, message in ({"explore": "resample"}, "of explore perturb"), ({"params": {}}, "other params"):
        with pytest.raises(ValueError, match=f"holds another population.*{message}"):
            train_population("Pendulum-v1", "ppo", **{**PPO, **change}, root=tmp_path)


@pytest.mark.slow
def test_members_that_diverge_go_on_from_one_that_did_not(tmp_path: Path) -> None:
    how = {**SAC, "steps": 80, "population": 3, "seed": 10_005, "space": ["learning_rate=1e-12:1e30"]}
    found = train_population("Pendulum-v1", "sac", root=tmp_path, **how)
    first, second = found.generations
    assert [bool(np.isfinite(member.score)) for member in first] == [True, False, False]
    assert [member.parent for member in second] == [0, 0, 0]
    rate = first[0].settings["learning_rate"]
    assert {round(member.settings["learning_rate"] / rate, 3) for member in second[1:]} <= {0.8, 1.2}
    assert all(np.isfinite(member.score) for member in second)
    assert all(20 < member.steps < 40 for member in first[1:])
    assert found.steps == 40 + sum(member.steps for member in first[1:]) + 3 * 40
    record = json.loads((tmp_path / RECORD).read_text())
    assert [member["score"] is None for member in record["generations"][0]] == [False, True, True]
    assert train_population("Pendulum-v1", "sac", root=tmp_path, **how) == found


@pytest.mark.slow
def test_members_that_all_diverge_are_named(tmp_path: Path) -> None:
    how = {**SAC, "steps": 40, "space": ["learning_rate=1e25:1e30"]}
    with pytest.raises(ValueError, match="the training of all 2 members diverged: give other settings"):
        train_population("Pendulum-v1", "sac", root=tmp_path, **how)


def test_no_stretch_goes_on_without_the_replay_buffer_that_was_there(tmp_path: Path) -> None:
    first = Run("Pendulum-v1", "sac", 10_000, 40, {**SETTINGS, CONTINUES: ""}, eval_episodes=1, eval_points=1)
    folder = first.execute(tmp_path).folder
    spend(folder)
    lineage = {CONTINUES: first.name, RESUMED: 40}
    second = replace(first, budget=80, params={**SETTINGS, **lineage})
    with pytest.raises(ValueError, match="replay buffer of Pendulum-v1-sac-s10000-.* was removed"):
        second.execute(tmp_path)
    assert not second.folder(tmp_path).exists()


@pytest.mark.parametrize("name", ["../elsewhere-s0-12345678", "no-run"])
def test_a_run_goes_on_from_a_folder_beside_it_alone(name: str, tmp_path: Path) -> None:
    run = Run("Pendulum-v1", "sac", 10_000, 80, {**SETTINGS, CONTINUES: name, RESUMED: 40})
    with pytest.raises(ValueError, match="folder beside this one"):
        run.execute(tmp_path)


@pytest.mark.slow
def test_a_stretch_shorter_than_a_rollout_is_named(tmp_path: Path) -> None:
    how = {**SAC, "params": {"n_steps": 200}, "space": ["learning_rate"], "root": tmp_path}
    with pytest.raises(ValueError, match="give a longer --ready"):
        train_population("Pendulum-v1", "ppo", **how)
