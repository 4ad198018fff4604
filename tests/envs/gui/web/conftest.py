"""Pages of one browser for all tests of a worker."""

from collections.abc import Callable, Iterator

import pytest

from tiltyard.envs.gui.web.browser import Browser
from tiltyard.envs.gui.web.phone import WebPhone
from tiltyard.envs.gui.web.problem import pages
from tiltyard.envs.gui.web.server import Server


@pytest.fixture(scope="session")
def phones() -> Iterator[Callable[[str, tuple[int, int]], WebPhone]]:
    """Makes a phone in a page of its own: layout, (height, width)."""
    server = Server(pages())
    browser = Browser.launch(timeout=60.0)

    def make(layout: str, size: tuple[int, int]) -> WebPhone:
        height, width = size
        return WebPhone(browser.page(f"{server.url}/?layout={layout}", width, height), layout)

    yield make
    browser.close()
    server.close()


@pytest.fixture(scope="module")
def same(phones: Callable[[str, tuple[int, int]], WebPhone]) -> WebPhone:
    """A phone with the boxes of the simulated one."""
    return phones("same", (640, 360))
