"""Logs of other libraries with cells, names and files as their programs write them."""

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.events import read_folder, read_scalars
from tiltyard.benchmarks.imports import Source, read_runs
from tiltyard.benchmarks.runs import FinishedRun

TAG = "charts/episodic_return"
RUNS = ("Hopper-v4__sac__1__1700000000", "Hopper-v4__sac__2__1700000001")


def quoted(path: Path, *rows: Sequence[Any]) -> Path:
    """A CSV file with every cell in quotes, as W&B writes it."""
    path.write_text("".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows))
    return path


def downloaded(folder: Path, name: str) -> Path:
    """What TensorBoard's page gives for a scalar."""
    (path := folder / name).write_text("Wall time,Step,Value\n1700000000.5,100,1.0\n1700000001.5,200,3.0\n")
    return path


def of(*runs: FinishedRun) -> list[tuple[Any, ...]]:
    return [(run.run.env_id, run.run.agent, run.run.seed, run.scores) for run in runs]


def test_cells_that_are_nan_are_left_out_and_counted(tmp_path: Path) -> None:
    """W&B writes "NaN" where a metric was a mean over no episodes; one such cell refused the whole file."""
    heads = ["global_step", *(f"{run} - {TAG}" for run in RUNS)]
    rows = [[100, "NaN", ""], [200, 3, 5], [300, "", "NaN"], ["NaN", "", 9], [400, 4, 6]]
    path = quoted(tmp_path / "wandb.csv", heads, *rows)
    with pytest.warns(UserWarning, match="left out") as told:
        runs = read_runs([Source(path)])
    assert of(*runs) == [("imported.training:Hopper-v4", "sac", i + 1, (4.0 + 2 * i,)) for i in range(2)]
    assert [run.curve[0][:2] for run in runs] == [(200, 3.0), (200, 5.0)]
    said = [str(one.message) for one in told]
    assert said[0].endswith("4 of 10 returns in it have no value or no step and were left out")
    assert [one.endswith("1 of 3 returns are NaN and were left out") for one in said[1:]] == [True, True]


@pytest.mark.parametrize("cell", ["Infinity", "-inf", "many", "1,5"])
def test_cells_that_are_no_finite_number_are_named(cell: str, tmp_path: Path) -> None:
    path = quoted(tmp_path / "wandb.csv", ["global_step", f"{RUNS[0]} - {TAG}"], [100, 1], [200, cell])
    with pytest.raises(ValueError, match=f"row 2 has '{cell}' in column {RUNS[0]} - {TAG}, which is no finite number"):
        read_runs([Source(path)])


@pytest.mark.parametrize(("last", "told"), [("NaN", "after step 100, up to its last, 200"), (None, "at all steps")])
def test_returns_that_end_as_nan_are_no_score(last: str | None, told: str, tmp_path: Path) -> None:
    """The last value before a divergence is not what the training came to."""
    path = quoted(tmp_path / "a.csv", ["global_step", TAG], [100, 1 if last else "NaN"], [200, "NaN"])
    with pytest.raises(ValueError, match=f"its returns are NaN {told}, so that it has no score at its end"):
        read_runs([Source.parse(f"sac@Hopper-v4={path}")])


def test_a_file_that_tensorboards_page_gives_needs_no_tag(tmp_path: Path) -> None:
    training = downloaded(tmp_path, f"run-{RUNS[0]}-tag-charts_episodic_return.csv")
    evaluation = downloaded(tmp_path, f"run-{RUNS[1]}-tag-eval_mean_reward (1).csv")
    assert of(*read_runs([Source(training), Source(evaluation)])) == [
        ("imported.training:Hopper-v4", "sac", 1, (3.0,)),
        ("imported:Hopper-v4", "sac", 2, (3.0,)),
    ]
    for tag in ("Value", "eval/mean_reward"):
        assert read_runs([Source(evaluation, tag=tag)])[0].run.env_id == "imported:Hopper-v4"
    with pytest.raises(ValueError, match="has no column of steps and returns; give --tag"):
        read_runs([Source(evaluation, tag="eval/typo")])


def test_a_download_of_something_else_is_not_taken_for_returns(tmp_path: Path) -> None:
    path = downloaded(tmp_path, "run-PPO_1-tag-train_loss.csv")
    with pytest.raises(ValueError, match="holds train_loss by its name: if these are returns, give --tag Value"):
        read_runs([Source(path, "ppo", "Hopper-v4")])
    assert read_runs([Source(path, "ppo", "Hopper-v4", "Value")])[0].scores == (3.0,)


