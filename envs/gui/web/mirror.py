"""The phone in Python that does what the one in the browser does, for the scripted expert, which reads it."""

from collections.abc import Sequence
from dataclasses import fields

from ..commands import Command
from ..device import Phone
from ..ui import Node


class Mirror(Phone):
    """A phone that can also be told which of its elements were touched, wherever a browser had put them."""

    def able(self) -> list[Node]:
        """The elements that do something, in their order, scrolled into view or not."""
        _ = self.nodes  # laid out
        nodes = self.nodes if self.dialog is not None else [*self.page.fixed, *self.page.column, *self.upper()]
        return [one for one in nodes if (one.on_tap or one.on_hold or one.on_drop or one.target is not None)]

    def upper(self) -> list[Node]:
        """What lies over the page: keys and a notification."""
        return [node for node in self.nodes if node.role in ("keyboard", "key", "notification")]

    def follow(self, command: Command, hit: Sequence[int] | None) -> None:
        """One step: the command, done to the elements ``hit`` (their numbers in :meth:`able`; None: to none)."""
        if command.verb in ("tap", "long_press", "drag"):
            numbers = "" if hit is None else " ".join(map(str, hit))
            command = Command("touch", text=f"{command.verb} {numbers}")
        self.act(command)

    def _touch(self, command: Command) -> None:
        verb, *numbers = command.text.split()
        if not numbers:
            return
        able = self.able()
        node, onto = able[int(numbers[0])], able[int(numbers[1])]
        if node.disabled:
            return
        if verb == "drag" and node.on_drop is not None:
            node.on_drop(onto.target)
        elif (do := node.on_hold if verb == "long_press" else node.on_tap) is not None:
            do()

    def scroll(self, direction: str) -> bool:
        """Scrolls without a step; whether that moved anything."""
        before = self.page.screen.scroll
        self._swipe(Command("swipe", text=direction))
        self._page = self._nodes = None
        return self.page.screen.scroll != before

    def top(self, x: float, y: float, has: str) -> Node | None:
        """The topmost element at a point with a handler or a target."""
        return self._top(x, y, lambda node: getattr(node, has) is not None)


def mirror(phone: Phone) -> Mirror:
    """A phone of the same kind with the same on it, that is a mirror as well."""
    kind: type[Mirror] = type("MirrorPhone", (Mirror, type(phone)), {})
    made = kind(**{one.name: getattr(phone, one.name) for one in fields(phone)})
    made.stack += phone.stack
    return made
