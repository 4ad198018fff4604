import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import ray

from tiltyard.benchmarks import RaceIncomplete, Suite, how_to_autorl, race
from tiltyard.benchmarks.engines.keeper import writers
from tiltyard.benchmarks.engines.ray import _Race, check_address, resources
from tiltyard.benchmarks.runs import Run
from tiltyard.benchmarks.suites import Entry, Task
from tiltyard.benchmarks.tuning import finish_trials

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


@pytest.mark.slow
def test_a_search_has_one_cluster_for_all_its_rungs_and_ends_it(tmp_path, monkeypatch):
    suite = Suite("tiny", "", (Task("Pendulum-v1", (Entry("sac", 90, 1.0, PARAMS),), eval_episodes=2),), (0,))
    clusters = []

    def finished(*runs, **how):
        done = finish_trials(*runs, **how)
        clusters.append(ray.nodes()[0]["NodeID"])
        return done

    monkeypatch.setattr(how_to_autorl, "finish_trials", finished)
    search = {"trials": 3, "seeds": [10_000], "test_seeds": [0], "space": ["learning_rate"], "engine": "ray"}
    how_to_autorl.search(suite, method="random", root=tmp_path, workers=1, **search)
    assert len(clusters) > 1
    assert len(set(clusters)) == 1
    assert not ray.is_initialized()
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


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://localhost:{}", "127.0.0.1:9{}"])
def test_an_address_where_nothing_answers_is_refused_in_a_sentence_before_ray_tries(form, tmp_path):
    address = form.format(closed_port())
    (tmp_path / "mine.toml").write_text(
        'seeds = [0]\n[[tasks]]\nenv_id = "CartPole-v1"\nentries = [{ agent = "dqn", budget = 8 }]\n'
    )
    command = [sys.executable, "-m", "tiltyard.benchmarks.cli", *"race mine.toml --engine ray --out runs".split()]
    environment = {**os.environ, "RAY_ADDRESS": address, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tiltyard: no Ray cluster answers at RAY_ADDRESS={address} (")
    assert line.endswith("or unset it, which starts one on this machine")


def test_a_cluster_that_does_not_start_is_said_in_a_sentence(tmp_path):
    """A busy machine is the usual reason and takes long to make; a folder that Ray cannot use is another."""
    (tmp_path / "mine.toml").write_text(
        'seeds = [0]\n[[tasks]]\nenv_id = "CartPole-v1"\nentries = [{ agent = "dqn", budget = 8 }]\n'
    )
    command = [sys.executable, "-m", "tiltyard.benchmarks.cli", *"race mine.toml --engine ray --out runs".split()]
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    environment = {**os.environ, "RAY_TMPDIR": str(tmp_path / ("long" * 30)), "RAY_ADDRESS": "", "PYTHONPATH": path}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "tiltyard: Ray did not start on this machine (" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("when less is running here, or leave --engine ray out")
    assert "Traceback" not in done.stderr


def test_an_address_that_answers_or_names_no_port_passes():
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_address(f"127.0.0.1:{server.getsockname()[1]}")
    for address in ("", "auto", "local"):
        check_address(address)


MARKS = """
import sys, time
from pathlib import Path
from tiltyard.benchmarks.engines.ray import _Race
race = _Race(None, Path(sys.argv[1]))
print("there", flush=True)
time.sleep(60)
"""


def test_the_mark_of_a_killed_race_is_cleared_by_the_next_one_and_that_of_a_live_one_is_kept(tmp_path):
    command = [sys.executable, "-c", MARKS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "there\n"
        (mark,) = tmp_path.iterdir()
        _Race(None, tmp_path).end()
        assert list(tmp_path.iterdir()) == [mark]
        other.kill()
    assert list(tmp_path.iterdir()) == [mark]
    _Race(None, tmp_path).end()
    assert not list(tmp_path.iterdir())


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
        writer = subprocess.Popen(["sh", "-c", "sleep 600 & exec sleep 600"], stdout=log, **start)
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


MIDDLE = Suite(
    "middle",
    "",
    (Task("tiltyard/Hopper-v5", (Entry("sac", 2_000, 1.0, PARAMS),), eval_episodes=4, eval_points=1),),
    (0, 1),
)


@pytest.fixture(scope="module")
def scores(tmp_path_factory) -> list[Any]:
    """What the local engine finds."""
    return [run.scores for run in race(MIDDLE, root=tmp_path_factory.mktemp("local"), workers=2)]


def once_under_way(root: Path, act: Callable[[], Any]) -> threading.Thread:
    """Does something as soon as both runs of a race have begun to train."""

    def wait() -> None:
        wait_for(lambda: len(list(root.glob("*.partial/steps"))) == 2, 120)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def workers() -> list[int]:
    """Processes of this cluster that execute runs."""
    lines = {process: Path(f"/proc/{process}/cmdline").read_bytes() for process in below(os.getpid())}
    return [process for process, line in lines.items() if b"execute_anywhere" in line]


@pytest.mark.slow
def test_a_run_whose_worker_is_killed_is_executed_anew_and_ends_as_it_would_have(tmp_path, scores):
    killer = once_under_way(tmp_path, lambda: os.kill(workers()[0], signal.SIGKILL))
    with pytest.warns(UserWarning, match=r"died .* it is executed anew \(1 of 2 times\)"):
        found = race(MIDDLE, root=tmp_path, engine="ray", workers=2)
    killer.join()
    assert [run.scores for run in found] == scores
    assert not list(tmp_path.glob(".race-*"))


@pytest.fixture
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.mark.slow
def test_runs_of_a_node_that_is_lost_go_on_another(tmp_path, scores, cluster):
    import ray

    cluster.add_node(num_cpus=1)
    lost = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    killer = once_under_way(tmp_path, lambda: cluster.remove_node(lost, allow_graceful=False))
    with pytest.warns(UserWarning, match="it is executed anew"):
        found = race(MIDDLE, root=tmp_path, engine="ray", workers=2)
    killer.join()
    assert [run.scores for run in found] == scores


@pytest.fixture
def elsewhere(tmp_path) -> Iterator[str]:
    """The address of a cluster whose processes see another folder where ours is: no file system is shared."""
    own = tempfile.mkdtemp(prefix="ray-")  # else the next cluster is looked for where this one was
    ray = f"{Path(sys.executable).with_name('ray')} start --head --port 0 --num-cpus 2 --include-dashboard false"
    command = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {tmp_path} && exec {ray} --temp-dir {own}"]
    env = {**os.environ, "RAY_AUTH_MODE": "disabled"}  # for a cluster that ends with the test
    said = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True)
    yield (said.stdout + said.stderr).partition("--address='")[2].partition("'")[0]
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # ended meanwhile
            if own.encode() in line.read_bytes():
                os.kill(int(line.parent.name), signal.SIGKILL)
    shutil.rmtree(own, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own takes root's rights")
def test_nodes_that_do_not_see_the_folder_send_the_files(tmp_path, scores, elsewhere):
    import ray

    ray.init(address=elsewhere, log_to_driver=False)
    try:
        found = race(MIDDLE, root=tmp_path / "runs", engine="ray", workers=2)
        assert [run.scores for run in found] == scores
        entries = (Entry("td3", 150, 1.0, {"policy": "NoPolicy"}),)
        broken = Suite("broken", "", (Task("tiltyard/Hopper-v5", entries, eval_episodes=4, eval_points=1),), (0,))
        with pytest.raises(RaceIncomplete, match="NoPolicy"):
            race(broken, root=tmp_path / "runs", engine="ray")
        (partial,) = (tmp_path / "runs").glob("*.partial")
        assert "NoPolicy" in (partial / "error.txt").read_text()
    finally:
        ray.shutdown()


def test_a_run_asks_for_a_gpu_when_its_settings_name_one():
    run = {"env_id": "tiltyard/Hopper-v5", "agent": "sac", "seed": 0, "budget": 10}
    assert resources(Run(**run, params={})) == {"num_cpus": 1, "num_gpus": 0.0}
    assert resources(Run(**run, params={"device": "cuda:0"})) == {"num_cpus": 1, "num_gpus": 1.0}


@pytest.mark.slow
def test_a_gpu_that_the_cluster_has_not_is_said_and_not_waited_for(tmp_path):
    entries = (Entry("sac", 150, 1.0, {**PARAMS, "device": "cuda"}),)
    suite = Suite("gpu", "", (Task("tiltyard/Hopper-v5", entries, eval_episodes=4, eval_points=1),), (0,))
    with pytest.raises(RaceIncomplete, match="asks for a GPU"):
        race(suite, root=tmp_path, engine="ray")
