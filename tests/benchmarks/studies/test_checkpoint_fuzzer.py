import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.studies.checkpoint_fuzzer import Mutator, nodes, packed, parts


def fuzz(mutations: int, seed: int) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since an audit hook stays."""
    command = [sys.executable, "-m", "tiltyard.benchmarks.studies.checkpoint_fuzzer"]
    numbers = ["--mutations", str(mutations), "--seed", str(seed)]
    return subprocess.run([*command, *numbers], capture_output=True, text=True)


@pytest.mark.parametrize("mutations", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_checkpoints_load_or_end_in_a_sentence_and_do_nothing_else(mutations: int) -> None:
    done = fuzz(mutations, mutations)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'wrong'" not in done.stdout
    assert "'loaded'" in done.stdout  # it is not the fuzzer that is refused


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import this_is_not_there", "imported this_is_not_there"),
        ("open({!r}, 'w')", "opened"),
        ("open({!r} + '.not', 'a')", "opened"),
        ("import os; os.remove({!r} + '.not')", "os.remove"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import socket; socket.socket().connect(('127.0.0.1', 1))", "socket.connect"),
        ("raise ValueError('what the file says\\n')", "no sentence"),
        ("raise ValueError('of some file')", "no sentence"),
        ("raise KeyError('the file')", "KeyError"),
        ("raise ValueError('the file is bad')", "refused"),
        ("pass", "loaded"),
    ],
)
def test_what_a_load_may_not_do_is_seen(code: str, found: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    script = (
        "import sys, io, tiltyard.benchmarks.studies.checkpoint_fuzzer as f, socket, subprocess\n"
        "class A:\n    load = staticmethod(lambda file, device: exec(file.getvalue().decode()))\n"
        f"print(f.outcome(A, {code.format(str(canary)).encode()!r}, f.Watch({str(canary)!r})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith(found), done.stdout + done.stderr


def test_mutations_are_repeatable_and_keep_checksums() -> None:
    settings = b'{"class": "SAC", "settings": {"gamma": 0.9, "net_arch": [4, 5]}}'
    weights = b'\x30\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}'
    whole = packed(settings, weights)
    assert parts(whole) == (settings, weights)
    spoilt = [Mutator(np.random.default_rng(3), "canary").spoil_settings(whole) for _ in range(2)]
    assert spoilt[0] == spoilt[1] != whole
    with zipfile.ZipFile(io.BytesIO(spoilt[0])) as archive:
        assert archive.testzip() is None
    assert len(list(nodes({"a": [1, {"b": 2}], "c": 3}))) == 5  # a, 1, {...}, b, c
