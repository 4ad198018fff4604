"""What a goal is: words, and the exact state it asks for.

A goal is reached when the state of *every* app equals the expected one: what was asked is done, and nothing else was
touched. Where the expected state equals the initial one, something must be answered, or the goal is infeasible and that
must be said: doing nothing never succeeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

State = dict[str, Any]
"""The state of the whole phone: app key -> frozen dataclass."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Goal:
    """A goal in words with its checker (``expected``).

    ``asked`` is what the words say beside their wording (which switch, on or off): with the template's name it decides
    the split, so that whatever is asked in one split is never asked in the other, in any words or on any phone.

    ``look`` is a screen (app, screen, argument) to visit first: who does not know the answer must go there, so the
    expert's episodes are as long as honest ones.

    ``wording`` is the number of its wording among its template's. ``answer`` is what must be answered, if it asks a
    question. ``infeasible``: nothing on this phone fulfils it, and ``expected`` is the initial state.
    """

    text: str
    expected: State
    look: tuple[str, str, Any] | None = None
    wording: int = 0
    asked: tuple[object, ...] = field(kw_only=True)
    answer: str = ""
    infeasible: bool = False

    def reached(self, state: State, answer: str, ended: str) -> bool:
        """Whether it is fulfilled.

        Args:
            state: of all apps now.
            answer: the last answer; compared with single spaces and in lower case.
            ended: the verb that ended the episode, ``done`` or ``infeasible``.
        """
        answered = not self.answer or spoken(answer) == spoken(self.answer)
        return bool(state == self.expected and answered and (ended == "infeasible") == self.infeasible)


@dataclass(frozen=True)
class Template:
    """A family of goals.

    Attributes:
        name: unique, lower case with underscores.
        level: 1, 2 or 3.
        apps: keys of the apps it needs.
        make: ``(rng, state, wordings="all") -> Goal``; it may first prepare ``state`` (the initial state) in place.
            Of the wordings all may be drawn, or the "first" (all but the last), or the "last".
        weight: how often it is drawn, relative to the others of its level.
        infeasible: its goals cannot be fulfilled.
    """

    name: str
    level: int
    apps: tuple[str, ...]
    make: Callable[..., Goal]
    weight: float = 1.0
    infeasible: bool = False


def spoken(answer: str) -> str:
    """An answer as answers are compared.

    >>> spoken(" Elm  Road ")
    'elm road'
    """
    return " ".join(answer.lower().split())


def pick(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    """One item, uniformly."""
    return items[int(rng.integers(len(items)))]


def swap(items: tuple[Item, ...], old: Item, new: Item | None) -> tuple[Item, ...]:
    """The tuple with ``old`` replaced by ``new`` (None: left out)."""
    return tuple(kept for item in items for kept in ((new if item == old else item),) if kept is not None)
