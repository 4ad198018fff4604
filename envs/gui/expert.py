"""The scripted expert: it reads the true state and the screen, and computes the next action afresh at every step.

It keeps no script position, so it recovers from interruptions, slow screens and other policies' detours.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .commands import tap
from .ui import HEIGHT, WIDTH, Node

if TYPE_CHECKING:
    from .device import Phone
    from .goals import Goal

Hop = tuple[str, str, Any]
"""How to go one screen deeper: text of the element to tap, view it opens, the view's argument."""


class ScriptedExpert:
    """Hands for one phone. Every method returns the next action, or None where there is nothing (left) to do."""

    def __init__(self, phone: "Phone", goal: "Goal") -> None:
        self.phone, self.goal = phone, goal

    def action(self) -> str:
        """The next action towards the goal; ``done`` when all is done."""
        phone = self.phone
        if phone.loading:
            return tap(0.5, 0.02)
        if phone.dialog is not None and phone.dialog.interrupt:
            return self.press(phone.dialog.buttons[0][0])
        if self.goal.look:
            app, *path = self.goal.look
            if (app, *path[-1][1:]) not in phone.seen:
                return self.go(app, *path) or "back"
        for task in self.goal.tasks:
            if not task.achieved(phone.state):
                return task.act(self)
        return "done"

    def go(self, app: str, *path: Hop) -> str | None:
        """Towards the screen at the end of ``path`` in ``app``; None when it is on top."""
        stack = self.phone.stack
        wanted = [(app, "main", None), *((app, view, arg) for _, view, arg in path)]
        have = [(screen.app, screen.view, screen.arg) for screen in stack]
        if have == wanted:
            return None
        if self.phone.dialog is not None or (have and have != wanted[: len(have)]):
            return "home" if have and have[0][0] != app and self.phone.dialog is None else "back"
        return self.press(path[len(have) - 1][0] if have else self.phone.apps[app].name)

    def press(self, text: str, role: str | None = None, *, detail: str | None = None) -> str:
        """Taps the element with this text, scrolling until it can be seen; gives up with ``done`` if there is none."""
        phone = self.phone
        for node in phone.nodes:
            if _is(node, text, role, detail) and node.on_tap is not None:
                return tap((node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT)
        if phone.dialog is None:
            for node in phone.page.column:
                if _is(node, text, role, detail):
                    return "swipe up" if node.y1 > phone.page.bottom else "swipe down"
        return "done"

    def fill(self, fields: Sequence[tuple[str, str, str]]) -> str | None:
        """Fills fields ``(key, label, text)`` of the screen on top; None when all hold their text."""
        screen = self.phone.stack[-1]
        for key, label, text in fields:
            draft = screen.drafts.get(key, "")
            if draft == text:
                continue
            if draft and not text.startswith(draft):
                return self.press(f"Clear {label}")
            return f"type {text[len(draft) :]}" if screen.focus == key else self.press(label, "field")
        return None


def _is(node: Node, text: str, role: str | None, detail: str | None) -> bool:
    return node.text == text and (role is None or node.role == role) and (detail is None or node.detail == detail)
