import json
import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tiltyard import MissingExtra
from tiltyard.agents.checkpoint import read_checkpoint
from tiltyard.agents.control.iql import IQL
from tiltyard.benchmarks import Run, execution, load_runs, session
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.datasets import make_dataset
from tiltyard.benchmarks.runs import RESUMED, read_run
from tiltyard.benchmarks.session import REPLAY, Session, earlier_points, find_source

SMALL = {"learning_starts": 10, "policy_kwargs": {"net_arch": [8]}, "buffer_size": 200, "n_envs": 2}
RUN = Run("tiltyard/PointMaze-v0", "sac", 3, 60, SMALL, eval_episodes=2, eval_points=3)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder that holds a finished run of 60 steps, and what a run of 120 left when it was killed at step 100."""
    made = tmp_path_factory.mktemp("runs")
    RUN.execute(made, session=Session(keep=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution.HeldOutEvaluation, "_on_step", killed_at(100, execution.HeldOutEvaluation._on_step))
        with pytest.raises(Killed):
            replace(RUN, budget=120).execute(made, session=Session(keep=True))
    return made


class Killed(Exception):
    pass


def killed_at(step, real):
    def on_step(self):
        if self.num_timesteps >= step:
            raise Killed
        return real(self)

    return on_step


def steps_of(folder):
    return read_checkpoint(folder / "checkpoint.zip")[0]["counters"]["num_timesteps"]


def test_a_kept_run_has_what_it_can_be_gone_on_from(root):
    assert steps_of(RUN.folder(root)) == 60
    killed = replace(RUN, budget=120).partial(root)
    assert steps_of(killed) == 80  # the last of its points
    with np.load(killed / REPLAY) as stored:
        assert len(stored["rewards"]) == 39  # of two environments; a callback comes before the step is stored


def test_the_result_is_the_same_whether_a_run_is_kept_or_not(root, tmp_path):
    plain = RUN.execute(tmp_path)
    assert plain.scores == read_run(RUN.folder(root)).scores
    assert not (plain.folder / REPLAY).exists()


def test_a_killed_run_goes_on_from_its_last_point_with_its_replay_and_curve(root, monkeypatch):
    run = replace(RUN, budget=120)
    folder, step = find_source(run, root)
    assert (folder, step) == (run.partial(root), 80)
    began = []
    real = session.restored

    def noted(*arguments):
        agent = real(*arguments)
        began.append((agent.num_timesteps, agent.replay_buffer.size(), agent._n_updates))
        return agent

    monkeypatch.setattr(execution, "restored", noted)
    goes_on = replace(run, params={**run.params, RESUMED: step})
    finished = goes_on.execute(root, session=Session(source=folder))
    assert began[0][:2] == (80, 39)
    assert began[0][2] > 0
    assert [point[0] for point in finished.curve] == [40, 80, 120]
    assert finished.run.params[RESUMED] == 80
    assert "--set resumed_at=80" in finished.run.command


def test_draws_begin_anew_but_not_from_the_start(root):
    from tiltyard import agents

    new = agents.make("sac", RUN.env_id, seed=RUN.seed, **SMALL)
    first = new.get_env().reset()
    again = session.restored(new, RUN.folder(root), RUN.seed).get_env().reset()
    assert not np.array_equal(first, again)


def test_the_furthest_of_the_same_run_or_shorter_ones_is_found(root):
    assert find_source(replace(RUN, budget=90), root) == (replace(RUN, budget=120).partial(root), 80)
    assert find_source(replace(RUN, budget=70), root) == (RUN.folder(root), 60)
    for other in ({"seed": 4}, {"budget": 60}, {"params": {**SMALL, "gamma": 0.9}}):
        assert find_source(replace(RUN, **other), root) is None


def test_a_damaged_folder_is_named_and_passed_over(root, tmp_path):
    folder = shutil.copytree(RUN.folder(root), tmp_path / RUN.name)
    (folder / "checkpoint.zip").write_bytes(b"no zip")
    with pytest.warns(UserWarning, match=f"{RUN.name} cannot be gone on from: "):
        assert find_source(replace(RUN, budget=120), tmp_path) is None


def test_a_resumed_run_may_have_more_points_than_it_adds(root, tmp_path):
    run = replace(RUN, budget=90, eval_points=1, params={**SMALL, RESUMED: 60})
    finished = run.execute(tmp_path, session=Session(source=RUN.folder(root)))
    assert [point[0] for point in finished.curve] == [20, 40, 60, 90]


def test_a_damaged_curve_is_left_out_by_name(root, tmp_path):
    folder = shutil.copytree(RUN.folder(root), tmp_path / RUN.name)
    curve = folder / "evaluations.npz"
    curve.write_bytes(curve.read_bytes()[:-40])  # killed while it was written
    with pytest.warns(UserWarning, match="evaluations.npz"):
        assert earlier_points(folder, RUN.eval_episodes, 60) == {}


def test_a_curve_without_successes_is_kept(root, tmp_path):
    folder = shutil.copytree(RUN.folder(root), tmp_path / RUN.name)
    with np.load(folder / "evaluations.npz") as points:
        told = {name: points[name] for name in points.files if name != "successes"}
    np.savez(folder / "evaluations.npz", **told)
    kept = earlier_points(folder, RUN.eval_episodes, 40)
    assert kept["timesteps"] == [20, 40]
    assert "successes" not in kept


def test_the_command_goes_on_and_says_what_is_restored(root, tmp_path, capsys):
    shutil.copytree(RUN.folder(root), tmp_path / RUN.name)
    settings = " ".join(f"{name}={json.dumps(value).replace(' ', '')}" for name, value in SMALL.items())
    line = f"train --env {RUN.env_id} --agent sac --seed 3 --eval-episodes 2 --eval-points 3 --out {tmp_path} --resume"
    assert main([*line.split(), "--steps", "90", "--set", *settings.split()]) == 0
    said = capsys.readouterr().err
    assert "at step 60: weights, optimisers, counters and replay buffer are restored" in said
    assert len(list(tmp_path.glob("*/run.json"))) == 2
    assert main([*line.split(), "--steps", "1e1", "--set", *settings.split()]) == 0
    assert f"nothing to go on from in {tmp_path}" in capsys.readouterr().err


def test_beginning_anew_keeps_what_was_stopped(root, tmp_path, capsys):
    stopped = replace(RUN, budget=120)
    shutil.copytree(stopped.partial(root), stopped.partial(tmp_path))
    session.set_aside(stopped, tmp_path)
    aside = tmp_path / f"{stopped.name}.stopped.partial"
    assert f"begins at step 0; what was stopped is kept in {aside}" in capsys.readouterr().err
    assert find_source(stopped, tmp_path) == (aside, 80)
    assert load_runs(tmp_path) == []  # no leaderboard shows it
    session.set_aside(stopped, tmp_path)  # nothing is left to set aside
    assert [path.name for path in tmp_path.iterdir()] == [aside.name]
    settings = " ".join(f"{name}={json.dumps(value).replace(' ', '')}" for name, value in SMALL.items())
    line = f"train --env {RUN.env_id} --agent sac --seed 3 --eval-episodes 2 --eval-points 3 --steps 120"
    shutil.copytree(aside, stopped.partial(tmp_path))
    assert main([*line.split(), "--out", str(tmp_path), "--set", *settings.split()]) == 0
    assert "begins at step 0" in capsys.readouterr().err
    assert find_source(replace(stopped, budget=130), tmp_path) == (stopped.folder(tmp_path), 120)
    assert (aside / "checkpoint.zip").is_file()


def test_every_training_that_was_stopped_is_kept(root, tmp_path):
    stopped = replace(RUN, budget=120)
    for _ in range(3):
        shutil.copytree(stopped.partial(root), stopped.partial(tmp_path))
        session.set_aside(stopped, tmp_path)
    names = [f"{stopped.name}.stopped{number}.partial" for number in ("", "-2", "-3")]
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    assert all(steps_of(tmp_path / name) == 80 for name in names)
    assert load_runs(tmp_path) == []


def test_whoever_executes_a_run_anew_keeps_what_was_stopped(root, tmp_path):
    stopped = replace(RUN, budget=120)
    shutil.copytree(stopped.partial(root), stopped.partial(tmp_path))
    stopped.execute(tmp_path)  # as a race does
    assert {path.name for path in tmp_path.iterdir()} == {stopped.name, f"{stopped.name}.stopped.partial"}


def test_a_run_that_is_refused_leaves_nothing_behind(tmp_path, capsys):
    line = f'train --env {RUN.env_id} --agent sac --steps 60 --out {tmp_path} --set policy_kwargs={{"net_arch":"a"}}'
    assert main(line.split()) == 2
    assert "net_arch must be" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_language_agents_go_on_bit_for_bit(tmp_path):
    params = {"batch_size": 4, "max_answer_tokens": 8}
    run = Run("tiltyard/ChainSum-v0", "sft", 0, 16, params, eval_episodes=3, eval_points=2)
    whole = run.execute(tmp_path / "whole")
    half = replace(run, budget=8).execute(tmp_path, session=Session(keep=True))
    rest = replace(run, params={**params, RESUMED: 8}).execute(tmp_path, session=Session(source=half.folder))
    assert rest.scores == whole.scores
    tensors = [read_checkpoint(one.folder / "checkpoint.zip")[1] for one in (whole, rest)]
    assert all((tensors[0][name] == tensors[1][name]).all() for name in tensors[0])


def test_a_finished_run_of_updates_on_data_is_gone_on_from_in_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    make_dataset("tiltyard/Hopper-v5", "random", episodes=3)
    updates = []
    real = IQL.update
    monkeypatch.setattr(IQL, "update", lambda self, batch: updates.append(1) or real(self, batch))
    line = (
        f"train --env tiltyard/Hopper-v5 --agent iql --eval-episodes 2 --eval-points 2 --out {tmp_path} "
        "--set dataset=tiltyard/hopper/random-v0 --set offline_steps=5 --set batch_size=8 --set learning_starts=4 "
        "--preset none --resume"
    ).split()
    assert main([*line, "--steps", "0"]) == 0
    (offline,) = map(read_run, tmp_path.glob("Hopper-v5-iql-*"))
    updates.clear()
    assert main([*line, "--steps", "8"]) == 0
    assert "at step 0: weights, optimisers, counters and no replay buffer are restored" in capsys.readouterr().err
    assert len(updates) == 4  # after the first four steps; none of the five on the dataset alone
    (online,) = (one for one in map(read_run, tmp_path.glob("Hopper-v5-iql-*")) if one.run.budget)
    assert [step for step, *_ in online.curve] == [0, 4, 8]
    assert online.curve[0][1] == offline.curve[-1][1]
    assert online.run.params[RESUMED] == 0


def test_resumed_at_is_not_for_typing(tmp_path):
    with pytest.raises(ValueError, match="resumed_at is set by --resume alone"):
        replace(RUN, params={**SMALL, RESUMED: 10}).execute(tmp_path)
    line = "train --env tiltyard/PointMaze-v0 --agent sac --set resumed_at=10"
    assert main(line.split()) == 2


@pytest.mark.parametrize("track", ["trackio", "wandb"])
def test_trackers_get_what_is_logged_under_the_runs_name(track, tmp_path, monkeypatch):
    calls = []
    recorder = SimpleNamespace(
        init=lambda **about: calls.append(about),
        log=lambda values, step: calls.append((step, values)),
        finish=lambda: calls.append("finished"),
    )
    monkeypatch.setitem(sys.modules, track, recorder)
    RUN.execute(tmp_path, session=Session(track))
    assert calls[0]["name"] == RUN.name
    assert calls[0]["config"]["env_id"] == RUN.env_id
    assert [step for step, values in calls[1:-1] if "eval/mean_reward" in values][-1] == 60
    assert calls[-1] == "finished"


def test_a_tracker_that_is_not_there_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[wandb\]"):
        Session("wandb")
    assert main("train --env tiltyard/PointMaze-v0 --agent sac --track wandb".split()) == 2
    assert "[wandb]" in capsys.readouterr().err
    assert main("train --env tiltyard/PointMaze-v0 --agent sac --track wandbb".split()) == 2
    assert "unknown tracker 'wandbb'; did you mean 'wandb'?" in capsys.readouterr().err
