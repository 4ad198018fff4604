"""One thread a process: two cores shared by worker processes are slower with more, and results must not hang on it."""

import os
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import pytest
import torch

from tiltyard.envs.gui.web import process

COMPILES = "tests/envs/gui/compiled/test_env.py::test_every_kind_of_observation_is_in_its_space"
SWEEPS = ("tests/contracts", "tests/wrappers/test_spaces", "tests/envs/test_")
"""Files whose tests are of one environment each, which stands in their names."""


@cache
def _speaks_of_phones(path: Path) -> bool:
    return "phone" in path.read_text().lower()


def _rank(item: pytest.Item) -> int:
    """0 compiles the phone, which takes a minute and a half in a new clone; 2 may have to wait for it."""
    if item.nodeid.startswith(COMPILES):
        return 0
    named = any(word in item.nodeid.lower() for word in ("phone", "android"))
    return 2 if named or not item.nodeid.startswith(SWEEPS) and _speaks_of_phones(item.path) else 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker compiles the phone while another runs what does without; ``web`` runs wherever there is a Chromium."""
    items.sort(key=_rank)
    if process.find() is None:
        for item in items:
            if item.get_closest_marker("web"):
                item.add_marker(pytest.mark.skip(reason=process.INSTALL))


@pytest.fixture(autouse=True, scope="session")
def _one_torch_thread() -> None:
    torch.set_num_threads(1)
