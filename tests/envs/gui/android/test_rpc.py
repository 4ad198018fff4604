"""What uiautomator2 asks of its server on the device, as it asks: HTTP to port 9008 within an adb stream."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tiltyard.envs.gui.android.adbd import Adbd
from tiltyard.envs.gui.android.errors import CommandFailed
from tiltyard.envs.gui.android.packets import CLSE, OKAY, OPEN, WRTE
from tiltyard.envs.gui.android.rpc import Rpc

sys.path.insert(0, str(Path(__file__).parent))
from devices import fake
from test_adbd import Wire, talk

START = b"shell:CLASSPATH=/data/local/tmp/u2.jar app_process / com.wetest.uia2.Main -p 9008\0"


def test_the_server_lives_as_long_as_the_stream_that_started_it() -> None:
    ping = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with fake() as device:
        wire, other = Wire(device), Wire(device)
        other.send(OPEN, 1, 0, b"tcp:9008\0")
        assert other.receive()[0].command == CLSE, "nobody listens yet"
        wire.send(OPEN, 1, 0, START)
        remote = wire.receive()[0].arg0
        assert wire.receive()[0].command == WRTE
        wire.send(OKAY, 1, remote)
        said = talk(other, "tcp:9008", ping, stream=2)
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert said.endswith(b"\r\n\r\npong")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "deviceInfo", "params": {}}).encode()
        asked = b"POST /jsonrpc/0 HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        answer = json.loads(talk(other, "tcp:9008", asked, stream=3).partition(b"\r\n\r\n")[2])
        assert answer["result"]["displayWidth"] == 432
        wrong = json.loads(talk(other, "tcp:9008", asked[:-3], b'{"a"', stream=4).partition(b"\r\n\r\n")[2] or b"{}")
        assert "result" not in wrong
        wire.send(CLSE, 1, remote)
        wire.receive()
        other.send(OPEN, 5, 0, b"tcp:9008\0")
        assert other.receive()[0].command == CLSE


def call(device: Adbd, method: str, *params: Any) -> Any:
    return Rpc(device.host).call(method, list(params))


def test_elements_are_selected_tapped_and_filled() -> None:
    with fake() as device:
        assert call(device, "waitForExists", {"mask": 1, "text": "Phone"}, 1000) is True
        assert call(device, "waitUntilGone", {"text": "Nothing"}, 1000) is True
        call(device, "click", {"text": "Phone"})
        assert device.host.top()[0] == "com.tiltyard.contacts"
        search = {"className": "android.widget.EditText", "instance": 0}
        assert call(device, "objInfo", search)["text"] == "Search"
        call(device, "setText", search, "Ada")
        assert call(device, "getText", search) == "Ada"
        call(device, "setText", search, "Kai")
        assert call(device, "getText", search) == "Kai"
        call(device, "clearTextField", search)
        assert call(device, "getText", search) == ""
        assert call(device, "count", {"textMatches": "A.*|B.*", "clickable": True}) >= 2
        assert call(device, "exist", {"textStartsWith": "Sea", "focused": True})
        box = call(device, "objInfo", {"textContains": "earch"})["bounds"]
        assert box["right"] > box["left"]
        call(device, "pressKey", "home")
        assert device.host.top()[0] == "com.tiltyard.launcher"


def test_fingers_keys_and_pictures() -> None:
    with fake() as device:
        host, rpc = device.host, Rpc(device.host)
        before = host.gestures
        rpc.call("click", [10, 10])
        rpc.call("swipe", [100, 600, 100, 100, 55])
        rpc.call("injectInputEvent", [0, 5, 5, 0])
        rpc.call("injectInputEvent", [1, 5, 5, 0])
        rpc.call("pressKeyCode", [4])
        assert host.gestures == before + 4
        assert base64.b64decode(call(device, "takeScreenshot", 1, 80)).startswith(b"\xff\xd8")
        assert call(device, "dumpWindowHierarchy", False, 50).startswith("<?xml")


@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        ("flyToTheMoon", [], "has no method 'flyToTheMoon'"),
        ("objInfo", [{"text": "Nothing"}], "UiObjectNotFoundException"),
        ("objInfo", [{"colour": "red"}], "cannot select by 'colour'"),
        ("objInfo", [{"textMatches": "("}], "wrong parameters of objInfo"),
        ("count", [{"text": "a", "childOrSibling": ["child"]}], "knows no children"),
        ("click", ["left", "right"], "wrong parameters of click"),
        ("pressKey", ["moon"], "wrong parameters of pressKey"),
    ],
)
def test_what_it_cannot_do_is_told(method: str, params: list[Any], says: str) -> None:
    with fake() as device, pytest.raises(CommandFailed, match=says):
        call(device, method, *params)
