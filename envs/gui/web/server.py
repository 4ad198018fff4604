"""Serves the phone's page on loopback: a few files of the package and the declarations, read only, to this machine."""

import threading
from collections.abc import Callable, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "json": "application/json"}


@cache
def static() -> dict[str, bytes]:
    """The page's files by path."""
    folder = files(__package__) / "static"
    found = {f"/{one.name}": one.read_bytes() for one in folder.iterdir() if one.name.rpartition(".")[2] in TYPES}
    return found | {"/": found["/index.html"]}


class Server:
    """Serves ``static/`` and what ``more`` makes, by path, at :attr:`url`, from a thread, until it is closed."""

    def __init__(self, more: Mapping[str, Callable[[], bytes]]) -> None:
        pages = static()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                body = more[path]() if path in more else pages.get(path)
                self.send_response(200 if body is not None else 404)
                kind = "html" if path == "/" else path.rpartition(".")[2]
                self.send_header("Content-Type", f"{TYPES.get(kind, 'text/plain')}; charset=utf-8")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, format: str, *arguments: Any) -> None:
                pass  # standard error is the user's

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="pages of the phone", args=(0.05,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Ends it; twice does nothing."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
