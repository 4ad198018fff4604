"""Runs in the forms of other libraries, out and in."""

import csv
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.docs import RESULTS
from tiltyard.benchmarks.events import read_scalars
from tiltyard.benchmarks.exports import FORMATS
from tiltyard.benchmarks.imports import POINTS, Source, binned, read_runs
from tiltyard.benchmarks.leaderboard import leaderboard
from tiltyard.benchmarks.leaderboard_commands import reported
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.verify import verify

SMOKE = RESULTS / "smoke" / "runs"


@pytest.fixture(scope="module")
def runs() -> list[FinishedRun]:
    return [run for run in reported(SMOKE) if "Highway" in run.run.env_id]


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(encoding="utf-8")))


def test_csv_holds_every_number(runs: list[FinishedRun], tmp_path: Path) -> None:
    FORMATS["csv"](runs, tmp_path)
    rows, points, episodes = (read(tmp_path / f"{name}.csv") for name in ("runs", "evaluations", "episodes"))
    assert [row["run"] for row in rows] == [run.run.name for run in runs]
    assert [float(row["normalised"]) for row in rows] == [run.normalised for run in runs]
    assert [json.loads(row["params"]) for row in rows] == [run.run.params for run in runs]
    assert [row["commit"] for row in rows] == [run.commit for run in runs]
    curve = [(int(row["step"]), float(row["mean_return"])) for row in points if row["run"] == runs[0].run.name]
    assert curve == [(step, score) for step, score, _ in runs[0].curve]
    scores = [float(row["return"]) for row in episodes if row["run"] == runs[1].run.name]
    assert scores == list(runs[1].scores)


def test_csv_leaves_normalised_empty_where_there_is_no_scale(tmp_path: Path) -> None:
    sizes = ["--eval-episodes", "2", "--eval-points", "1", "--out", str(tmp_path / "runs")]
    assert main(["train", "--env", "CartPole-v1", "--agent", "dqn", "--steps", "8", *sizes]) == 0
    runs = reported(tmp_path / "runs")
    FORMATS["hf"](runs, tmp_path)
    (row,) = read(tmp_path / "data" / "runs.csv")
    assert (row["normalised"], float(row["mean_return"])) == ("", runs[0].normalised)
    assert (
        "1 for the scripted expert, and empty where their scores are not known" in (tmp_path / "README.md").read_text()
    )
    found = {check.name: check.said for check in verify(runs[0].folder).checks}
    assert (
        found["normalised"]
        == f"{runs[0].normalised:.6g} follows from the returns, and is their mean: no scale is known"
    )


