"""What an agent sees of a phone, in one form: from the tree in words, or from elements in numbers.

Words are the tokens of :func:`tiltyard.envs.gui.elements.tokens`, so that both observations give the same view.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..envs.gui.commands import VERBS, parse
from ..envs.gui.elements import DETAIL_AT, DETAIL_WORDS, NUMERIC_VERBS, ROLES, TEXT_AT, TEXT_WORDS, tokens
from .elements import LINE

Words = tuple[int, ...]
READ = frozenset(("text", "title", "section", "image", "spinner", "keyboard", "dialog", "item"))
"""Roles that cannot be tapped."""


class Seen(NamedTuple):
    """One element: role, words of its text and its detail, bounds in thousandths of the screen, and its state.

    ``checked`` is 0 where it is neither on nor off, else 1 (off) or 2 (on).
    """

    role: str
    text: Words
    detail: Words
    box: tuple[int, int, int, int]
    checked: int
    focused: bool


class Act(NamedTuple):
    """An action: its verb as numbers have it ("swipe up", "answer"), the place of the element it touches, or None."""

    verb: str
    element: int | None


@dataclass(frozen=True)
class View:
    """A screen; equal views look the same."""

    elements: tuple[Seen, ...]

    @property
    def title(self) -> Words:
        """The words of the dialog that lies over the screen, or else of its title; none at home."""
        named = {one.role: one.text for one in reversed(self.elements)}
        return named.get("dialog", named.get("title", ()))

    @property
    def words(self) -> frozenset[int]:
        """All that is written on it."""
        return frozenset(word for one in self.elements for word in (*one.text, *one.detail))

    def has(self, role: str) -> bool:
        """Whether an element of a role is there."""
        return any(one.role == role for one in self.elements)

    @property
    def place(self) -> tuple[bool, Words]:
        """What tells one screen from another: whether a dialog is open, and the title."""
        return self.has("dialog"), self.title

    def at(self, x: float, y: float) -> int | None:
        """The topmost element that can be tapped at a point (shares of the screen)."""
        for index in reversed(range(len(self.elements))):
            one = self.elements[index]
            x0, y0, x1, y1 = one.box
            if one.role not in READ and x0 <= 1000 * x <= x1 and y0 <= 1000 * y <= y1:
                return index
        return None


def view(observation: Mapping[str, Any]) -> View:
    """The view of one observation: of its elements, or else of its tree.

    Raises:
        TypeError: it has neither.
    """
    if "elements" in observation:
        return _of_elements(np.asarray(observation["elements"]))
    if "tree" in observation:
        return of_tree(observation["tree"])
    raise TypeError(f"a phone is looked at by its elements or its tree, and here are {', '.join(observation)}")


def of_tree(tree: str) -> View:
    """The view of a tree in words."""
    return View(
        tuple(
            Seen(
                role,
                tokens(text)[:TEXT_WORDS],
                tokens(detail)[:DETAIL_WORDS],
                (_thousandths(x0), _thousandths(y0), _thousandths(x1), _thousandths(y1)),
                2 if " checked" in flags else 1 if " unchecked" in flags else 0,
                " focused" in flags,
            )
            for role, text, detail, x0, y0, x1, y1, flags in LINE.findall(tree)
            if role in ROLES
        )
    )


def _thousandths(share: str) -> int:
    return round(1000 * float(share))


def _of_elements(rows: npt.NDArray[Any]) -> View:
    return View(
        tuple(
            Seen(
                ROLES[row[0] - 1],
                tuple(word for word in row[TEXT_AT:DETAIL_AT] if word),
                tuple(word for word in row[DETAIL_AT:] if word),
                tuple(row[1:5]),
                row[5],
                bool(row[6]),
            )
            for row in rows[rows[:, 0] > 0].tolist()
        )
    )


def goal_words(observation: Mapping[str, Any]) -> frozenset[int]:
    """The words of the goal."""
    goal = observation["goal"]
    return frozenset(tokens(goal) if isinstance(goal, str) else (int(word) for word in np.asarray(goal) if word))


def act(action: Any, seen: View) -> Act:
    """An action, in words or in numbers, on what is seen."""
    if isinstance(action, str):
        command = parse(action, VERBS)
        touches = command.verb in ("tap", "long_press", "drag")
        verb = f"swipe {command.text}" if command.verb == "swipe" else command.verb
        return Act(verb, seen.at(command.x, command.y) if touches else None)
    verb, first = NUMERIC_VERBS[int(action[0])], int(action[1])
    touched = first if verb in ("tap", "long_press", "drag") and first < len(seen.elements) else None
    return Act("answer" if verb.startswith("answer") else verb, touched)


def plain(verb: str, like: Any) -> Any:
    """An action that is a verb alone, such as "back", in words or in numbers ``[5]``, as ``like`` is."""
    if isinstance(like, str):
        return verb
    return np.array([NUMERIC_VERBS.index(verb), 0, 0, 0, 0], np.int64)


def tapping(index: int, seen: View, like: Any) -> Any:
    """The tap on an element, in words or in numbers, as ``like`` is."""
    if isinstance(like, str):
        x0, y0, x1, y1 = seen.elements[index].box
        return f"tap {(x0 + x1) / 2000:.3f} {(y0 + y1) / 2000:.3f}"
    return np.array([NUMERIC_VERBS.index("tap"), index, 0, 0, 0], np.int64)
