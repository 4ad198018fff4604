"""The real adb program on the fake device. Without adb these are skipped, and say the line that installs it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tiltyard.envs.gui.android.adb import Adb
from tiltyard.envs.gui.android.errors import AdbTimeout, CommandFailed, DeviceGone
from tiltyard.envs.gui.android.faults import Faults
from tiltyard.envs.gui.android.handset import Handset

sys.path.insert(0, str(Path(__file__).parent))
from devices import fake, needs_adb

pytestmark = [pytest.mark.android, needs_adb]


@pytest.fixture
def device() -> Any:
    with fake() as one:
        yield one


@pytest.fixture
def link(device: Any) -> Any:
    one = Adb(device.address)
    one.connect()
    yield one
    one.close()


def test_lines_come_back_with_their_exit_code_and_both_streams(link: Adb) -> None:
    done = link.shell("echo out; ls /none; exit 5", 10.0)
    assert (done.text, done.err, done.code) == ("out", b"ls: /none: No such file or directory\n", 5)
    assert len(link.raw("screencap", 10.0)) == 16 + 432 * 768 * 4
    assert link.raw("screencap -p", 10.0).startswith(b"\x89PNG")
    long = "x" * 10_000
    assert link.shell(f"echo {long}", 10.0).text == long


def test_files_go_there_and_back(link: Adb, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "a").write_bytes(data)
    link.push(str(tmp_path / "a"), "/sdcard/deep/a")
    link.pull("/sdcard/deep/a", str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == data
    with pytest.raises(CommandFailed, match="No such file"):
        link.pull("/sdcard/none", str(tmp_path / "c"))
    with pytest.raises(CommandFailed, match="snapshots need an emulator"):
        link.load_snapshot("clean")


def test_the_users_own_server_and_devices_are_left_alone(link: Adb, device: Any) -> None:
    assert link.port != 5037
    listed = link.run("devices", timeout=10.0).text.splitlines()
    assert listed[1:] == [f"{device.address}\tdevice"]
    server = link._server
    assert server is not None
    link.close()
    assert server.poll() is not None, "our server is ended"


def test_a_device_that_is_not_there_and_one_that_goes_are_told(device: Any, link: Adb) -> None:
    nobody = Adb("127.0.0.1:1")
    with pytest.raises(DeviceGone, match=r"127.0.0.1:1 cannot be reached"):
        nobody.connect()
    nobody.close()
    device.unplug(3600.0)
    handset = Handset(link, timeout=1.0, patience=2.0)
    while device.connections:
        time.sleep(0.01)
    with pytest.raises((DeviceGone, AdbTimeout)):
        handset.ask("echo hi")
    device.unplug(0.0)
    time.sleep(0.05)
    handset.reconnect()
    assert handset.ask("echo back") == "back"


def test_a_command_that_takes_too_long_is_ended(link: Adb, device: Any) -> None:
    device.faults = Faults(drop=1.0)
    with pytest.raises(AdbTimeout, match=r"took longer than 0.4 seconds"):
        link.shell("echo hi", 0.4)
    device.faults = None
    assert Handset(link, timeout=5.0).ask("echo hi") == "hi"


def test_a_server_that_dies_is_started_again(link: Adb) -> None:
    assert link._server is not None
    link._server.kill()
    link._server.wait()
    assert Handset(link, timeout=5.0).ask("echo hi") == "hi"


def test_several_adb_processes_at_once(link: Adb) -> None:
    said: dict[int, str] = {}

    def ask(i: int) -> None:
        said[i] = link.shell(f"screencap >/dev/null; echo {i}", 20.0).text

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert said == {i: str(i) for i in range(6)}


def test_an_interactive_shell(link: Adb, device: Any) -> None:
    words = [link.binary, "-P", str(link.port), "-s", device.address, "shell"]
    done = subprocess.run(words, input=b"echo a\nfalse\nexit\n", capture_output=True, timeout=20, check=False)
    assert b"a\n" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(("tasks", "level"), [("phone-v0", 1), ("phone-v0", 3), ("phone-v1", 2), ("stock", 1)])
def test_the_expert_solves_tasks_through_adb(tasks: str, level: int) -> None:
    env = gymnasium.make("tiltyard/Android-v0", adb="adb", tasks=tasks, level=level, split="test")
    expert: Any = env.unwrapped.expert()  # type: ignore[attr-defined]
    for seed in (0, 1):
        env.reset(seed=seed)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(expert.predict(None)[0])
            over = terminated or truncated
        assert (reward, info["success"], info["failures"]) == (1.0, True, 0)
    env.close()


def test_faults_through_adb_are_recovered_from() -> None:
    rate = {"drop": 0.01, "delay": 0.05, "garbage": 0.01, "half": 0.01, "gone": 0.005, "gone_s": 0.2, "seed": 3}
    env = gymnasium.make("tiltyard/Android-v0", adb="adb", timeout=1.0, patience=30.0, faults=rate)
    expert: Any = env.unwrapped.expert()  # type: ignore[attr-defined]
    env.reset(seed=1)
    failures = 0
    for _ in range(25):
        _, _, terminated, truncated, info = env.step(expert.predict(None)[0])
        assert not info["crashed"]
        if terminated or truncated:
            assert info["success"]
            failures += int(info["failures"])
            env.reset()
    assert failures > 0
    env.close()
