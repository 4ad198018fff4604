"""Screens with an accessibility tree as fixed-size spaces for SB3: a float vector in, an index out.

Only what an agent sees is read: the ``tree`` and the ``goal`` of a GUI observation, never the environment's state.

What can be tapped is ranked by how well its words match those of the goal (ties keep the order on the screen), and the
first ``slots`` elements are shown and offered as actions. A policy need not learn twice what a good match means.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Discrete, Space

Floats32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

ROLES = ("app", "button", "row", "switch", "radio", "field", "tab", "chip")
"""Roles that can be tapped; the others are only read."""
PLAIN = ("swipe up", "swipe down", "back", "home", "enter", "done")
STOP = frozenset(
    "a all an and at by for from go i in is it make of open pay set than that the then to with your".split()
)
LINE = re.compile(r'^(\w+) "([^"\n]*)"(?: "([^"\n]*)")? ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)([a-z ]*)$', re.MULTILINE)
SCREEN = re.compile(r'^screen "([^"\n]*)"')
CANDIDATE = re.compile(r"\S+@\S+|\b\d{1,3} [A-Z]\w+ [A-Z]\w+|[A-Z][\w-]*(?: [A-Z]\w*| \d+\b)*|\w*\d\w*")
WORD = re.compile(r"[a-z0-9@.$%-]*[a-z0-9%]")

GOAL_BITS, SCREEN_BITS, WORD_BITS = 64, 24, 12
MATCHES = 6
SLOT = len(ROLES) + 4 + 4 + MATCHES + WORD_BITS
GLOBALS = 8


class Element(NamedTuple):
    """One line of the tree: bounds in shares of the screen, and its match features with the goal ``[MATCHES]``."""

    role: str
    text: str
    detail: str
    bounds: tuple[float, float, float, float]
    flags: str
    match: tuple[float, ...]


@lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """Lower-case words without plural s and without the commonest, each once.

    >>> words("In the Shop, add 2 blue Mugs")
    ('shop', 'add', '2', 'blue', 'mug')
    """
    found = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in WORD.findall(text.lower()))
    return tuple(dict.fromkeys(word for word in found if word not in STOP))


@lru_cache(maxsize=20_000)
def hashed(text: str, bits: int) -> Floats32:
    """Which of ``bits`` buckets the words of a text fall into (signed, so that collisions tend to cancel)."""
    vector = np.zeros(bits, np.float32)
    for word in words(text):
        code = crc32(word.encode())
        vector[code % bits] += 1.0 if code & 0x8000 else -1.0
    return np.clip(vector, -1.0, 1.0)


@lru_cache(maxsize=2_000)
def candidates(goal: str) -> tuple[str, ...]:
    """Strings of the goal that one may have to type, in order: names, numbers, addresses, passwords, mail addresses.

    >>> candidates("Order 2 mugs for Ada Bell, 14 Linden Road, Upton, password x99")
    ('2', 'Ada Bell', '14 Linden Road', 'Upton', 'x99')
    """
    found = (text.rstrip(".,:;)") for text in CANDIDATE.findall(goal[1:]))
    return tuple(dict.fromkeys(text for text in found if text))


@lru_cache(maxsize=50_000)
def matched(text: str, detail: str, goal: str) -> tuple[float, ...]:
    """How an element's words match the goal's: five shares, and whether its text stands in the goal word for word."""
    asked, own, second = set(words(goal)), words(text), words(detail)
    hits = sum(word in asked for word in own)
    late = {word for word in words(goal)[-3:]}
    return (
        hits / max(len(own), 1),
        min(hits, 4) / 4,
        float(bool(own) and " ".join(own) in " ".join(words(goal))),
        sum(word in asked for word in second) / max(len(second), 1),
        sum(word in late for word in own) / max(len(own), 1),
        float(any((detail or text).endswith(ending) for ending in candidates(goal))),
    )


def read(tree: str, goal: str) -> list[Element]:
    """The elements that the tree lists, in its order."""
    found = []
    for role, text, detail, x0, y0, x1, y1, flags in LINE.findall(tree):
        bounds = (float(x0), float(y0), float(x1), float(y1))
        found.append(Element(role, text, detail, bounds, flags, matched(text, detail, goal)))
    return found


class Elements:
    """The adapter of GUI environments (see :class:`tiltyard.wrappers.spaces.Adapter`).

    Observation: ``Box`` of floats: hashed words of the goal and of the screen's title, a few facts about the screen,
    then for each slot its role, bounds, flags, matches with the goal and hashed words. With ``pixels=True`` a ``Dict``
    of that vector and the ``screen``, for SB3's ``MultiInputPolicy``.

    Action: ``Discrete``: tap slot 0 ... ``slots - 1``, type candidate 0 ... ``strings - 1`` of the goal, then
    swipe up, swipe down, back, home, enter, done. Actions that are impossible now (an empty slot, typing into nothing)
    tap one of the filled slots instead (the best ones, for typing), so that no probability is wasted on them;
    :meth:`mask` tells which these are.

    Args:
        observation_space: of the environment, with ``screen``, ``tree`` and ``goal``.
        action_space: of the environment (action strings).
        slots: elements shown.
        strings: candidate strings offered.
        pixels: also pass the screen on.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        slots: int = 14,
        strings: int = 6,
        pixels: bool = False,
    ) -> None:
        if slots < 1 or strings < 0:
            raise ValueError(f"slots must be at least 1 and strings at least 0, got {slots} and {strings}")
        self.slots, self.strings, self.pixels = slots, strings, pixels
        self.length = GOAL_BITS + SCREEN_BITS + GLOBALS + slots * SLOT
        vector = Box(-1.0, 1.0, (self.length,), np.float32)
        self.observation_space: Space[Any] = vector
        if pixels:
            assert isinstance(observation_space, Dict)
            self.observation_space = Dict(elements=vector, screen=observation_space["screen"])
        self.action_space: Space[Any] = Discrete(slots + strings + len(PLAIN))

    def ranked(self, observation: Mapping[str, Any]) -> list[Element]:
        """The elements in the slots: those that can be tapped, best match with the goal first."""
        return self._ranked(read(observation["tree"], observation["goal"]))

    def _ranked(self, elements: list[Element]) -> list[Element]:
        able = [e for e in elements if e.role in ROLES and "disabled" not in e.flags]
        return sorted(able, key=lambda e: -(e.match[0] + e.match[1] + e.match[2] + 0.5 * e.match[3]))[: self.slots]

    def encode(self, observation: Mapping[str, Any]) -> Any:
        """One observation as a vector ``[length]`` (or the dict of it and the screen)."""
        tree, goal = observation["tree"], observation["goal"]
        elements = read(tree, goal)
        vector = np.zeros(self.length, np.float32)
        vector[:GOAL_BITS] = hashed(goal, GOAL_BITS)
        title = SCREEN.match(tree)
        at = GOAL_BITS + SCREEN_BITS
        vector[GOAL_BITS:at] = hashed(title[1] if title else "", SCREEN_BITS)
        vector[at : at + GLOBALS] = _facts(tree, goal, elements)
        at += GLOBALS
        wish = _wish(goal)
        for element in self._ranked(elements):
            vector[at : at + SLOT] = _features(element, wish)
            at += SLOT
        return {"elements": vector, "screen": observation["screen"]} if self.pixels else vector

    def decode(self, action: Any, observation: Mapping[str, Any]) -> str:
        """The action string of an index, given what the screen shows."""
        index = int(action)
        if index >= self.slots + self.strings:
            return PLAIN[index - self.slots - self.strings]
        if index >= self.slots and self._can_type(observation, index - self.slots):
            return f"type {candidates(observation['goal'])[index - self.slots]}"
        shown = self.ranked(observation)
        if not shown:
            return "tap 0.500 0.020"  # nothing to tap, a loading screen: touch the status bar, that is, wait
        slot = index if index < self.slots else index - self.slots
        x0, y0, x1, y1 = shown[slot % len(shown)].bounds
        return f"tap {(x0 + x1) / 2:.3f} {(y0 + y1) / 2:.3f}"

    def mask(self, observation: Mapping[str, Any]) -> Bools:
        """Which actions ``[n]`` are possible now and mean what they say (the form sb3-contrib's MaskablePPO takes)."""
        possible = np.ones(self.slots + self.strings + len(PLAIN), np.bool_)
        possible[len(self.ranked(observation)) : self.slots] = False
        for string in range(self.strings):
            possible[self.slots + string] = self._can_type(observation, string)
        return possible

    def _can_type(self, observation: Mapping[str, Any], string: int) -> bool:
        return "\nkeyboard " in observation["tree"] and string < len(candidates(observation["goal"]))


