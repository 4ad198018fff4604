"""One phone in a page of a browser, as a device: real mouse, wheel and key events in; tree, state and pixels out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..commands import Command, drag, long_press, parse, tap
from ..declare.expert import ScriptedExpert
from ..declare.interpreter import Program
from ..device import SCROLL_SHARE
from ..goals import State
from . import export
from .browser import Page
from .keys import keystroke
from .mirror import Mirror, mirror
from .problem import Problem, programs, to_json, world

LAYOUTS = ("same", "flow")
KEYS = {"back": "Escape", "home": "Home", "enter": "Enter"}
READY = "new Promise((resolve) => { const wait = () => window.tiltyard ? resolve(1) : setTimeout(wait, 5); wait(); })"


class WebPhone:
    """A phone in a page.

    Args:
        page: opened at the address of :class:`.server.Server`, with ``?layout=same`` or ``flow``.
        layout: "same" has the boxes of the simulated phone, "flow" is laid out by CSS and scrolled by the browser.

    Every method raises :class:`.browser.BrowserError` when the page or its browser is gone or does not answer.
    """

    def __init__(self, page: Page, layout: str) -> None:
        self.page, self.layout = page, layout
        self.page.evaluate(READY)
        self.mirror: Mirror
        self.programs: Mapping[str, Program] = {}
        self._look: dict[str, Any] = {}
        self._state: State | None = None
        self._frame: tuple[str, npt.NDArray[np.uint8]] | None = None

    def begin(self, problem: Problem) -> None:
        """Puts a fresh problem on the phone."""
        self.mirror = mirror(problem.phone())
        self.programs = programs(world(problem))
        sent = json.dumps(to_json(problem, self.mirror))
        self._see(self.page.evaluate(f"tiltyard.load({sent})"))

    def act(self, command: Command) -> None:
        """One step; see :class:`..protocol.Device`."""
        page, sent = self.page, self._send(command)
        if sent is None:
            look = page.evaluate(f"tiltyard.act({json.dumps({'verb': command.verb, 'text': command.text})})")
        else:
            asked = page.ask(f"tiltyard.after({self._look['steps'] + 1})")
            page.finish(sent)
            look = page.value(asked)
        self._see(look)
        if self.layout == "same":
            self.mirror.act(command)
        else:
            self.mirror.follow(command, look["hit"])

    def _see(self, look: dict[str, Any]) -> None:
        self._look, self._state = look, None

    def _send(self, command: Command) -> list[int] | None:
        """Sends the mouse, wheel or key events of a command; None where there are none for it."""
        page, verb = self.page, command.verb
        at = self._pixel(command.x, command.y)
        if verb in ("tap", "long_press"):
            button = "left" if verb == "tap" else "right"
            return [page.mouse(kind, *at, button=button) for kind in ("mousePressed", "mouseReleased")]
        if verb == "drag":
            to = self._pixel(command.x1, command.y1)
            return [page.mouse("mousePressed", *at), page.mouse("mouseMoved", *to), page.mouse("mouseReleased", *to)]
        if verb == "swipe":
            return [self._turn_wheel(command.text)]
        if verb == "type":
            return [page.send("Input.insertText", text=command.text)]
        if verb in KEYS:
            return [page.send(method, **params) for method, params in keystroke(KEYS[verb])]
        return None

    def _pixel(self, x: float, y: float) -> tuple[float, float]:
        """A point of the page: its last column and row end just within it."""
        return min(x * self.page.width, self.page.width - 0.02), min(y * self.page.height, self.page.height - 0.02)

    def _turn_wheel(self, direction: str) -> int:
        step = SCROLL_SHARE * self._look["room"]
        dx, dy = {"up": (0, step), "down": (0, -step), "left": (step, 0), "right": (-step, 0)}[direction]
        turn = {"type": "mouseWheel", "x": self.page.width / 2, "y": self.page.height * 0.3, "deltaX": dx, "deltaY": dy}
        return self.page.send("Input.dispatchMouseEvent", **turn)

    # -- looking -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The exact state of all apps, read back from the page."""
        if self._state is None:
            self._state = export.read_state(self._look["state"], self.programs.values())
        return self._state

    @property
    def answer(self) -> str:
        """The last answer that was given; empty: none."""
        return str(self._look["answer"])

    @property
    def report(self) -> Mapping[str, Any]:
        """All that the page says about itself: stack of screens, dialog, steps and so on."""
        return self._look

    def tree(self) -> str:
        """The accessibility tree in words: what an agent reads."""
        return str(self._look["tree"])

    def screen(self) -> npt.NDArray[np.uint8]:
        """What the page shows, RGB ``[height, width, 3]``; taken again only if something looks different."""
        if self._frame is None or self._frame[0] != self._look["shown"]:
            self._frame = self._look["shown"], self.page.screenshot()
        return self._frame[1]


class WebExpert:
    """The scripted expert on a phone in a page: where an element stands is asked of the page."""

    def __init__(self, phone: WebPhone, expert: ScriptedExpert) -> None:
        self.phone, self.expert = phone, expert

    def action(self) -> str:
        """The next action towards the goal."""
        if self.phone.layout == "same":
            return self.expert.action()
        mirror, action = self.phone.mirror, self.expert.action()
        for _ in range(100):
            if action not in ("swipe up", "swipe down") or not mirror.scroll(action[6:]):
                break
            action = self.expert.action()  # elsewhere other things are in view: only what it looks for matters
        command = parse(action, frozenset(("tap", "long_press", "drag")))
        if command.verb == "" or mirror.loading:
            return action
        return self._at_elements(command)

    def _at_elements(self, command: Command) -> str:
        mirror, able = self.phone.mirror, self.phone.mirror.able()
        has = {"tap": "on_tap", "long_press": "on_hold", "drag": "on_drop"}[command.verb]
        nodes = [mirror.top(command.x, command.y, has)]
        if command.verb == "drag":
            nodes.append(mirror.top(command.x1, command.y1, "target"))
        numbers = [next(i for i, one in enumerate(able) if one is node) for node in nodes]
        places = self.phone.page.evaluate("tiltyard.elements()")
        found = [places[number] for number in numbers]
        for place in found:
            if place["box"] is None:
                return "swipe up" if place["y"] > 0.3 else "swipe down"
        centres = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, y0, x1, y1 in (place["box"] for place in found)]
        return _written(command.verb, centres)


def _written(verb: str, points: Sequence[tuple[float, float]]) -> str:
    if verb == "drag":
        return drag(*points[0], *points[1])
    return (tap if verb == "tap" else long_press)(*points[0])
