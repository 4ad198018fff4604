"""Folders that one process at a time may fill."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiltyard.benchmarks.folders import Busy, claimed, is_claimed, publish

COUNT = """
import sys
from pathlib import Path
from tiltyard.benchmarks.folders import Busy, claimed
root, done = Path(sys.argv[1]), 0
while done < 25:
    try:
        with claimed(root / "run.partial") as partial:
            (partial / "mine").touch(exist_ok=False)  # raises if another process is in here
            number = int((root / "count").read_text())
            (root / "count").write_text(str(number + 1))
            (partial / "mine").unlink()
            done += 1
    except Busy:
        pass
"""
HOLD = """
import sys, time
from pathlib import Path
from tiltyard.benchmarks.folders import claimed
with claimed(Path(sys.argv[1])) as partial:
    (partial / "half").touch()
    print("held", flush=True)
    time.sleep(600)
"""


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_a_finished_folder_has_its_name_alone(tmp_path: Path) -> None:
    partial = tmp_path / "run.partial"
    assert not is_claimed(partial)
    with claimed(partial):
        (partial / "result").write_text("1")
        assert names(tmp_path) == {"run.partial", "run.lock"}
        publish(partial, tmp_path / "run")
    assert names(tmp_path) == {"run"}
    assert names(tmp_path / "run") == {"result"}


def test_an_error_leaves_what_was_written_and_its_traceback_until_the_next_claim(tmp_path: Path) -> None:
    partial = tmp_path / "run.partial"
    with pytest.raises(FileExistsError), claimed(partial):
        (partial / "half").mkdir(), (partial / "half").mkdir()
    assert names(partial) == {"half", "error.txt"}
    with claimed(partial):
        assert not names(partial)
    assert not names(tmp_path)


def test_a_killed_process_leaves_no_claim(tmp_path: Path) -> None:
    partial = tmp_path / "run.partial"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(partial)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_claimed(partial)
        with pytest.raises(Busy, match="run is being run by another process"), claimed(partial):
            raise AssertionError("two processes hold one folder")
        holder.kill()
    assert not is_claimed(partial)
    with claimed(partial):
        assert not names(partial)
    assert not names(tmp_path)


def test_processes_take_turns_while_others_ask(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path)]) for _ in range(3)]
    while any(worker.poll() is None for worker in workers):
        is_claimed(tmp_path / "run.partial")
        time.sleep(0.001)
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "75"
    assert names(tmp_path) == {"count"}