def test_sections_of_another_export_are_not_left_beside_these(runs: list[FinishedRun], tmp_path: Path) -> None:
    FORMATS["rliable"](reported(SMOKE), tmp_path)
    FORMATS["rliable"](reported(SMOKE), tmp_path)  # the same once more
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"robotics\.npz.* of another export: remove it, or give another folder"):
        FORMATS["rliable"](runs, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_rliables_own_functions_find_the_boards_numbers(runs: list[FinishedRun], tmp_path: Path) -> None:
    from rliable import library, metrics

    FORMATS["rliable"](runs, tmp_path)
    with np.load(tmp_path / "driving.npz") as found:
        scores = dict(found)
    assert json.loads((tmp_path / "driving.json").read_text()) == {"tasks": ["tiltyard/Highway-v0"]}
    assert {agent: values.shape for agent, values in scores.items()} == {"ppo": (3, 1), "dqn": (3, 1)}
    theirs, _ = library.get_interval_estimates(scores, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=10)
    (section,) = leaderboard(runs, rng=np.random.default_rng(0)).sections
    for standing in section.standings:
        assert theirs[standing.agent][0] == pytest.approx(standing.metrics["iqm"].value)


def test_a_hugging_face_folder_names_its_tables(runs: list[FinishedRun], tmp_path: Path) -> None:
    FORMATS["hf"](runs, tmp_path)
    _, front, _ = (tmp_path / "README.md").read_text().split("---\n", 2)
    assert re.findall(r"config_name: (\w+)", front) == ["runs", "evaluations", "episodes"]
    files = re.findall(r"data_files: (.+)", front)
    assert len(files) == 3
    assert all((tmp_path / name).is_file() for name in files)


def test_export_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["export", str(SMOKE), "--suite", "smoke", "--out", str(tmp_path)]
    assert main([*line, "--format", "csv"]) == 0
    assert len(read(tmp_path / "runs.csv")) == 27
    assert main([*line, "--format", "parquet"]) == 2
    assert "unknown format 'parquet'" in capsys.readouterr().err


def sb3(path: Path, level: float) -> Path:
    path.parent.mkdir(parents=True)
    results = level + np.arange(6.0).reshape(2, 3)
    np.savez(path, timesteps=[500, 1000], results=results, ep_lengths=np.ones((2, 3), int))
    return path


def test_an_evaluation_of_sb3_keeps_its_episodes_and_rl_zoos_names(tmp_path: Path) -> None:
    paths = [sb3(tmp_path / "ppo" / f"CartPole-v1_{i}" / "evaluations.npz", 10.0 * i) for i in (1, 2, 3)]
    runs = read_runs(map(Source, paths))
    assert [(run.run.agent, run.run.env_id, run.run.seed) for run in runs] == [
        ("ppo", "imported:CartPole-v1", i) for i in (1, 2, 3)
    ]
    assert runs[0].scores == (13.0, 14.0, 15.0)
    assert [point[:2] for point in runs[0].curve] == [(500, 11.0), (1000, 14.0)]
    board = leaderboard(runs, rng=np.random.default_rng(0))
    (result,) = board.results
    assert (result.score.value, len(result.runs)) == (24.0, 3)
    assert result.score.interval is not None
    assert board.sections[0].raw


def test_a_monitor_is_averaged_over_spans_of_its_steps(tmp_path: Path) -> None:
    lengths = [10] * 200
    rows = "".join(f"{i},{n},{i}.5\n" for i, n in enumerate(lengths))
    path = tmp_path / "monitor.csv"
    path.write_text('#{"t_start": 1.0, "env_id": "Pendulum-v1"}\nr,l,t\n' + rows)
    (run,) = read_runs([Source.parse(f"mine={path}")])
    assert run.run.env_id == "imported.training:Pendulum-v1"
    assert len(run.curve) == POINTS
    assert run.curve[0][:2] == (40, 1.5)  # episodes that ended after 10, 20, 30 and 40 steps
    assert run.scores == (197.5,)


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "monitor.csv"
    path.write_text('#{"t_start": 1.0, "env_id": "Pendulum-v1"}\nr,l,t\n1,10,0.5\n')
    (tmp_path / "link.csv").symlink_to(path)
    for again in (path, tmp_path / "link.csv"):
        assert main(["import", f"a@T={path}", f"a@T={again}", "--out", str(tmp_path / "site")]) == 2
        assert "monitor.csv is given 2 times: a file counts once, so give it once" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_columns_of_wandb_are_runs_of_cleanrl(tmp_path: Path) -> None:
    path = tmp_path / "wandb.csv"
    one, two = "Hopper-v4__sac_continuous_action__1__1700000000", "Hopper-v4__sac_continuous_action__2__1700000001"
    tag = "charts/episodic_return"
    heads = [name for run in (one, two) for name in (f"{run} - {tag}", f"{run} - {tag}__MIN", f"{run} - {tag}__MAX")]
    lines = [["global_step", *heads], [100, 1, 0, 2, "", "", ""], [200, 3, 0, 4, 5, 5, 5]]
    path.write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in lines))
    with pytest.warns(UserWarning, match="wandb.csv: 1 of 4 returns in it have no value or no step and were left out"):
        runs = read_runs([Source(path)])
    assert [(run.run.agent, run.run.seed, run.scores) for run in runs] == [
        ("sac_continuous_action", 1, (3.0,)),
        ("sac_continuous_action", 2, (5.0,)),
    ]
    assert {run.run.env_id for run in runs} == {"imported.training:Hopper-v4"}


def field(number: int, kind: int, body: bytes) -> bytes:
    return bytes([number << 3 | kind]) + (bytes([len(body)]) if kind == 2 else b"") + body


def record(step: int, tag: str, value: float, *, tensor: bool = False) -> bytes:
    number = struct.pack("<f", value)
    held = field(8, 2, field(1, 0, b"\x01") + field(5, 2, number)) if tensor else field(2, 5, number)
    summary = field(5, 2, field(1, 2, field(1, 2, tag.encode()) + held))
    steps = bytes([step & 127 | 128, step >> 7])
    event = field(1, 1, struct.pack("<d", 1.7e9)) + field(2, 0, steps) + summary
    return struct.pack("<QI", len(event), 0) + event + bytes(4)


