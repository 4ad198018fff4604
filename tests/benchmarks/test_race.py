import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from tiltyard.benchmarks import RaceIncomplete, Suite, load_runs, provenance, race
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


def test_the_message_says_how_to_go_on():
    assert _message({"a": "its worker was killed by SIGKILL"}, 23, Path("runs"), "tiltyard race smoke --out runs") == (
        "1 of 24 runs have no result: a (its worker was killed by SIGKILL); the other 23 are kept in runs; "
        "to go on, run: tiltyard race smoke --out runs"
    )


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
