"""What uiautomator2 calls on a device: JSON-RPC over HTTP at port 9008, answered by our phone itself.

uiautomator2 3.x pushes a program (u2.jar), starts it by ``app_process`` and speaks to it from then on. The fake device
keeps the file, starts nothing, and answers the calls of its clicks, selectors, texts, swipes, keys and dumps itself; a
call that is not here is answered by an error that names it.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from .errors import CommandFailed
from .hierarchy import BOUNDS, dump
from .host import KEYS, Host

if TYPE_CHECKING:
    from .services import Pipe

LARGEST_REQUEST = 1 << 20
NOT_FOUND = "androidx.test.uiautomator.UiObjectNotFoundException"
ATTRIBUTES = {"text": "text", "description": "content-desc", "className": "class", "packageName": "package",
              "resourceId": "resource-id"}  # fmt: skip
FLAGS = ("checkable", "checked", "clickable", "scrollable", "enabled", "focusable", "focused", "selected")
COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "": lambda value, wanted: value == wanted,
    "Contains": lambda value, wanted: wanted in value,
    "StartsWith": lambda value, wanted: value.startswith(wanted),
    "Matches": lambda value, wanted: re.fullmatch(wanted, value) is not None,
}


class Rpc:
    """The methods, on one host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._down: tuple[float, float] | None = None

    def call(self, method: str, params: Any) -> Any:
        """The result of a method.

        Raises:
            CommandFailed: there is no such method, or its parameters are wrong, or no element is as selected.
        """
        found = getattr(self, f"do_{method}", None)
        if found is None:
            raise CommandFailed(f"the fake device has no method {method!r} of uiautomator2's server")
        try:
            with self.host.lock:
                return found(*params) if isinstance(params, list) else found()
        except (TypeError, ValueError, KeyError, re.error) as error:
            raise CommandFailed(f"wrong parameters of {method}: {error}") from error

    def do_deviceInfo(self) -> dict[str, Any]:
        """What ``d.info`` shows."""
        host = self.host
        return {
            "currentPackageName": host.top()[0], "displayHeight": host.height, "displayWidth": host.width,
            "displayRotation": 0, "displaySizeDpX": host.width * 160 // host.density, "naturalOrientation": True,
            "displaySizeDpY": host.height * 160 // host.density, "productName": "tiltyard", "screenOn": True,
            "sdkInt": 33,
        }  # fmt: skip

    def do_dumpWindowHierarchy(self, *_: Any) -> str:
        """The screen as XML."""
        return dump(self.host.phone, self.host.top()[0], self.host.width, self.host.height)

    def do_takeScreenshot(self, *_: Any) -> str:
        """The screen as JPEG in base64."""
        return base64.b64encode(self.host.png("JPEG")).decode()

    def do_click(self, where: Any, y: float | None = None, ms: float = 0.0) -> bool:
        """A tap at a point or on an element; with milliseconds, a held finger."""
        x, y = self._centre(where) if isinstance(where, Mapping) else (float(where), float(y or 0.0))
        self.host.swipe(x, y, x, y, ms)
        return True

    def do_longClick(self, selector: Mapping[str, Any]) -> bool:
        """A held finger on an element."""
        self.host.hold(*self._centre(selector))
        return True

    def do_swipe(self, x0: float, y0: float, x1: float, y1: float, *_: Any) -> bool:
        """A swipe between points."""
        self.host.swipe(x0, y0, x1, y1)
        return True

    def do_drag(self, x0: float, y0: float, x1: float, y1: float, *_: Any) -> bool:
        """A drag between points."""
        self.host.drag(x0, y0, x1, y1)
        return True

    def do_injectInputEvent(self, kind: int, x: float, y: float, *_: Any) -> bool:
        """A finger that goes down (0), moves (2) or goes up (1)."""
        if kind == 0:
            self._down = (x, y)
        elif kind == 1 and self._down is not None:
            self.host.swipe(*self._down, x, y)
            self._down = None
        return True

    def do_pressKey(self, name: str) -> bool:
        """A key by name."""
        names = {"delete": "DEL", "center": "DPAD_CENTER", "recent": "APP_SWITCH"}
        self.host.key(KEYS[names.get(name, name).upper()])
        return True

    def do_pressKeyCode(self, code: int, *_: Any) -> bool:
        """A key by number."""
        self.host.key(int(code))
        return True

    def do_waitForExists(self, selector: Mapping[str, Any], *_: Any) -> bool:
        """Whether there is such an element (nothing changes while one waits)."""
        return bool(self._found(selector))

    do_exist = do_waitForExists

    def do_waitUntilGone(self, selector: Mapping[str, Any], *_: Any) -> bool:
        """Whether there is none."""
        return not self._found(selector)

    def do_count(self, selector: Mapping[str, Any]) -> int:
        """How many there are."""
        return len(self._found(selector))

    def do_objInfo(self, selector: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of an element."""
        return _info(self._one(selector))

    def do_objInfoOfAllInstances(self, selector: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The same of all."""
        return [_info(node) for node in self._found(selector)]

    def do_getText(self, selector: Mapping[str, Any]) -> str:
        """The content of a field; the text of any other element."""
        node = self._one(selector)
        return node.get("content-desc" if node.get("class", "").endswith("EditText") else "text", "")

    def do_setText(self, selector: Mapping[str, Any], text: str) -> bool:
        """Taps a field if it has no keyboard, empties it, and types."""
        self.do_clearTextField(selector)
        self.host.type(text)
        return True

    def do_clearTextField(self, selector: Mapping[str, Any]) -> bool:
        """Taps a field if it has no keyboard, and empties it."""
        if self._one(selector).get("focused") != "true":
            self.host.tap(*self._centre(selector))
        self.host.clear_text()
        return True

    def do_wakeUp(self) -> bool:
        """The screen is always on."""
        return True

    def do_getLastToast(self) -> str | None:
        """The phone's message."""
        return self.host.phone.message or None

    def _found(self, selector: Mapping[str, Any]) -> list[ElementTree.Element]:
        if selector.get("childOrSibling"):
            raise CommandFailed("the fake device knows no children and siblings in selectors: use xpath")
        root = ElementTree.fromstring(self.do_dumpWindowHierarchy())
        nodes = [node for node in root.iter("node") if all(_fits(node, key, selector[key]) for key in _keys(selector))]
        instance = int(selector.get("instance", -1))
        return nodes if instance < 0 else nodes[instance : instance + 1]

    def _one(self, selector: Mapping[str, Any]) -> ElementTree.Element:
        nodes = self._found(selector)
        if not nodes:
            raise CommandFailed(f"{NOT_FOUND}: {json.dumps(selector)}")
        return nodes[0]

    def _centre(self, selector: Mapping[str, Any]) -> tuple[float, float]:
        x0, y0, x1, y1 = _box(self._one(selector))
        return (x0 + x1) / 2, (y0 + y1) / 2


def _keys(selector: Mapping[str, Any]) -> list[str]:
    return [key for key in selector if key not in ("mask", "childOrSibling", "childOrSiblingSelector", "instance")]


def _fits(node: ElementTree.Element, key: str, wanted: Any) -> bool:
    for start, attribute in ATTRIBUTES.items():
        if key.startswith(start) and key[len(start) :] in COMPARISONS:
            return COMPARISONS[key[len(start) :]](node.get(attribute, ""), str(wanted))
    if key in FLAGS:
        return (node.get(key) == "true") == bool(wanted)
    if key == "index":
        return node.get("index") == str(wanted)
    raise CommandFailed(f"the fake device cannot select by {key!r}")


def _box(node: ElementTree.Element) -> tuple[int, int, int, int]:
    found = BOUNDS.fullmatch(node.get("bounds", ""))
    assert found is not None
    x0, y0, x1, y1 = (int(one) for one in found.groups())
    return x0, y0, x1, y1


def _info(node: ElementTree.Element) -> dict[str, Any]:
    x0, y0, x1, y1 = _box(node)
    bounds = {"left": x0, "top": y0, "right": x1, "bottom": y1}
    return {
        "bounds": bounds, "visibleBounds": bounds, "childCount": len(node), "className": node.get("class"),
        "contentDescription": node.get("content-desc"), "packageName": node.get("package"), "text": node.get("text"),
        "resourceName": node.get("resource-id"), **{flag: node.get(flag) == "true" for flag in FLAGS},
    }  # fmt: skip


async def answer_http(pipe: "Pipe", rpc: Rpc) -> None:
    """Answers one HTTP request, then ends the stream."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < LARGEST_REQUEST:
        more = await pipe.read_some()
        if not more:
            return
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length:\s*(\d+)", head, re.IGNORECASE)
    wanted = min(int(length[1]), LARGEST_REQUEST) if length else 0
    while len(body) < wanted:
        more = await pipe.read_some()
        if not more:
            return
        body += more
    if head.startswith(b"GET /ping"):
        kind, answer = "text/plain", b"pong"
    else:
        kind, answer = "application/json", _answer(body, rpc)
    start = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
    await pipe.write(start.encode() + answer)


def _answer(body: bytes, rpc: Rpc) -> bytes:
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": 1}
    try:
        asked = json.loads(body)
        reply["result"] = rpc.call(str(asked["method"]), asked.get("params"))
    except (ValueError, KeyError, TypeError) as error:
        reply["error"] = {"code": -32700, "message": f"that is no JSON-RPC request: {error}", "data": ""}
    except CommandFailed as error:
        reply["error"] = {"code": -32001, "message": str(error), "data": ""}
    return json.dumps(reply).encode()
