import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiltyard.benchmarks import RaceIncomplete, Suite, race
from tiltyard.benchmarks.engines.keeper import writers
from tiltyard.benchmarks.suites import Entry, Task

PARAMS = {
    "learning_starts": 60,
    "n_envs": 1,
    "gradient_steps": 1,
    "policy_kwargs": {"net_arch": [16]},
    "buffer_size": 1000,
}


@pytest.mark.slow
def test_a_real_ray_gives_the_same_bits_as_the_local_engine_and_names_what_fails(tmp_path):
    entries = (Entry("sac", 150, 1.0, PARAMS), Entry("td3", 150, 1.0, {"policy": "NoPolicy"}))
    suite = Suite("tiny", "", (Task("tiltyard/Hopper-v5", entries, eval_episodes=4, eval_points=3),), (0, 1))
    local = race(suite, agents=["sac"], root=tmp_path / "local", workers=2)
    assert [run.scores for run in race(suite, agents=["sac"], root=tmp_path / "ray", engine="ray", workers=2)] == [
        run.scores for run in local
    ]
    with pytest.raises(RaceIncomplete, match="NoPolicy") as caught:
        race(suite, root=tmp_path / "ray", engine="ray", seeds=[0])
    assert len(caught.value.failures) == 1
    assert len(caught.value.finished) == 1
    wait_for(lambda: not below(os.getpid()), 30)


RACE = """
import os, sys
from pathlib import Path
from tiltyard.benchmarks import Suite, race
from tiltyard.benchmarks.suites import Entry, Task
params = {"learning_starts": 60, "n_envs": 1, "policy_kwargs": {"net_arch": [16]}, "buffer_size": 1000}
task = Task("tiltyard/Hopper-v5", (Entry("sac", 1_000_000, 1.0, params),), eval_episodes=4, eval_points=1)
race(Suite("long", "", (task,), (0, 1)), root=sys.argv[1], engine="ray", workers=2)
"""


def parents():
    """The parent of every process that is not a zombie."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found[int(stat.parent.name)] = int(parent)
    return found


def below(root):
    """Every process that descends from ``root``."""
    family, known = {root}, parents()
    while more := {process for process, parent in known.items() if parent in family} - family:
        family |= more
    return family - {root}


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)


@pytest.mark.slow
def test_nothing_of_ray_outlives_a_race_that_is_killed(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", RACE, str(tmp_path)])
    wait_for(lambda: len(list(tmp_path.glob("*.partial/steps"))) == 2, 300)
    family = below(process.pid)
    assert len(family) > 6  # Ray's server, node, monitors and agents, two runs, and the keeper
    process.kill()
    process.wait()
    wait_for(lambda: not family & parents().keys(), 30)
    assert len(list(tmp_path.glob("*.partial"))) == 2


def test_the_keeper_ends_who_writes_a_log_and_nobody_else(tmp_path):
    logs, start = tmp_path / "logs", {"start_new_session": True}
    logs.mkdir()
    for name in ("worker.out", "notes.txt"):
        (logs / name).touch()
    sleep = ["sleep", "600"]
    with (logs / "worker.out").open("a") as log, (logs / "notes.txt").open("a") as notes:
        writer = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], stdout=log, **start)
        other = subprocess.Popen(sleep, stdout=notes, **start)
    with (logs / "worker.out").open() as log:
        reader = subprocess.Popen(sleep, stdin=log, **start)
    keeper = Path(writers.__code__.co_filename)
    kept = subprocess.Popen([sys.executable, "-I", str(keeper), str(logs)], stdin=subprocess.PIPE)
    wait_for(lambda: len(writers(logs)) == 2, 60)
    assert writer.poll() is None
    kept.communicate(timeout=60)
    assert writer.wait() == -signal.SIGKILL
    assert not writers(logs)
    assert [process.poll() for process in (reader, other)] == [None, None]
    for process in (reader, other):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
