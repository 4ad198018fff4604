"""A Chromium and its pages, as an environment needs them: open a page, look, click, type, evaluate; nothing hangs.

    with Browser.launch() as browser:
        page = browser.page("http://127.0.0.1:8000/", width=360, height=640)
        page.click(180, 320)
        frame = page.screenshot()  # uint8 [640, 360, 3]

Every call has a time limit. What goes wrong raises :class:`BrowserGone` (closed, killed, its renderer dead),
:class:`BrowserTimeout` (it does not answer), :class:`ScriptError` (JavaScript threw) or another :class:`BrowserError`.
"""

import base64
import binascii
import contextlib
import io
import os
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from PIL import Image

from .cdp import BrowserError, BrowserGone, BrowserTimeout, Connection, ProtocolError
from .keys import keystroke, strokes
from .process import Process

__all__ = [
    "Browser",
    "BrowserError",
    "BrowserGone",
    "BrowserTimeout",
    "Page",
    "ProtocolError",
    "ScriptError",
]

CRASHED = "its renderer has died"


class ScriptError(BrowserError):
    """JavaScript threw an exception; the message is its own."""


SPARE_RENDERERS = 2


class Browser:
    """A Chromium of our own; make one with :meth:`launch`. Not to be shared between threads."""

    def __init__(self, process: Process, timeout: float) -> None:
        self.process = process
        self.timeout = timeout
        self._connection = Connection(f"ws://{process.endpoint}", timeout)
        self._owner = os.getpid()
        self._pages: weakref.WeakSet[Page] = weakref.WeakSet()
        self.version: str = self._connection.call("Browser.getVersion")["product"]
        """Name and version, ``Chrome/156.0.8078.79``."""
        self._connection.call("Browser.setDownloadBehavior", behavior="deny")

    @classmethod
    def launch(cls, executable: str | None = None, headless: bool = True, timeout: float = 10.0) -> Self:
        """Starts a browser.

        Args:
            executable: path of a Chromium or Chrome; None for the first on this machine.
            headless: without a window.
            timeout: seconds that any later command may take unless it names its own (starting may take 30).

        Raises:
            BrowserError: there is none (the message names what installs one), or it does not start.
        """
        process = Process(executable, headless)
        try:
            return cls(process, timeout)
        except BaseException:
            process.kill()
            raise

    def page(self, url: str, width: int, height: int) -> "Page":
        """Opens a page of ``width`` x ``height`` pixels and waits until it has loaded.

        Raises:
            BrowserError: the address cannot be opened.
        """
        for _ in range(SPARE_RENDERERS):
            try:
                return self._opened(url, width, height)
            except BrowserGone:
                # Chromium keeps a renderer ready for the next page; if that one died, it learns so from this page.
                if not self.alive():
                    raise
        return self._opened(url, width, height)

    def _opened(self, url: str, width: int, height: int) -> "Page":
        # A window of its own: pages behind others in one window are not painted.
        target = self._connection.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        page = Page(self, target, width, height)
        self._pages.add(page)
        page.goto(url)
        return page

    def alive(self) -> bool:
        """Whether the browser's process runs and was not closed; a stopped one counts as running."""
        return self.process.alive() and not self._connection.gone

    def close(self) -> None:
        """Ends the browser with all its pages and removes its profile; twice does nothing."""
        if os.getpid() == self._owner:
            for connection in (self._connection, *(page.connection for page in self._pages)):
                connection.abandon("it was closed")
            self.process.kill()

    def close_target(self, target: str) -> None:
        """Closes one page by its id; a page that is no longer there is no error."""
        with contextlib.suppress(ProtocolError):  # "No target with given id found": it went by itself
            self._connection.call("Target.closeTarget", targetId=target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Page:
    """One page (tab) of a browser; made by :meth:`Browser.page`. Coordinates are CSS pixels of the viewport.

    Dialogs that the page opens (``alert``, ``confirm``, ``prompt``, "leave this page?") are dismissed at once.
    """

    def __init__(self, browser: Browser, target: str, width: int, height: int) -> None:
        self.browser, self.width, self.height = browser, width, height
        self._target = target
        port = browser.process.endpoint.partition("/")[0]
        self.connection = Connection(f"ws://{port}/devtools/page/{target}", browser.timeout, self._on_event)
        for domain in ("Inspector", "Page"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def goto(self, url: str, timeout: float = 30.0) -> None:
        """Opens another address in this page and waits until it has loaded.

        Raises:
            BrowserError: the address cannot be opened.
        """
        self.connection.events.clear()
        answer = self.call("Page.navigate", url=url, timeout=timeout)
        if "errorText" in answer:
            raise BrowserError(f"the browser cannot open {url}: {answer['errorText']}")
        if "loaderId" in answer:  # without one only the part after # has changed, and nothing loads
            self.connection.wait_for("Page.loadEventFired", timeout)

    def call(self, method: str, timeout: float | None = None, **params: Any) -> dict[str, Any]:
        """One command of the Chrome DevTools Protocol and its answer.

        Raises:
            ProtocolError: it was refused.
            BrowserGone: the page, its renderer or the browser has ended.
            BrowserTimeout: no answer in time.
        """
        return self.result(self.send(method, **params), timeout)

    def send(self, method: str, **params: Any) -> int:
        """Sends a command without waiting; its answer is :meth:`result` of the number returned."""
        return self.connection.send(method, **params)

    def result(self, number: int, timeout: float | None = None) -> dict[str, Any]:
        """The answer to a command that was sent; raises as :meth:`call`."""
        return self.connection.result(number, timeout)

    def evaluate(self, expression: str, timeout: float | None = None) -> Any:
        """The value of a JavaScript expression, as JSON carries it (None for undefined); promises are awaited.

        Raises:
            ScriptError: it threw, or cannot be parsed.
            BrowserGone: the page, its renderer or the browser has ended.
            BrowserTimeout: no answer in time, an endless loop for example (which :meth:`close` ends).
        """
        return self.value(self.ask(expression), timeout)

    def ask(self, expression: str) -> int:
        """Sends an expression without waiting; its value is :meth:`value` of the number returned."""
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)

    def value(self, number: int, timeout: float | None = None) -> Any:
        """The value of an expression that was sent; raises as :meth:`evaluate`."""
        answer = self.result(number, timeout)
        if thrown := answer.get("exceptionDetails"):
            raise ScriptError(thrown.get("exception", {}).get("description") or thrown["text"])
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, button: str = "left", clicks: int = 1) -> int:
        """Sends one mouse event without waiting: ``mousePressed``, ``mouseReleased`` or ``mouseMoved``."""
        held = int(kind != "mouseReleased" and button == "left")
        return self.send(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=clicks
        )

    def click(self, x: float, y: float, clicks: int = 1) -> None:
        """Presses and releases the left button at ``(x, y)`` (``clicks=2``: twice); off the page nothing is hit."""
        sent = []
        for count in range(1, clicks + 1):
            sent += [self.mouse(kind, x, y, clicks=count) for kind in ("mousePressed", "mouseReleased")]
        self.finish(sent)

    def drag(self, points: Sequence[tuple[float, float]]) -> None:
        """Presses at the first point, moves through the others and releases at the last."""
        if not points:
            raise ValueError("a drag needs at least one point")
        sent = [self.mouse("mousePressed", *points[0])]
        sent += [self.mouse("mouseMoved", *point) for point in points[1:]]
        self.finish([*sent, self.mouse("mouseReleased", *points[-1])])

    def hover(self, x: float, y: float) -> None:
        """Moves the mouse to ``(x, y)`` with no button held."""
        self.finish([self.mouse("mouseMoved", x, y, button="none", clicks=0)])

    def wheel(self, x: float, y: float, dx: float, dy: float) -> None:
        """Turns the wheel over ``(x, y)``: positive ``dy`` scrolls down."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=dx, deltaY=dy)

    def type(self, text: str) -> None:
        """Types into what has the focus: key by key what is on a keyboard, anything else as one insertion."""
        self.finish([self.send(method, **params) for method, params in strokes(text)])

    def key(self, name: str) -> None:
        """Presses and releases a key: ``"Enter"``, ``"a"``, ``"Control+a"``, ``"Shift+Tab"`` (see :mod:`.keys`).

        Raises:
            ValueError: there is no such key.
        """
        self.finish([self.send(method, **params) for method, params in keystroke(name)])

    def finish(self, sent: Sequence[int]) -> None:
        """Waits for the answers to several commands; raises as :meth:`call`."""
        for number in sent:
            self.result(number)

    def screenshot(self) -> npt.NDArray[np.uint8]:
        """What the page shows, RGB uint8 ``[height, width, 3]``."""
        answer = self.call("Page.captureScreenshot", format="png", optimizeForSpeed=True)
        return picture(answer)

    def close(self) -> None:
        """Closes the page; its browser goes on. A page or browser that is gone is no error."""
        self.connection.abandon("the page was closed")
        if self.browser.alive():
            with contextlib.suppress(BrowserGone):
                self.browser.close_target(self._target)

    def _on_event(self, name: str, params: dict[str, Any]) -> None:
        if name == "Page.javascriptDialogOpening":
            leave = params.get("type") == "beforeunload"
            self.connection.send("Page.handleJavaScriptDialog", accept=leave)
        elif name == "Inspector.targetCrashed":
            self.connection.abandon(CRASHED)
        elif name == "Inspector.detached":
            self.connection.abandon(f"the page is no longer there ({params.get('reason', 'no reason given')})")


def picture(answer: dict[str, Any]) -> npt.NDArray[np.uint8]:
    """The frame ``[H, W, 3]`` in the answer of ``Page.captureScreenshot``."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(answer["data"]))) as image:
            return np.asarray(image.convert("RGB"), np.uint8)
    except (KeyError, OSError, binascii.Error) as error:
        raise BrowserError(f"the browser sent a screenshot that cannot be read: {error}") from error
