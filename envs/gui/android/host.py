"""The hardware of the fake device: our simulated phone with pixels, fingers, keys and a home button."""

import io
import struct
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..commands import CHARACTERS, Command
from ..device import Phone
from ..render import Renderer
from ..ui import Screen

RGBA_8888, SRGB = 1, 1
PACKAGE = "com.tiltyard."
LAUNCHER = PACKAGE + "launcher"
TAP_SLOP = 0.02  # of the screen's height: a finger that moves less is held still
HOLD_MS = 400  # from which on a still finger is a long press
BACK_KEY, HOME_KEY, ENTER_KEYS, DELETE_KEY = 4, 3, (66, 160, 23), 67
KEYS = {"HOME": 3, "BACK": 4, "DPAD_CENTER": 23, "ENTER": 66, "DEL": 67, "NUMPAD_ENTER": 160, "SPACE": 62,
        "POWER": 26, "WAKEUP": 224, "SLEEP": 223, "MENU": 82, "APP_SWITCH": 187, "VOLUME_UP": 24, "VOLUME_DOWN": 25,
        **{chr(65 + i): 29 + i for i in range(26)}, **{str(i): 7 + i for i in range(10)},
        "COMMA": 55, "PERIOD": 56, "MINUS": 69, "AT": 77, "ESCAPE": 111, "TAB": 61}  # fmt: skip
TYPED = {**{29 + i: chr(97 + i) for i in range(26)}, **{7 + i: str(i) for i in range(10)},
         62: " ", 55: ",", 56: ".", 69: "-", 77: "@"}  # fmt: skip


class Host:
    """One phone behind a fake adbd. A program of the device holds :attr:`lock` while it touches the phone.

    Args:
        phone: the phone; None: one is put in later (:meth:`install`).
        size: width and height of its screen in pixels.
        density: dots an inch.
    """

    def __init__(self, phone: Phone | None = None, size: tuple[int, int] = (432, 768), density: int = 192) -> None:
        self.width, self.height = size
        self.density = density
        self.lock = threading.RLock()
        self.gestures = 0
        self.further_settings: dict[str, str] = {}
        self._renderer = Renderer(self.height, self.width)
        self._frame = np.zeros((self.height, self.width, 3), np.uint8)
        self._painted: object = None
        self._raw = b""
        if phone is not None:
            self.install(phone)

    def install(self, phone: Phone) -> None:
        """Puts another phone in, as if the device had been wiped and set up."""
        with self.lock:
            self.phone = phone
            self.frame()  # the painter is compiled on first use, which takes seconds: not while a client waits

    # -- fingers and keys ------------------------------------------------------------------------------------------

    def tap(self, x: float, y: float) -> None:
        """A short touch; a point off the screen touches nothing."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self.act(Command("tap", x / self.width, y / self.height))

    def swipe(self, x0: float, y0: float, x1: float, y1: float, ms: float = 300.0) -> None:
        """A finger from one point to another: a swipe in the main direction, or a held finger if it hardly moves."""
        dx, dy = x1 - x0, y1 - y0
        if max(abs(dx), abs(dy)) <= TAP_SLOP * self.height:
            self.hold(x0, y0) if ms >= HOLD_MS else self.tap(x0, y0)
        elif abs(dy) >= abs(dx):
            self.act(Command("swipe", text="up" if dy < 0 else "down"))
        else:
            self.act(Command("swipe", text="left" if dx < 0 else "right"))

    def hold(self, x: float, y: float) -> None:
        """A long press."""
        self.act(Command("long_press", x / self.width, y / self.height))

    def drag(self, x0: float, y0: float, x1: float, y1: float, ms: float = 300.0) -> None:
        """Takes what is at one point to another."""
        start, end = (x0 / self.width, y0 / self.height), (x1 / self.width, y1 / self.height)
        self.act(Command("drag", *start, "", *end))

    def type(self, text: str) -> None:
        """Text from a keyboard; characters that the phone has no keys for are left out, as Android does."""
        kept = "".join(one for one in text if one in CHARACTERS)
        if kept:
            self.act(Command("type", text=kept))

    def clear_text(self) -> None:
        """Empties the field that has the keyboard."""

        def clear(phone: Phone) -> None:
            if phone.focus is not None:
                phone.stack[-1].drafts[phone.focus] = ""

        self.with_phone(clear)

    def key(self, code: int) -> None:
        """A key by Android's number; keys the phone does not have do nothing."""
        if code == BACK_KEY:
            self.act(Command("back"))
        elif code == HOME_KEY:
            self.act(Command("home"))
        elif code in ENTER_KEYS:
            self.act(Command("enter"))
        elif code in TYPED:
            self.act(Command("type", text=TYPED[code]))
        elif code == DELETE_KEY:
            self.with_phone(lambda phone: phone.press("\b") if phone.focus is not None else None)

    def wait(self) -> None:
        """Lets a step pass without any touch."""
        self.act(Command("wait"))

    def act(self, command: Command) -> None:
        """One step of the phone."""
        with self.lock:
            self.gestures += 1
            self.phone.act(command)

    # -- apps ------------------------------------------------------------------------------------------------------

    def packages(self) -> dict[str, str]:
        """Packages of the phone's apps, and what the apps are called."""
        with self.lock:
            return {PACKAGE + key: app.name for key, app in self.phone.apps.items()}

    def start(self, package: str) -> bool:
        """Opens an app's first screen, which is a step of the phone; False where there is no such package."""
        key = package.removeprefix(PACKAGE)
        if package == LAUNCHER:
            self.act(Command("home"))
            return True
        with self.lock:
            if key not in self.phone.apps:
                return False
            self.act(Command("open", text=self.phone.apps[key].name))
            return True

    def stop(self, package: str) -> None:
        """Closes an app's screens."""
        key = package.removeprefix(PACKAGE)
        self.with_phone(lambda phone: phone.stack.clear() if phone.stack and phone.stack[0].app == key else None)

    def with_phone(self, change: Callable[[Phone], None]) -> None:
        """Does something to the phone that is no step of it, and has it drawn afresh."""
        with self.lock:
            change(self.phone)
            self.phone._page = self.phone._nodes = None

    def top(self) -> tuple[str, str]:
        """Package and activity that are in front."""
        with self.lock:
            screen = self.phone.stack[-1] if self.phone.stack else Screen("home")
        return (PACKAGE + screen.app if screen.app != "home" else LAUNCHER), f".{screen.view.capitalize()}"

    # -- looking ---------------------------------------------------------------------------------------------------

    def frame(self) -> npt.NDArray[np.uint8]:
        """The screen ``[H, W, 3]``."""
        with self.lock:
            return self._current().copy()

    def _current(self) -> npt.NDArray[np.uint8]:
        picture = self.phone.picture()
        if picture != self._painted:
            self._renderer.paint(picture, self._frame)
            self._painted, self._raw = picture, b""
        return self._frame

    def raw(self) -> bytes:
        """As ``screencap`` writes it: width, height, format and colour space (four words), then RGBA bytes."""
        with self.lock:
            frame = self._current()
            if not self._raw:
                rgba = Image.fromarray(frame).convert("RGBA").tobytes()
                self._raw = struct.pack("<4I", self.width, self.height, RGBA_8888, SRGB) + rgba
            return self._raw

    def png(self, kind: str = "PNG") -> bytes:
        """The screen as a file of an image."""
        out = io.BytesIO()
        Image.fromarray(self.frame()).save(out, kind, **({"compress_level": 1} if kind == "PNG" else {}))
        return out.getvalue()
