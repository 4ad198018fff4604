"""What is compiled is compiled once: who needs it meanwhile waits and loads it; a new stamp compiles anew."""

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiltyard.envs.numba_cache import _digest, _imported, lock, stamp_of

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


def test_a_stamp_changes_with_what_a_module_imports_and_with_nothing_else(tmp_path: Path) -> None:
    sources = {
        "top.py": "from .part import helper\nfrom . import (\n    other,  # a module\n    more as again,\n)\n",
        "part/__init__.py": "from .deep import x\n",
        "part/deep.py": "from ..base import constant\n",
        "base.py": "constant = 1\n",
        "other.py": "",
        "more.py": "",
        "apart.py": "from .top import y\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def stamps() -> dict[str, str]:
        stamp_of.cache_clear()
        _imported.cache_clear()
        _digest.cache_clear()
        return {name: stamp_of(tmp_path / name, tmp_path) for name in sources}

    before = stamps()
    assert len(set(before.values())) == len(sources)
    concerned = {
        "base.py": {"top.py", "part/__init__.py", "part/deep.py", "base.py", "apart.py"},
        "more.py": {"top.py", "more.py", "apart.py"},
        "other.py": {"top.py", "other.py", "apart.py"},
        "apart.py": {"apart.py"},
    }
    for edited, expected in concerned.items():
        (tmp_path / edited).write_text(sources[edited] + "# edited\n")
        assert {name for name, stamp in stamps().items() if stamp != before[name]} == expected
        (tmp_path / edited).write_text(sources[edited])


def _held(folder: str) -> None:
    with lock(folder), lock(folder):
        pass


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked here")
def test_a_forked_process_takes_the_lock_that_its_parent_has_used(tmp_path: Path) -> None:
    _held(str(tmp_path))
    child = multiprocessing.get_context("fork").Process(target=_held, args=(str(tmp_path),))
    child.start()
    child.join(60)
    assert child.exitcode == 0
