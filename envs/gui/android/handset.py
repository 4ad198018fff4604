"""A device in our agents' words: looked at as pixels and lines, touched by commands, asked and set up by shell lines.

Questions and looks are repeated until they succeed or patience ends. What an agent does is sent once: whether a
tap took effect is unknown when its acknowledgement is lost, so the agent has to look.
"""

import re
import shlex
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..commands import Command
from .errors import AdbError, CommandFailed
from .hierarchy import tree
from .link import Link, Result

DUMP = "/sdcard/tiltyard_window.xml"
LOOK = f"rm -f {DUMP}; screencap; uiautomator dump {DUMP} >/dev/null 2>&1; cat {DUMP}"
NO_TREE = 'screen "no accessibility tree"'
TREE_TRIES = 3
PAUSE_S = 0.05
SWIPES = {"up": (0.5, 0.7, 0.5, 0.3), "down": (0.5, 0.3, 0.5, 0.7), "left": (0.8, 0.5, 0.2, 0.5),
          "right": (0.2, 0.5, 0.8, 0.5)}  # fmt: skip
SWIPE_MS, HOLD_MS, DRAG_MS, WAIT_S = 300, 800, 1500, 1
KEYS = {"back": "KEYCODE_BACK", "home": "KEYCODE_HOME", "enter": "KEYCODE_ENTER"}
APPS = {
    "settings": "com.android.settings", "chrome": "com.android.chrome", "phone": "com.google.android.dialer",
    "contacts": "com.google.android.contacts", "messages": "com.google.android.apps.messaging",
    "clock": "com.google.android.deskclock", "calendar": "com.google.android.calendar",
    "camera": "com.android.camera2", "files": "com.google.android.documentsui", "gmail": "com.google.android.gm",
    "maps": "com.google.android.apps.maps", "photos": "com.google.android.apps.photos",
    "play store": "com.android.vending", "youtube": "com.google.android.youtube",
}  # fmt: skip
"""Names of apps of stock Android, whose labels no shell command tells."""
LAUNCHER = "android.intent.category.LAUNCHER"
LABEL = re.compile(r"packageName=(\S+)\s+labelRes=\S+ nonLocalizedLabel=(.*?) icon=")
PASS = "sleep 0"  # a step goes by: on a simulated phone that is what time is
NO_APP = "there is no app of that name"
Found = TypeVar("Found")


@dataclass(frozen=True)
class Look:
    """What a device shows: pixels ``[H, W, 4]`` of its own size, the fourth without meaning, and its tree's lines."""

    rgba: npt.NDArray[np.uint8]
    tree: str

    def frame(self, height: int, width: int) -> npt.NDArray[np.uint8]:
        """The pixels ``[height, width, 3]``, each the mean of what it covers."""
        image = Image.frombuffer("RGBX", self.rgba.shape[1::-1], self.rgba, "raw", "RGBX", 0, 1)
        (full_height, full_width), factor = self.rgba.shape[:2], self.rgba.shape[0] // height
        if (full_height, full_width) == (factor * height, factor * width):
            image = image.reduce(factor) if factor > 1 else image
        else:
            image = image.resize((width, height), Image.Resampling.BOX)
        return np.asarray(image.convert("RGB"))


