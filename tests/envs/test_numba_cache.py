"""What is compiled is compiled once: who needs it meanwhile waits and loads it; a new stamp compiles anew."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

MODULE = """
import sys
from numba import njit
from tiltyard.envs.numba_cache import guarded, lock

@njit(cache=True)
def doubled(x):
    return 2 * x

guarded(doubled, sys.argv[1])

def call():
    assert doubled(21) == 42
    print(sum(doubled.stats.cache_hits.values()), "loaded", sum(doubled.stats.cache_misses.values()), "compiled")

if sys.argv[2] == "first":
    with lock(doubled._cache.cache_path):
        print("holds the lock", flush=True)
        sys.stdin.readline()
        call()
else:
    print("goes on", flush=True)
    call()
"""


@pytest.fixture
def start(tmp_path: Path):
    (tmp_path / "module.py").write_text(MODULE)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return lambda *words: subprocess.Popen([sys.executable, str(tmp_path / "module.py"), *words], **pipes)


def test_a_second_process_waits_and_loads_what_the_first_has_compiled_of_the_same_sources(start) -> None:
    with start("a", "first") as first:
        assert first.stdout.readline() == "holds the lock\n"
        with start("a", "second") as second:
            assert second.stdout.readline() == "goes on\n"
            time.sleep(1.0)  # enough to compile it twice
            assert first.communicate("now\n")[0] == "0 loaded 1 compiled\n"
            assert second.communicate()[0] == "1 loaded 0 compiled\n"
    with start("b", "other sources") as third:
        assert third.communicate()[0] == "goes on\n0 loaded 1 compiled\n"
