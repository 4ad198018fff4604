"""What other people's clients make of the fake device: adb-shell, adbutils and uiautomator2, each in its own words.

    pip install -e ".[android]" && python benchmarks/studies/android_clients.py

Each line is one thing that was asked and what came back; an exception ends the script. adbutils and uiautomator2 speak
through adb's server, adb-shell by itself.
"""

import io
from dataclasses import replace
from typing import Any

from tiltyard import need
from tiltyard.envs.gui.android.adb import Adb
from tiltyard.envs.gui.android.adbd import Adbd
from tiltyard.envs.gui.android.host import Host
from tiltyard.envs.gui.problems import generate, templates

FILE = bytes(range(256)) * 1000


def adb_shell(device: Adbd) -> None:
    """The protocol in Python, with sums of bytes and small payloads."""
    client: Any = need("adb_shell.adb_device", extra="android").AdbDeviceTcp("127.0.0.1", device.port)
    client.connect()
    client.push(io.BytesIO(FILE), "/sdcard/file")
    back = io.BytesIO()
    client.pull("/sdcard/file", back)
    print("adb-shell: shell", client.shell("wm size").strip(), "| sync", back.getvalue() == FILE, end=" | ")
    print("screencap", len(client.exec_out("screencap", decode=False)))
    client.close()


def adbutils(device: Adbd, port: int) -> Any:
    """A client of adb's server."""
    phone: Any = need("adbutils", extra="android").AdbClient(port=port).device(device.address)
    phone.sync.push(FILE, "/sdcard/file")
    print("adbutils: shell", phone.shell2("ls /none; exit 3", v2=True).returncode, end=" | ")
    print("sync", phone.sync.read_bytes("/sdcard/file") == FILE, "| screenshot", phone.screenshot().size, end=" | ")
    phone.app_start("com.tiltyard.settings")
    print("in front", phone.app_current().package, "| dump", len(phone.dump_hierarchy()) > 1000)
    return phone


def uiautomator2(phone: Any) -> None:
    """Selectors, xpath and texts, answered by the fake device's stand-in for uiautomator2's server."""
    user: Any = need("uiautomator2", extra="android").connect(phone)
    user.press("home")
    user(text="Phone").click(timeout=3)
    user(text="Search").set_text("a")
    user.send_keys("da")
    print("uiautomator2: typed", user(text="Search").get_text(), "| screenshot", user.screenshot().size, end=" | ")
    user.press("home")
    user.xpath("//*[@text='Settings']").click()
    user.swipe(0.5, 0.8, 0.5, 0.2)
    print("in front", user.app_current()["package"], "| toast", user.toast.get_message())


def main() -> None:
    """One device, three clients."""
    problem = replace(generate("train", 0, 0, 2, templates(2, None)), interruptions={}, slow={})
    device = Adbd(Host(problem.phone()))
    link = Adb(device.address)
    link.connect()
    adb_shell(device)
    uiautomator2(adbutils(device, link.port))
    link.close()
    device.close()


if __name__ == "__main__":
    main()