class Handset:
    """One device.

    Args:
        link: the way to it.
        timeout: seconds that one command may take.
        patience: seconds for which what failed is tried again.
        settle: seconds to wait after an action, for the screen to come to rest.
    """

    def __init__(self, link: Link, *, timeout: float = 10.0, patience: float = 30.0, settle: float = 0.0) -> None:
        if not 0 < timeout <= patience:
            raise ValueError(f"timeout is above 0 and at most patience, got {timeout} and {patience}")
        if not isinstance(settle, int | float) or not settle >= 0:
            raise ValueError(f"settle is a number of seconds, at least 0, got {settle}")
        self.link, self.timeout, self.patience, self.settle = link, timeout, patience, settle
        self.failures = 0
        self._size: tuple[int, int] | None = None
        self._packages: dict[str, str] | None = None

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels, asked once."""
        if self._size is None:
            said = self.ask("wm size")
            sizes = re.findall(r"(\d+)x(\d+)", said)
            if not sizes:
                raise CommandFailed(f"wm size said {said!r:.80}")
            self._size = int(sizes[-1][0]), int(sizes[-1][1])  # an override comes after the physical size
        return self._size

    def look(self) -> Look:
        """Screen and tree at once.

        Raises:
            AdbError: the last failure, when patience has ended.
        """
        tries = 0

        def once() -> Look:
            nonlocal tries
            tries += 1
            rgba, xml = split(self.link.raw(LOOK, self.timeout))
            if not xml and tries >= TREE_TRIES:
                return Look(rgba, NO_TREE)  # uiautomator gives none of a screen that never rests
            return Look(rgba, tree(xml, rgba.shape[1], rgba.shape[0]))

        return self._until_it_works(once)

    def ask(self, line: str) -> str:
        """What a line that changes nothing, or may run twice, writes.

        Raises:
            CommandFailed: the device ran it, and it failed.
            AdbError: the last failure, when patience has ended.
        """
        done = self._until_it_works(lambda: self.link.shell(line, self.timeout))
        if done.code:
            raise CommandFailed(f"{line!r:.80} ended with {done.code}: {done.err.decode(errors='replace')[:200]}")
        return done.text

    def reconnect(self) -> None:
        """Finds the device again.

        Raises:
            AdbError: the last failure, when patience has ended.
        """
        self._until_it_works(self.link.connect)

    def _until_it_works(self, attempt: Callable[[], Found]) -> Found:
        until = time.monotonic() + self.patience
        while True:
            try:
                return attempt()
            except AdbError as error:
                self.failures += 1
                if time.monotonic() + PAUSE_S >= until:
                    raise
                time.sleep(PAUSE_S)
                if not isinstance(error, CommandFailed):
                    self._try_to_connect()

    def _try_to_connect(self) -> None:
        try:
            self.link.connect()
        except AdbError:
            self.failures += 1  # told by the next attempt, which fails for the same reason

    def forget(self) -> None:
        """Asks the names of apps anew when they are next needed."""
        self._packages = None

    # -- touching --------------------------------------------------------------------------------------------------

    def perform(self, command: Command) -> str:
        """Does what an agent's command says; returns a message where there is something to tell the agent, else "".

        Raises:
            AdbError: it is not known whether it was done.
        """
        line = self.line(command)
        if line:
            done = self.link.shell(line, self.timeout)
            if done.code:
                raise CommandFailed(f"{line!r:.80} ended with {done.code}: {_said(done)}")
            if self.settle:
                time.sleep(self.settle)
        return command.text if command.verb == "" else NO_APP if line == PASS and command.verb == "open" else ""

    def line(self, command: Command) -> str:
        """The shell line of a command; "" of those that end an episode, which a device knows nothing of."""
        width, height = self.size
        if command.verb in ("tap", "long_press"):
            x, y = _pixel(command.x, width), _pixel(command.y, height)
            return f"input tap {x} {y}" if command.verb == "tap" else f"input swipe {x} {y} {x} {y} {HOLD_MS}"
        if command.verb == "swipe":
            return f"input swipe {_ends(SWIPES[command.text], width, height)} {SWIPE_MS}"
        if command.verb in KEYS:
            return f"input keyevent {KEYS[command.verb]}"
        if command.verb == "type":
            return typed(command.text)
        if command.verb == "drag":
            ends = _ends((command.x, command.y, command.x1, command.y1), width, height)
            return f"input draganddrop {ends} {DRAG_MS}"
        if command.verb == "open":
            package = self.packages.get(command.text.lower())
            return f"monkey -p {shlex.quote(package)} -c {LAUNCHER} 1" if package else PASS
        return {"": PASS, "answer": PASS, "wait": f"sleep {WAIT_S}"}.get(command.verb, "")

    @property
    def packages(self) -> dict[str, str]:
        """App names in lower case -> packages, asked once: by label, by the names people use, by the package's end."""
        if self._packages is None:
            installed = [line.removeprefix("package:") for line in self.ask("pm list packages").splitlines()]
            labels = LABEL.findall(
                self.ask(f"cmd package query-activities -a android.intent.action.MAIN -c {LAUNCHER}")
            )
            self._packages = {package.rpartition(".")[2].lower(): package for package in installed}
            self._packages |= {name: package for name, package in APPS.items() if package in installed}
            self._packages |= {label.lower(): package for package, label in labels if label != "null"}
        return self._packages


def typed(text: str) -> str:
    r"""The line that types a text: spaces are written ``%s``, so a ``%s`` of the text is typed in two parts.

    >>> typed("it's me")
    'input text \'it\'"\'"\'s%sme\''
    """
    parts = re.split(r"(?<=%)(?=s)", text)
    return "; ".join(f"input text {shlex.quote(part.replace(' ', '%s'))}" for part in parts)


def split(data: bytes) -> tuple[npt.NDArray[np.uint8], str]:
    """A raw screen ``[H, W, 4]`` and the XML behind it. The head is of three words before Android 9, and of four since.

    Raises:
        CommandFailed: the screen is not whole.
    """
    if len(data) < 16:
        raise CommandFailed(f"screencap gave {len(data)} bytes")
    width, height, kind = struct.unpack_from("<3I", data)
    if not (0 < width <= 10_000 and 0 < height <= 10_000 and kind in (1, 2)):
        raise CommandFailed(f"screencap gave no picture but {data[:40]!r}")
    pixels = width * height * 4
    rest = len(data) - pixels
    head = 16 if rest == 16 or data[16 + pixels : 17 + pixels] == b"<" else 12
    if rest < head or (rest > head and data[head + pixels : head + pixels + 1] != b"<"):
        raise CommandFailed(f"screencap gave {len(data)} bytes for a screen of {width} x {height}")
    rgba = np.frombuffer(data, np.uint8, pixels, head).reshape(height, width, 4)
    xml = data[head + pixels :].decode(errors="replace")
    if xml and not xml.rstrip().endswith("</hierarchy>"):
        raise CommandFailed("uiautomator's XML is not whole")
    return rgba, xml


def _pixel(share: float, size: int) -> int:
    return min(round(share * size), size - 1)


def _ends(shares: tuple[float, float, float, float], width: int, height: int) -> str:
    x0, y0, x1, y1 = shares
    return f"{_pixel(x0, width)} {_pixel(y0, height)} {_pixel(x1, width)} {_pixel(y1, height)}"


def _said(done: Result) -> str:
    return (done.err or done.out).decode(errors="replace").strip()[:200]
