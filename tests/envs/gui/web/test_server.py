"""The page is served to this machine alone, and nothing else is."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tiltyard.envs.gui.web.problem import pages
from tiltyard.envs.gui.web.server import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server(pages())
    yield made
    made.close()


def test_it_serves_the_page_and_the_declarations(server: Server) -> None:
    with urllib.request.urlopen(f"{server.url}/?layout=flow") as answer:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert b'<script type="module" src="phone.js">' in answer.read()
    with urllib.request.urlopen(f"{server.url}/en.json") as answer:
        assert {"settings", "system"} <= {app["key"] for app in json.load(answer)["apps"]}


@pytest.mark.parametrize("path", ["nothing", "../env.py", "%2e%2e/env.py", "fr.json", "phone.js/"])
def test_it_serves_nothing_else(server: Server, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{server.url}/{path}")


def test_it_listens_on_loopback_until_it_is_closed() -> None:
    server = Server({})
    assert server.url.startswith("http://127.0.0.1:")
    server.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.url, timeout=5)