def test_the_only_column_of_values_is_taken_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(",step,reward,time\n0,100,1.0,7\n1,200,3.0,8\n")
    with pytest.warns(UserWarning, match="its only column of values, 'reward', is taken for returns"):
        (run,) = read_runs([Source(path, "ppo", "Hopper-v4")])
    assert run.scores == (3.0,)
    path.write_text("step,reward,length\n100,1.0,7\n")
    with pytest.raises(ValueError, match="give --tag, one of step, reward, length"):
        read_runs([Source(path, "ppo", "Hopper-v4")])


def test_columns_of_named_runs_ask_for_the_task_alone(tmp_path: Path) -> None:
    path = quoted(tmp_path / "wandb.csv", ["Step", f"a-1 - {TAG}", f"b-2 - {TAG}"], [100, 1, 2])
    with pytest.raises(ValueError, match="does not say on what a-1 is: give @TASK="):
        read_runs([Source(path)])
    assert [run.run.agent for run in read_runs([Source.parse(f"@Hopper-v4={path}")])] == ["a-1", "b-2"]


def event(step: int, tag: str, value: float, kind: int = 1) -> bytes:
    """A record of a tensor of one number: 1 is of single precision, 2 of double."""
    number = struct.pack("<f" if kind == 1 else "<d", value)
    tensor = b"\x08" + bytes([kind]) + bytes([(4 + kind) << 3 | 2, len(number)]) + number
    held = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x42" + bytes([len(tensor)]) + tensor
    summary = b"\x0a" + bytes([len(held)]) + held
    body = b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary
    return struct.pack("<QI", len(body), 0) + body + bytes(4)


def test_scalars_of_double_precision_are_read(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(event(1, TAG, 0.1, kind=2) + event(2, TAG, 0.5) + event(3, TAG, math.nan))
    assert read_scalars(path)[TAG][:2] == [(1, 0.1), (2, 0.5)]


def test_the_event_files_of_one_training_are_one_run(tmp_path: Path) -> None:
    """What was trained again after a stop counts once, as its last writer has it; two files alone count as two runs."""
    folder = tmp_path / RUNS[0]
    folder.mkdir()
    first, second = folder / "events.out.tfevents.9.host", folder / "events.out.tfevents.10.host"
    first.write_bytes(event(10, TAG, 1.0) + event(20, TAG, 2.0) + event(30, TAG, 3.0))
    second.write_bytes(event(20, TAG, 5.0) + event(40, TAG, 6.0))
    assert read_folder(folder) == {TAG: [(10, 1.0), (20, 5.0), (40, 6.0)]}
    assert of(*read_runs([Source(folder)])) == [("imported.training:Hopper-v4", "sac", 1, (6.0,))]
    with pytest.warns(UserWarning, match=r"2 event files of \S+ count as 2 runs: if one training wrote them"):
        assert len(read_runs([Source(first), Source(second)])) == 2
    with pytest.raises(ValueError, match="give the folder or its files"):
        read_runs([Source(folder), Source(second)])


def test_successes_of_an_evaluation_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.npz"
    results = np.array([[1.0, 2.0], [3.0, 5.0]])
    np.savez(path, timesteps=[10, 20], results=results, successes=[[False, False], [True, False]])
    (run,) = read_runs([Source(path, "sac", "FetchReach-v4")])
    assert (run.successes, run.curve) == ((True, False), ((10, 1.5, 0.0), (20, 4.0, 0.5)))
    np.savez(path, timesteps=[10, 20], results=results, successes=[True, False])
    with pytest.raises(ValueError, match=r"successes of shape \(2,\) and results of shape \(2, 2\)"):
        read_runs([Source(path, "sac", "FetchReach-v4")])


@pytest.mark.parametrize(
    ("name", "runs_in_one"),
    [
        ("progress.csv", f"run,step,{TAG}\na,10,1\na,20,2\nb,10,5\nb,20,6\n".encode()),
        ("events.out.tfevents.1.host", b"".join(event(step, TAG, 1.0) for step in (10, 20, 10, 20))),
    ],
    ids=["csv", "events"],
)
def test_runs_below_each_other_are_not_one(runs_in_one: bytes, name: str, tmp_path: Path) -> None:
    """They were sorted by their steps, and averaged as one run."""
    (path := tmp_path / name).write_bytes(runs_in_one)
    with pytest.raises(ValueError, match="its steps fall from 20 to 10: give each run a file or a column of its own"):
        read_runs([Source(path, "ppo", "Hopper-v4", TAG)])
