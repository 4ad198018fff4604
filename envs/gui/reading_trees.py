"""A policy of numbers that reads and acts in words: the very same agent in a browser, and on a device behind adb.

What the numbers of :mod:`.elements` say and a tree of words does not is the icon (0 here) and thousandths of a place
(hundredths here); what can be tapped follows from the role. Everything else is read from the lines.

>>> agent = TreePolicy(tiltyard.agents.DigiRL.load("runs/.../checkpoint.zip"))                     # doctest: +SKIP
>>> env = gymnasium.make("tiltyard/WebPhone-v0", layout="flow", size=(915, 412))                   # doctest: +SKIP
>>> action, _ = agent.predict(env.reset(seed=0)[0])                                                # doctest: +SKIP
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import elements
from .commands import VERBS, Commands, tap
from .problems_v1 import world

__all__ = ["Line", "TreePolicy", "features", "lines", "said"]

TAPPED = frozenset({"app", "button", "row", "switch", "radio", "field", "tab", "chip", "notification", "banner"})
"""Roles of what can be tapped."""
_LINE = re.compile(r'(\w+) "([^"]*)"(?: "([^"]*)")?((?: -?\d+\.\d+){4})((?: \w+)*)$')


@dataclass(frozen=True)
class Line:
    """An element as a tree of words tells it; ``box`` holds x0, y0, x1, y1 in shares of the screen."""

    role: str
    text: str
    detail: str
    box: tuple[float, ...]
    flags: frozenset[str]

    @property
    def middle(self) -> tuple[float, float]:
        """Where it is tapped."""
        x0, y0, x1, y1 = self.box
        return (x0 + x1) / 2, (y0 + y1) / 2


def lines(tree: str) -> list[Line]:
    """The elements of a tree, at most 64; keys and lines that are no elements are left out.

    >>> lines('button "Save" 0.10 0.20 0.30 0.40 disabled')[0].middle
    (0.2, 0.30000000000000004)
    """
    found = [_LINE.match(line) for line in tree.splitlines()]
    made = [
        Line(one[1], one[2], one[3] or "", tuple(map(float, one[4].split())), frozenset(one[5].split()))
        for one in found
        if one is not None and one[1] in elements.ROLES
    ]
    return made[: elements.ELEMENTS]


def features(seen: Sequence[Line]) -> npt.NDArray[np.int16]:
    """The numbers of elements ``[64, 24]``; see :mod:`.elements` for the columns."""
    found = np.zeros((elements.ELEMENTS, elements.COLUMNS), np.int16)
    for row, one in zip(found, seen, strict=False):
        checked = 2 if "checked" in one.flags else 1 if "unchecked" in one.flags else 0
        flags = ("focused" in one.flags, "disabled" in one.flags, one.role in TAPPED, "hold" in one.flags)
        row[:11] = (
            1 + elements.ROLES.index(one.role),
            *(round(1000 * share) for share in one.box),
            checked,
            *flags,
            "drag" in one.flags,
        )
        text, detail = (elements.tokens(words) for words in (one.text, one.detail))
        text, detail = text[: elements.TEXT_WORDS], detail[: elements.DETAIL_WORDS]
        row[elements.TEXT_AT : elements.TEXT_AT + len(text)] = text
        row[elements.DETAIL_AT : elements.DETAIL_AT + len(detail)] = detail
    return found


def said(action: Sequence[int], seen: Sequence[Line], goal: str, apps: Sequence[str]) -> str:
    """The action string of five integers; ``wait`` where they name nothing that is there, as :func:`.elements.decode`.

    Args:
        action: verb, element, second, first word, further words.
        seen: what the policy was shown.
        goal: its words.
        apps: names, in the order of the phone's.
    """
    verb, first, second, start, length = (int(part) for part in action)
    name = elements.NUMERIC_VERBS[verb]
    chosen = (first, second) if name == "drag" else (first,)
    there = max(chosen) < len(seen)
    if name in ("tap", "long_press", "drag"):
        places = [tap(*seen[i].middle)[len("tap ") :] for i in chosen] if there else []
        return " ".join([name, *places]) if there else "wait"
    if name in ("type", "answer words"):
        text = elements.spoken(goal, start, length)
    elif name in ("answer text", "answer detail"):
        text = "" if not there else seen[first].text if name == "answer text" else seen[first].detail
    elif name == "open":
        text = apps[second % len(apps)]
    else:
        return name
    return f"{name.split()[0]} {text}" if text else "wait"


class Numeric(Protocol):
    """What acts in numbers: any agent trained with ``observation="elements"``."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]:
        """From ``elements [n, 64, 24]`` and ``goal [n, 48]`` to actions ``[n, 5]``."""


class TreePolicy:
    """Reads ``tree`` and ``goal`` of an observation, or of a batch, and acts by action strings.

    Args:
        agent: that acts in numbers.
        apps: names of apps, in the order of the phone's; Phone-v1's by default.

    Attributes:
        action_space: strings with all of Phone-v1's verbs, by which ``benchmarks.evaluate`` leaves words as words.
    """

    def __init__(self, agent: Numeric, apps: Sequence[str] | None = None) -> None:
        programs = world().programs.values()
        self.agent, self.apps = agent, list(apps or (one.app.name for one in programs if not one.app.hidden))
        self.action_space = Commands(verbs=VERBS)

    def predict(
        self,
        observation: Mapping[str, Any],
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """An action string, or a list of one for each observation of a batch; and the agent's state.

        Raises:
            TypeError: the observation has no ``tree``.
        """
        if "tree" not in observation:
            raise TypeError('a TreePolicy reads trees of words: make the phone with observation="tree" or "screen"')
        single = isinstance(observation["tree"], str)
        trees, goals = ([one] if single else list(one) for one in (observation["tree"], observation["goal"]))
        seen = [lines(tree) for tree in trees]
        numbers = {
            "elements": np.stack([features(one) for one in seen]),
            "goal": np.stack([elements.goal_tokens(goal) for goal in goals]),
        }
        actions, state = self.agent.predict(numbers, state, episode_start, deterministic)
        words = [said(*one, self.apps) for one in zip(actions, seen, goals, strict=True)]
        return (words[0] if single else words), state
