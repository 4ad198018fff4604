"""One thread a process: two cores shared by worker processes are slower with more, and results must not hang on it."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import pytest
import torch

from tiltyard.envs.gui.web import process


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``web`` run wherever there is a Chromium."""
    if process.find() is None:
        for item in items:
            if item.get_closest_marker("web"):
                item.add_marker(pytest.mark.skip(reason=process.INSTALL))


@pytest.fixture(autouse=True, scope="session")
def _one_torch_thread() -> None:
    torch.set_num_threads(1)
