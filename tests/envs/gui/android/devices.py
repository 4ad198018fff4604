"""Fake devices to play with, and whether adb is here."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tiltyard.envs.gui.android.adbd import Adbd
from tiltyard.envs.gui.android.direct import Direct
from tiltyard.envs.gui.android.host import Host

sys.path.insert(0, str(Path(__file__).parents[1]))
from phone_helpers import new_phone

needs_adb = pytest.mark.skipif(shutil.which("adb") is None, reason="needs adb: sudo apt-get install adb")
"""Of a test that runs the real adb; with it goes ``pytest.mark.android``."""


@contextmanager
def fake(phone: Any = None, **kwargs: Any) -> Iterator[Adbd]:
    """A fake device with a phone."""
    device = Adbd(Host(phone if phone is not None else new_phone(0)), **kwargs)
    try:
        yield device
    finally:
        device.close()


@contextmanager
def shell(phone: Any = None) -> Iterator[tuple[Direct, Adbd]]:
    """Our own client, connected to a fake device."""
    with fake(phone) as device:
        link = Direct(device.address)
        link.connect()
        try:
            yield link, device
        finally:
            link.close()
