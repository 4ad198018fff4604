"""What the phone environment asks of the device behind it: whatever has these members can stand there."""

from typing import Protocol, runtime_checkable

from .commands import Command
from .goals import State
from .render import Picture


@runtime_checkable
class Device(Protocol):
    """A phone that takes commands and can be looked at; :class:`~.device.Phone` simulates one.

    The scripted expert asks for more, since it reads the simulated apps themselves.
    """

    @property
    def state(self) -> State:
        """The exact state of all apps, by which goals are judged."""

    @property
    def answer(self) -> str:
        """The last answer that was given; empty: none."""

    def act(self, command: Command) -> None:
        """One step: a tap, text, a swipe, a button, an answer, ``done``, or what could not be read (verb ``""``)."""

    def tree(self) -> str:
        """The accessibility tree in words: what an agent reads."""

    def picture(self) -> Picture:
        """What the screen shows, to be painted at any size: screens that look the same have equal pictures."""