def test_scalars_of_event_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "Ant-v4__ppo__7__1700000000" / "events.out.tfevents.1.host"
    path.parent.mkdir()
    first = field(1, 1, struct.pack("<d", 1.7e9)) + field(3, 2, b"brain.Event:2")
    data = struct.pack("<QI", len(first), 0) + first + bytes(4)
    data += record(300, "rollout/ep_rew_mean", 1.5) + record(600, "rollout/ep_rew_mean", 2.5, tensor=True)
    path.write_bytes(data + record(900, "losses/value", 9.0) + record(900, "rollout/ep_rew_mean", 9.0)[:-5])
    assert read_scalars(path) == {"rollout/ep_rew_mean": [(300, 1.5), (600, 2.5)], "losses/value": [(900, 9.0)]}
    (run,) = read_runs([Source(path)])
    assert (run.run.agent, run.run.env_id, run.run.seed, run.scores) == ("ppo", "imported.training:Ant-v4", 7, (2.5,))
    assert read_runs([Source(path, tag="losses/value")])[0].scores == (9.0,)
    path.write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match="is no event file"):
        read_scalars(path)


def test_the_benchmark_of_rl_zoo_is_a_run_a_row(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.md"
    path.write_text(
        "## Performance\n\n|algo |  env_id   |mean_reward|std_reward|n_timesteps|eval_timesteps|eval_episodes|\n"
        "|-----|-----------|----------:|---------:|-----------|-------------:|------------:|\n"
        "|a2c  |Acrobot-v1 |    -83.353|    17.213|500k       |        149979|         1778|\n"
        "|dqn  |Acrobot-v1 |    -76.639|    11.752|10M        |        149998|         1932|\n"
    )
    found = [(run.run.agent, run.run.budget, run.scores) for run in read_runs([Source(path)])]
    assert found == [("a2c", 500_000, (-83.353,)), ("dqn", 10_000_000, (-76.639,))]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("evaluations.npz", b"PK no archive", "is no evaluations.npz"),
        ("log.csv", b"a,b\n1,2\n", "has no column of steps and returns"),
        ("log.csv", b"global_step,charts/episodic_return\n1,nan\n", "its returns are NaN at all steps"),
        ("log.csv", b"global_step,charts/episodic_return\n1,many\n", "log.csv: row 1 has 'many' in column"),
        (
            "benchmark.md",
            b"|algo|env_id|mean_reward|n_timesteps|\n|-|-|-|-|\n|a|b|1|\n",
            "row 1 of the table has 3 cells and its head 4",
        ),
        ("benchmark.md", b"|algo|env_id|mean_reward|n_timesteps|\n|-|-|-|-|\n|a|b|nan|5k|\n", "has mean_reward 'nan'"),
        ("benchmark.md", b"|algo|env_id|mean_reward|n_timesteps|\n|-|-|-|-|\n|a|b|1|inf|\n", "n_timesteps 'inf'"),
        ("benchmark.md", b"|algo|env_id|mean_reward|n_timesteps|\n|-|-|-|-|\n", "has a table without rows"),
        ("log.csv", b"global_step,charts/episodic_return\n1,2,3\n", "log.csv: row 1 has 3 cells and the header 2"),
        ("monitor.csv", b'#{"t": 1}\nr,l,t\n1,2\n3,4,5\n', "monitor.csv has a row that is cut off"),
        ("monitor.csv", b'#{"t": 1}\nr,l,t\n1,2,3\n3,-1,5\n', "an episode of fewer than 1 step"),
        ("evaluations.npz", b"", "is no evaluations.npz: No data left in file"),
        ("evaluations.npz", b"PK\x03\x04 cut off", "is no evaluations.npz: File is not a zip file"),
        ("monitor.csv", b'#{"t_start": 1}\nx,y\n1,2\n', "is no Monitor CSV"),
        ("benchmark.md", b"# nothing\n", "has no table"),
        ("log.txt", b"", "is no evaluations.npz, CSV"),
        ("log.csv", b"global_step,charts/episodic_return\n1,2\n", "does not say whose it is"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, name: str, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert main(["import", str(tmp_path / name), "--out", str(tmp_path / "site")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([500, 100], "do not ascend from 0"),
        ([-500, -100], "do not ascend from 0"),
        ([[500, 500], [1000, 1000]], "timesteps of shape (2, 2)"),
        (5, "timesteps of shape ()"),
        ([0.5, 1.0], "kind float64"),
    ],
)
def test_steps_that_are_no_count_are_refused(
    tmp_path: Path, steps: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evaluations.npz"
    np.savez(path, timesteps=steps, results=np.ones((2, 3)))
    assert main(["import", f"a@T-v1={path}", "--out", str(tmp_path / "site")]) == 2
    assert said in capsys.readouterr().err


def cleanrl(folder: Path, seed: int, last: int, level: float) -> Path:
    path = folder / f"CartPole-v1__ppo__{seed}__17000000{seed}" / "log.csv"
    path.parent.mkdir(parents=True)
    path.write_text(f"global_step,charts/episodic_return\n100,1\n{last},{level}\n")
    return path


def test_seeds_whose_last_episodes_end_at_different_steps_are_one_row(tmp_path: Path) -> None:
    lasts = (50_000, 49_888, 49_939, 60_000)
    paths = [cleanrl(tmp_path, seed, last, 10.0 + seed) for seed, last in enumerate(lasts, 1)]
    for order in (paths, paths[::-1]):
        board = leaderboard(read_runs(map(Source, order)), rng=np.random.default_rng(0))
        longer, result = sorted(board.results, key=lambda one: len(one.runs))
        assert (len(result.runs), result.runs[0].run.budget, result.score.value) == (3, 49_888, 12.0)
        assert result.score.interval is not None
        assert (len(longer.runs), longer.runs[0].run.budget) == (1, 60_000)


def test_steps_of_evaluations_are_exact_and_set_runs_apart(tmp_path: Path) -> None:
    for steps in (1000, 1001):
        np.savez(tmp_path / f"{steps}.npz", timesteps=[500, steps], results=np.ones((2, 3)))
    runs = read_runs(Source(tmp_path / f"{steps}.npz", "a", "T-v1") for steps in (1000, 1001))
    assert [run.run.budget for run in runs] == [1000, 1001]


def test_returns_of_training_share_nothing_with_evaluations(tmp_path: Path) -> None:
    table = tmp_path / "benchmark.md"
    table.write_text("|algo|env_id|mean_reward|n_timesteps|\n|-|-|-|-|\n|ppo|CartPole-v1|500|50k|\n")
    others = sb3(tmp_path / "dqn" / "CartPole-v1_1" / "evaluations.npz", 10.0)
    runs = read_runs(map(Source, (table, cleanrl(tmp_path, 0, 50_000, 99.0), others)))
    board = leaderboard(runs, rng=np.random.default_rng(0))
    found = {(result.task, result.agent): result.score.value for result in board.results}
    assert found[("imported.training:CartPole-v1", "ppo")] == 99.0
    assert found[("imported:CartPole-v1", "dqn")] == 14.0
    assert 299.5 not in found.values()
    assert any("seed 0 of ppo" in note and "evaluated on 1 episodes" in note for note in board.notes)


def test_a_logged_scalar_of_evaluations_is_no_training(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("global_step,eval/mean_reward\n1,2\n")
    assert read_runs([Source(path, "a", "T-v1")])[0].run.env_id == "imported:T-v1"


def test_a_monitor_whose_last_row_is_cut_off_is_read_up_to_it(tmp_path: Path) -> None:
    path = tmp_path / "monitor.csv"
    path.write_text('#{"env_id": "Hopper-v4"}\nr,l,t\n1.0,10,1\n2.0,1')
    with pytest.warns(UserWarning, match="its last row is cut off and was left out"):
        (run,) = read_runs([Source(path, "a")])
    assert (run.run.budget, run.scores) == (10, (1.0,))


def test_a_page_of_imported_runs_says_what_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(cleanrl(tmp_path, seed, 50_000, 10.0 + seed)) for seed in range(3)]
    others = [f"ppo@Hopper-v4={sb3(tmp_path / str(i) / 'evaluations.npz', 1.0 * i)}" for i in range(2)]
    assert main(["import", *paths, *others, "--out", str(tmp_path / "site")]) == 0
    shown = capsys.readouterr().out
    page = (tmp_path / "site" / "index.html").read_text()
    assert "Scores are raw returns." in shown
    assert "Scores are raw returns." in page
    assert "Scores are normalised" not in page
    assert "imported.training:CartPole-v1 (imported returns of training)" in page
    assert "imported:Hopper-v4 (imported returns of evaluations)" in page
    for told in (shown, page):
        assert "commits of Tiltyard" not in told
        assert "another package" not in told


def test_import_shows_a_board_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources: list[Any] = []
    for agent, level in (("theirs", 5.0), ("ours", 50.0)):
        for i in range(3):
            path = sb3(tmp_path / agent / str(i) / "evaluations.npz", level + i)
            sources.append(f"{agent}@Hopper-v3={path}")
    assert main(["import", *sources, "--out", str(tmp_path / "site")]) == 0
    shown = capsys.readouterr().out
    assert "imported:Hopper-v3, raw returns" in shown
    assert shown.index("ours") < shown.index("theirs")
    page = (tmp_path / "site" / "index.html").read_text()
    assert "Learning curves, imported:Hopper-v3" in page
    assert f"tiltyard import {tmp_path}" in page


def test_points_are_sorted_and_few_stay_as_they_are() -> None:
    assert binned([3, 1], [30.0, 10.0]) == ((1, 3), (10.0, 30.0))
    steps, means = binned(range(1, 101), [1.0] * 50 + [3.0] * 50)
    assert (len(steps), steps[-1], means[0], means[-1]) == (POINTS, 100, 1.0, 3.0)
    with pytest.raises(ValueError, match="not finite"):
        binned([1], [math.nan])


def monitors(folder: Path) -> list[Path]:
    """Files of a training in two environments; the second began 1 s later."""
    folder.mkdir(parents=True)
    for i, rows in enumerate(("10,10,1.0\n30,30,5.0\n", "20,20,1.5\n")):
        text = f'#{{"t_start": {100.0 + i}, "env_id": "CartPole-v1"}}\nr,l,t\n{rows}'
        (folder / f"{i}.monitor.csv").write_text(text)
    return sorted(folder.iterdir())


def test_the_environments_of_one_training_are_one_run(tmp_path: Path) -> None:
    files = monitors(tmp_path / "ppo" / "CartPole-v1_3")
    (run,) = read_runs([Source(files[0].parent)])
    assert (run.run.agent, run.run.env_id, run.run.seed) == ("ppo", "imported.training:CartPole-v1", 3)
    assert [point[:2] for point in run.curve] == [(10, 10.0), (30, 20.0), (60, 30.0)]  # as they ended


def test_their_files_one_by_one_are_told_to_count_as_runs(tmp_path: Path) -> None:
    files = monitors(tmp_path / "a")
    with pytest.warns(UserWarning, match="2 Monitor files of .* count as 2 runs: if one training wrote them, give the"):
        assert len(read_runs([Source(file, agent="ppo") for file in files])) == 2
    with pytest.raises(ValueError, match="give the folder or its files"):
        read_runs([Source(files[0].parent, agent="ppo"), Source(files[0], agent="ppo")])
    with pytest.raises(ValueError, match="holds no Monitor files"):
        read_runs([Source(tmp_path, agent="ppo")])


def test_files_that_have_no_order_are_refused(tmp_path: Path) -> None:
    files = monitors(tmp_path / "a")
    files[0].write_text('#{"env_id": "CartPole-v1"}\nr,l\n10,10\n')
    with pytest.raises(ValueError, match="without t_start or t"):
        read_runs([Source(files[0].parent, agent="ppo")])


def test_large_returns_leave_room_for_names_in_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [f"{10 * i},{1000.0 + i},{1200.0 + i},{1400.0 + i},{900.0 + i}" for i in range(1, 9)]
    runs = "slowest__1", "slowest__2", "slowest__3", "other__1"
    names = [f"Hopper-v4__{run}__1 - charts/episodic_return" for run in runs]
    (tmp_path / "wandb.csv").write_text("\n".join([",".join(["global_step", *names]), *rows]) + "\n")
    assert main(["import", str(tmp_path / "wandb.csv"), "--out", str(tmp_path / "site")]) == 0
    ranked = capsys.readouterr().out.partition("Every task")[0]
    assert re.search(r" 1 +slowest +1,208 \[1,008, 1,408\] +1,208 ", ranked)