@lru_cache(maxsize=2_000)
def _wish(goal: str) -> float:
    asked = WORD.findall(goal.lower())
    return float("on" in asked) - float("off" in asked)


def _facts(tree: str, goal: str, elements: list[Element]) -> tuple[float, ...]:
    """[GLOBALS] facts about the whole screen: keyboard, dialog, loading, scrolling, and what texts match the goal."""
    read_only = [element for element in elements if element.role not in ROLES]
    return (
        float("\nkeyboard " in tree),
        float("\ndialog " in tree),
        float("\nspinner " in tree),
        float("\nswipe up" in tree),
        float(tree.endswith(" down")),
        _wish(goal),
        max((element.match[0] for element in read_only), default=0.0),
        float(any(element.match[3] > 0 for element in elements if element.role == "text")),
    )


def _features(element: Element, wish: float) -> Floats32:
    vector = np.zeros(SLOT, np.float32)
    vector[ROLES.index(element.role)] = 1.0
    at = len(ROLES)
    vector[at : at + 4] = element.bounds
    on = float("checked" in element.flags) - 2 * float("unchecked" in element.flags)  # 1 on, -1 off, 0 neither
    vector[at + 4 : at + 8] = (on, float("focused" in element.flags), on * wish, 1.0)
    at += 8
    vector[at : at + MATCHES] = element.match
    vector[at + MATCHES :] = hashed(element.text, WORD_BITS)
    return vector
