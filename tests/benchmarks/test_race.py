import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from threading import Thread

import pytest

from tiltyard.benchmarks import RaceIncomplete, Suite, load_runs, provenance, race
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.diverging import RECORD
from tiltyard.benchmarks.engines import BUSY
from tiltyard.benchmarks.engines.worker import attempt
from tiltyard.benchmarks.race import _message
from tiltyard.benchmarks.suites import Entry, Task

PARAMS = {
    "learning_starts": 60,
    "n_envs": 1,
    "gradient_steps": 1,
    "policy_kwargs": {"net_arch": [16]},
    "buffer_size": 1000,
}


def suite(budget=150, **params):
    entries = (Entry("sac", budget, 1.0, {**PARAMS, **params}),)
    return Suite("tiny", "", (Task("tiltyard/Hopper-v5", entries, eval_episodes=4, eval_points=3),), (0, 1))


def workers(root):
    """Process ids of the live workers that fill ``root``."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"tiltyard.benchmarks.engines.worker" in words and str(root).encode() in words and state != "Z":
            found.append(int(folder.name))
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("race")
    return root, race(suite(), root=root, workers=2)


def test_a_race_returns_every_run_in_order_and_leaves_their_folders_alone(finished, capsys):
    root, runs = finished
    assert [run.run for run in runs] == suite().runs()
    assert load_runs(root) == sorted(runs, key=lambda run: run.folder)
    assert {path.name for path in root.iterdir()} == {run.run.name for run in runs}


def test_a_worker_gives_the_same_bits_as_this_process(finished, tmp_path):
    _, runs = finished
    assert runs[0].run.execute(tmp_path).scores == runs[0].scores


def test_a_finished_race_starts_no_process(finished):
    root, runs = finished
    assert race(suite(), root=root) == runs


def test_a_killed_worker_is_named_the_others_kept_and_the_race_resumed(tmp_path):
    entries = (Entry("sac", 3_000, 2.0, {**PARAMS, "learning_starts": 3_000}), Entry("td3", 150, 1.0, PARAMS))
    two = Suite("two", "", (Task("tiltyard/Hopper-v5", entries, eval_episodes=4, eval_points=1),), (0,))
    killed, kept = two.runs()
    raised = []

    def run_race():
        with pytest.raises(RaceIncomplete) as caught:
            race(two, root=tmp_path, workers=1)
        raised.append(caught.value)

    thread = Thread(target=run_race)
    thread.start()
    wait_for(lambda: (killed.partial(tmp_path) / "steps").exists())
    (worker,) = workers(tmp_path)
    os.kill(worker, signal.SIGKILL)
    thread.join(60)
    (incomplete,) = raised
    assert incomplete.failures == {killed.name: "its worker was killed by SIGKILL"}
    assert [run.run for run in incomplete.finished] == [run.run for run in load_runs(tmp_path)] == [kept]
    assert killed.partial(tmp_path).is_dir()

    written = (kept.folder(tmp_path) / "final.json").stat().st_mtime_ns
    assert [run.run for run in race(two, root=tmp_path)] == [killed, kept]
    assert (kept.folder(tmp_path) / "final.json").stat().st_mtime_ns == written
    assert not killed.partial(tmp_path).exists()


def test_a_run_that_raises_is_named_and_the_others_are_kept(tmp_path):
    with pytest.raises(RaceIncomplete) as caught:
        race(suite(policy="NoPolicy"), seeds=[0], root=tmp_path)
    ((name, reason),) = caught.value.failures.items()
    assert name.startswith("Hopper-v5-sac-s0-")
    assert "NoPolicy" in reason
    assert "tiltyard race tiny --seeds 0 --out" in str(caught.value)


def test_a_run_that_diverges_is_not_run_again(tmp_path):
    with pytest.raises(RaceIncomplete, match="2 of 2 runs have no result.*training diverged within") as first:
        race(suite(learning_rate=1e30), root=tmp_path, workers=2)
    assert str(first.value).endswith("are not run again unless their folders, NAME.partial, are removed")
    records = {path: path.stat().st_mtime_ns for path in tmp_path.glob(f"*.partial/{RECORD}")}
    assert len(records) == 2
    with pytest.raises(RaceIncomplete) as second:
        race(suite(learning_rate=1e30), root=tmp_path, workers=2)
    assert second.value.failures.keys() == first.value.failures.keys()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob(f"*.partial/{RECORD}")} == records
    shutil.rmtree(next(iter(records)).parent)
    with pytest.raises(RaceIncomplete):
        race(suite(learning_rate=1e30), root=tmp_path, workers=2)
    again = {path: path.stat().st_mtime_ns for path in tmp_path.glob(f"*.partial/{RECORD}")}
    assert [again[path] == written for path, written in records.items()] == [False, True]


def test_the_message_says_how_to_go_on():
    command = "tiltyard race smoke --out runs"
    assert _message({"a": "its worker was killed by SIGKILL"}, [], 23, Path("runs"), command) == (
        "1 of 24 runs have no result: a (its worker was killed by SIGKILL); the other 23 are kept in runs; "
        "to go on, run: tiltyard race smoke --out runs"
    )
    both = _message({"a": "it diverged", "b": "stopped"}, ["a"], 22, Path("runs"), command)
    assert "kept in runs; 1 of them diverged, which tiltyard report tells" in both
    assert both.endswith("; to go on, run: tiltyard race smoke --out runs")


def test_a_run_of_another_version_is_kept_out_and_named(finished, tmp_path):
    _, runs = finished
    for run in runs:
        shutil.copytree(run.folder, tmp_path / run.folder.name)
    record = tmp_path / runs[0].folder.name / "run.json"
    versions = provenance.versions() | {"mujoco": "3.1.0"}
    record.write_text(json.dumps(json.loads(record.read_text()) | {"versions": versions}))
    with pytest.raises(RaceIncomplete, match=r"was run with mujoco 3.1.0 \(now .*; move .* away to run it again"):
        race(suite(), root=tmp_path)
    assert record.exists()


TWO = """
import sys
from tiltyard.benchmarks import Suite, race
from tiltyard.benchmarks.suites import Entry, Recipe, Task
hopper, data = "tiltyard/Hopper-v5", "tiltyard/hopper/few-v0"
params = {"learning_starts": 60, "n_envs": 1, "policy_kwargs": {"net_arch": [16]}, "buffer_size": 1000}
online = Task(hopper, (Entry("sac", 150, 2.0, params),), eval_episodes=4, eval_points=3)
learns = Entry("iql", 0, 1.0, {"offline_steps": 4, "batch_size": 8, "n_envs": 1})
offline = Task(hopper, (learns,), eval_episodes=2, eval_points=1, dataset=data)
recipe = Recipe(hopper, "random", {"episodes": 200})
suite = Suite("tiny", "", (online, offline), (0,), datasets={data: recipe})
for run in race(suite, root=sys.argv[1], workers=1):
    print("result", run.run.name, run.normalised)
