"""One thread a process: two cores shared by worker processes are slower with more, and results must not hang on it."""

import gc
import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import pytest
import torch

from tiltyard.envs.gui.web import process

# The many processes that tests start need not compile the library's files again and again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
gc.disable()  # until all tests are collected: thousands of objects, none of them garbage

SWEEPS = ("tests/contracts", "tests/wrappers/test_spaces", "tests/envs/test_")
"""Files whose tests are of one environment each, which stands in their names."""


class Kernel(NamedTuple):
    """Code that is compiled in a new clone, which takes one core a minute and a half or two."""

    compiles: str  # the test that compiles it
    names: tuple[str, ...]  # in a test's id or file: it runs this code


PHONE = Kernel(
    "tests/envs/gui/compiled/test_env.py::test_every_kind_of_observation_is_in_its_space", ("phone", "android")
)
DRIVING = Kernel(
    "tests/envs/driving/scenarios/test_courtesy.py::test_who_makes_others_brake",
    ("driving", "highway", "merge-v", "intersection", "roundabout", "racetrack", "town", "carla"),
)


@cache
def _text(path: Path) -> str:
    return path.read_text().lower()


def _needs(item: pytest.Item, kernel: Kernel) -> bool:
    words = item.nodeid.lower() if item.nodeid.startswith(SWEEPS) else item.nodeid.lower() + _text(item.path)
    return any(name in words for name in kernel.names)


def in_halves(items: list[pytest.Item]) -> list[pytest.Item]:
    """Two halves for two workers: each begins by compiling one kernel, and ends with the tests that run it.

    Between the two come tests that need neither. Whoever is done first takes over from the end of the other's half,
    when all is compiled.
    """
    compiling = [[one for one in items if one.nodeid.startswith(kernel.compiles)] for kernel in (PHONE, DRIVING)]
    parts: dict[str, list[pytest.Item]] = {"phone": [], "driving": [], "neither": []}
    for one in items:
        if not one.nodeid.startswith((PHONE.compiles, DRIVING.compiles)):
            parts["driving" if _needs(one, DRIVING) else "phone" if _needs(one, PHONE) else "neither"].append(one)
    phone, driving, neither = parts.values()
    middle = max(0, len(items) // 2 - len(compiling[0]) - len(phone))
    return [*compiling[0], *neither[:middle], *phone, *compiling[1], *neither[middle:], *driving]


@pytest.hookimpl(trylast=True)  # of what is deselected nothing is to be spread
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the compiling over two workers; ``web`` runs wherever there is a Chromium."""
    items[:] = in_halves(items)
    if process.find() is None:
        for item in items:
            if item.get_closest_marker("web"):
                item.add_marker(pytest.mark.skip(reason=process.INSTALL))


def pytest_collection_finish() -> None:
    """What was collected lives as long as the process: the collector need not look at it again and again."""
    gc.enable()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _one_torch_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """PAV's verifier learns from few completions, in sweeps over all methods."""
    from tiltyard.agents.language.providers import pav

    monkeypatch.setattr(pav, "PROBLEMS", 16)
