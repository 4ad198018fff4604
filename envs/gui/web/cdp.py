"""The Chrome DevTools Protocol over a websocket: commands out, answers and events in, a time limit on everything.

One :class:`Connection` speaks to one end of a browser: the browser itself, or one page. It is not to be shared between
threads. Source: https://chromedevtools.github.io/devtools-protocol/.
"""

import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .... import need

MOST_EVENTS = 1000
"""Events that were not waited for are kept up to this number, then the oldest go."""


class BrowserError(RuntimeError):
    """Whatever goes wrong between us and a browser."""


class BrowserGone(BrowserError):
    """The browser, its page or the process behind it has ended; launch another one."""


class BrowserTimeout(BrowserError, TimeoutError):
    """The browser did not answer in time; it may hang, so close it and launch another one."""


class ProtocolError(BrowserError):
    """The browser refused a command; the message is its own."""


class Connection:
    """A websocket to a browser or to one of its pages.

    Args:
        url: ``ws://127.0.0.1:PORT/devtools/...``.
        timeout: seconds that a command may take unless it names its own.
        on_event: called with the name and parameters of every event as it arrives; it may :meth:`send`, not wait.
    """

    def __init__(
        self, url: str, timeout: float = 10.0, on_event: Callable[[str, dict[str, Any]], None] | None = None
    ) -> None:
        websocket = need("websocket", extra="web")
        self.timeout = timeout
        self.events: deque[tuple[str, dict[str, Any]]] = deque(maxlen=MOST_EVENTS)
        self._on_event = on_event
        self._late = websocket.WebSocketTimeoutException
        self._broken = (websocket.WebSocketException, OSError)
        self._why_gone = ""
        self._last = 0
        self._waiting: set[int] = set()
        self._answers: dict[int, dict[str, Any]] = {}
        try:
            self._socket = websocket.create_connection(
                url, timeout=timeout, suppress_origin=True, skip_utf8_validation=True
            )
        except (self._late, TimeoutError) as error:
            raise BrowserTimeout(f"no browser answered at {url} within {timeout:g} s") from error
        except self._broken as error:
            raise BrowserGone(f"no browser answers at {url}: {error}") from error

    @property
    def gone(self) -> str:
        """Why nothing can be sent any more, or "" while it can."""
        return self._why_gone

    def send(self, method: str, **params: Any) -> int:
        """Sends a command and returns its number, for :meth:`result`; several may be under way at once.

        Raises:
            BrowserGone: the other end is no longer there.
            BrowserTimeout: it has stopped reading.
        """
        self._need_open()
        self._last += 1
        message = json.dumps({"id": self._last, "method": method, "params": params})
        try:
            self._socket.settimeout(self.timeout)
            self._socket.send(message)
        except (self._late, TimeoutError) as error:  # half a message may have left: no other can follow it
            self.abandon("it stopped reading")
            raise BrowserTimeout(f"the browser did not read {method} within {self.timeout:g} s") from error
        except self._broken as error:
            self.abandon(f"{error}")
            raise BrowserGone(f"the browser is gone ({error}); it was to be sent {method}") from error
        self._waiting.add(self._last)
        return self._last

    def result(self, number: int, timeout: float | None = None) -> dict[str, Any]:
        """Waits for the answer to a command that was sent; each answer is given once.

        Raises:
            BrowserGone: the other end is no longer there.
            BrowserTimeout: no answer within ``timeout`` seconds (the answer, should it still come, is dropped).
            ProtocolError: the command was refused.
        """
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while number not in self._answers:
            if number not in self._waiting:
                raise ValueError(f"command {number} was never sent, or its answer has been given")
            try:
                self._read(deadline)
            except BrowserError:
                self._waiting.discard(number)
                raise
        answer = self._answers.pop(number)
        if "error" in answer:
            raise ProtocolError(f"the browser refused: {answer['error'].get('message', answer['error'])}")
        result: dict[str, Any] = answer.get("result", {})
        return result

    def call(self, method: str, timeout: float | None = None, **params: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer; see :meth:`send` and :meth:`result` for what it raises."""
        return self.result(self.send(method, **params), timeout)

    def wait_for(self, event: str, timeout: float | None = None) -> dict[str, Any]:
        """The parameters of the next event of this name that has not been taken; earlier ones are dropped."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            while self.events:
                name, params = self.events.popleft()
                if name == event:
                    return params
            self._read(deadline)

    def abandon(self, why: str) -> None:
        """Closes the socket without a word; from now on everything raises :class:`BrowserGone` with this reason."""
        if not self._why_gone:
            self._why_gone = why
            self._socket.shutdown()

    def _need_open(self) -> None:
        if self._why_gone:
            raise BrowserGone(f"the browser is gone: {self._why_gone}")

    def _read(self, deadline: float) -> None:
        """Takes in one message."""
        self._need_open()
        left = deadline - time.monotonic()
        if left <= 0:
            raise BrowserTimeout("the browser did not answer in time")
        try:
            self._socket.settimeout(left)
            text = self._socket.recv()
        except (self._late, TimeoutError) as error:
            raise BrowserTimeout("the browser did not answer in time") from error
        except self._broken as error:
            self.abandon(f"{error}")
            raise BrowserGone(f"the browser is gone: {error}") from error
        if not text:
            self.abandon("it closed the connection")
        else:
            self._take(json.loads(text))

    def _take(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if number is None:
            self.events.append((message["method"], message.get("params", {})))
            if self._on_event is not None:
                self._on_event(*self.events[-1])
        elif number in self._waiting:
            self._waiting.discard(number)
            self._answers[number] = message