"""


@pytest.mark.slow  # six processes; that one race takes over from another is in the default suite
def test_two_races_in_one_folder_share_the_work_and_both_end_well(tmp_path):
    command = [sys.executable, "-c", TWO, str(tmp_path / "runs")]
    kept = {**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "data")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=kept, **pipes) for _ in "ab"]
    said = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    results = [[line for line in out.splitlines() if line.startswith("result")] for out, _ in said]
    assert results[0] == results[1]
    assert len(results[0]) == 2
    assert not any("failed" in out for out, _ in said)
    whole = {"run.json", "final.json", "evaluations.npz", "progress.csv", "checkpoint.zip"}
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {line.split()[1] for line in results[0]}
    for folder in (tmp_path / "runs").iterdir():
        assert {path.name for path in folder.iterdir()} == whole


def test_a_race_takes_over_from_another_that_is_killed(tmp_path, capsys):
    run = suite().runs(seeds=[0])[0]
    hold = "import sys, time; from pathlib import Path; from tiltyard.benchmarks.folders import claimed\n"
    hold += "with claimed(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(run.partial(tmp_path))], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        assert attempt(run, tmp_path) == BUSY
        assert {path.name for path in tmp_path.iterdir()} == {f"{run.name}.partial", f"{run.name}.lock"}
        assert not list(run.partial(tmp_path).iterdir())
        found = []
        thread = Thread(target=lambda: found.extend(race(suite(), seeds=[0], root=tmp_path, workers=1)))
        thread.start()
        said = []
        wait_for(lambda: said.append(capsys.readouterr().out) or "waiting for another process" in "".join(said), 120)
        assert thread.is_alive()
        holder.kill()
        thread.join(120)
    assert [one.run for one in found] == [run]
    assert [path.name for path in tmp_path.iterdir()] == [run.name]


def test_an_errors_own_words_are_printed_as_they_are(tmp_path, capsys, monkeypatch):
    words = "[/x] [bold]no[/bold] [link=http://e.f]"
    monkeypatch.setattr(
        sys.modules[race.__module__], "find_engine", lambda _: lambda runs, *_: iter([(runs[0], words)])
    )
    monkeypatch.setattr(sys.modules[race.__module__], "closing", nullcontext)
    with pytest.raises(RaceIncomplete, match="1 of 1 runs have no result") as caught:
        race(suite(), seeds=[0], root=tmp_path)
    assert words in str(caught.value)
    assert words in capsys.readouterr().out.replace("\n", " ")


def test_a_folder_may_have_any_name(tmp_path):
    name = "with space, ünïcode-δ, [bold]x[/y], 'a\"b"
    runs = race(suite(), seeds=[0], root=tmp_path / name)
    assert load_runs(tmp_path / name) == runs
    assert main(["leaderboard", str(tmp_path / name), "--out", str(tmp_path / name / "site")]) == 0


def test_where_nothing_can_be_written_is_said_in_a_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for out in ("file", "file/runs", "/proc/runs"):
        for command in ("race smoke --agents sac --seeds 0", "train --env tiltyard/Hopper-v5 --agent sac --steps 10"):
            assert main([*command.split(), "--out", str(tmp_path / out)]) == 2
            (said,) = capsys.readouterr().err.splitlines()
            assert said.startswith("tiltyard: ")
            assert out in said


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_race_that_is_stopped_takes_its_workers_with_it(tmp_path, sent):
    command = [sys.executable, "-m", "tiltyard.benchmarks.cli", "race", "smoke", "--agents", "sac", "--seeds", "0"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )
    wait_for(lambda: list(tmp_path.glob("*.partial/steps")))
    assert len(workers(tmp_path)) == 1
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    wait_for(lambda: not workers(tmp_path))
    assert load_runs(tmp_path) == []
    if sent == signal.SIGINT:
        assert process.returncode == 130
        assert said.splitlines()[-1].startswith("stopped; finished runs are kept")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"suite": "smoek"}, KeyError, "unknown suite 'smoek'; did you mean 'smoke'"),
        ({"agents": ["ppoo"]}, KeyError, "unknown agent 'ppoo'; did you mean 'ppo'"),
        ({"agents": ["td3"]}, KeyError, "unknown agent in suite 'smoke' 'td3'"),
        ({"agents": []}, ValueError, "at least one agent and one seed"),
        ({"seeds": [10_000]}, ValueError, "seed 10000 is for tuning and is never raced"),
        ({"engine": "locall"}, KeyError, "unknown engine 'locall'; did you mean 'local'"),
        ({"workers": 0}, ValueError, "at least 1 worker"),
    ],
)
def test_a_race_that_cannot_be_run_is_refused_before_anything_starts(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        race(**{"suite": "smoke", **arguments}, root=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
