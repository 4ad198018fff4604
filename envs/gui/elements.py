"""The numeric face of a phone: elements, flags and word tokens as integers in; verb, element and goal words out.

An agent reads ``Dict(elements: Box int16 [64, 24], goal: Box int16 [48])`` and answers with five integers: verb,
element, second element, first goal word, number of further goal words. What is seen and done is what the tree of words
and the action strings say; :func:`decode` and :func:`encode` translate one action, both ways.

Columns of an element: 0 role (0: no element; else 1 + its place in :data:`ROLES`); 1 to 4 the bounds x0, y0, x1, y1 of
what can be seen, in thousandths of the screen; 5 checked (0: neither, 1 off, 2 on); 6 focused; 7 disabled; 8 can be
tapped; 9 can be held; 10 can be dragged; 11 icon (0: none; else 1 + its number); 12 to 19 tokens of the first eight
words of its text; 20 to 23 of the first four words of its detail.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, MultiDiscrete

from ..actions import bounded, numbers
from .commands import VERBS, parse, tap
from .device import Phone
from .render import ICON_INDEX
from .ui import HEIGHT, WIDTH, Node

Int16 = npt.NDArray[np.int16]
Span = tuple[int, int]

ELEMENTS, COLUMNS, GOAL_WORDS = 64, 24, 48
TEXT_WORDS, DETAIL_WORDS = 8, 4
TEXT_AT, DETAIL_AT = 12, 20
"""First columns of the words of the text and of the detail."""
LONGEST_SPAN = 12
TOKENS = 4096
"""Tokens of words are 1 to 4095; 0 is no word."""
ROLES = (
    *("app", "button", "row", "item", "switch", "radio", "field", "tab", "chip"),
    *("image", "text", "title", "section", "dialog", "spinner", "keyboard", "banner", "notification"),
)
NUMERIC_VERBS = (
    *("tap", "long_press", "drag", "swipe up", "swipe down", "swipe left", "swipe right", "type", "back", "home"),
    *("enter", "open", "wait", "answer text", "answer detail", "answer words", "done", "infeasible"),
)
TAP, DRAG, TYPE, OPEN, WAIT, ANSWER_TEXT, ANSWER_WORDS, DONE = map(
    NUMERIC_VERBS.index, ("tap", "drag", "type", "open", "wait", "answer text", "answer words", "done")
)
POINTING = ("tap", "long_press", "drag", "answer text", "answer detail")
"""Verbs that use an element; :data:`LEADING` use a second one (or an app), :data:`SPEAKING` words of the goal."""
LEADING, SPEAKING = ("drag", "open"), ("type", "answer words")
SIZES = (len(NUMERIC_VERBS), ELEMENTS, ELEMENTS, GOAL_WORDS, LONGEST_SPAN)
WANTED = f"an action of the elements is five integers from 0 to below {SIZES}: verb, element, second, start, length"
_WORD = re.compile(r"[A-Za-z0-9]+")


def spaces() -> tuple[Dict, MultiDiscrete]:
    """The observation and the action space of one phone."""
    elements = Box(0, TOKENS - 1, (ELEMENTS, COLUMNS), np.int16)
    return Dict(elements=elements, goal=Box(0, TOKENS - 1, (GOAL_WORDS,), np.int16)), MultiDiscrete(list(SIZES))


def fnv1a(word: str) -> int:
    """FNV-1a of the ASCII characters, 32 bits.

    >>> hex(fnv1a("a"))
    '0xe40c292c'
    """
    code = 0x811C9DC5
    for byte in word.encode():
        code = (code ^ byte) * 0x01000193 & 0xFFFFFFFF
    return code


@lru_cache(maxsize=20_000)
def tokens(text: str) -> tuple[int, ...]:
    """The token of each word: of each longest run of ASCII letters and digits, in lower case."""
    return tuple(1 + fnv1a(word.lower()) % (TOKENS - 1) for word in _WORD.findall(text))


@lru_cache(maxsize=2_000)
def spans(goal: str) -> tuple[Span, ...]:
    """Where the goal's first 48 words begin and end."""
    return tuple(match.span() for match in _WORD.finditer(goal))[:GOAL_WORDS]


def goal_tokens(goal: str) -> Int16:
    """Tokens of the goal's first words ``[48]``, zeros after them."""
    found = np.zeros(GOAL_WORDS, np.int16)
    known = tokens(goal)[:GOAL_WORDS]
    found[: len(known)] = known
    return found


def listed(phone: Phone) -> list[Node]:
    """The nodes of the tree in its order, without keys; at most 64."""
    return [node for node in phone.nodes if node.role != "key"][:ELEMENTS]


def features(phone: Phone) -> Int16:
    """What can be seen of a phone ``[64, 24]``; the module says what the columns are."""
    found = np.zeros((ELEMENTS, COLUMNS), np.int16)
    for row, node in zip(found, listed(phone), strict=False):
        flags = (node.focused, node.disabled, *(does is not None for does in (node.on_tap, node.on_hold, node.on_drop)))
        row[:TEXT_AT] = (
            1 + ROLES.index(node.role),
            *(_thousandths(node.x0 / WIDTH), _thousandths(node.v0 / HEIGHT)),
            *(_thousandths(node.x1 / WIDTH), _thousandths(node.v1 / HEIGHT)),
            0 if node.checked is None else 1 + node.checked,
            *flags,
            1 + ICON_INDEX[node.icon] if node.icon else 0,
        )
        text, detail = tokens(node.text)[:TEXT_WORDS], tokens(node.detail)[:DETAIL_WORDS]
        row[TEXT_AT : TEXT_AT + len(text)] = text
        row[DETAIL_AT : DETAIL_AT + len(detail)] = detail
    return found


def _thousandths(share: float) -> int:
    return floor(share * 1000 + 0.5)


def check(actions: Any, num_envs: int) -> npt.NDArray[np.int64]:
    """A batch of actions ``[n, 5]``.

    Raises:
        InvalidAction: on anything else.
    """
    batch = numbers(actions, (num_envs, len(SIZES)), kinds="iu", wanted=WANTED)
    return bounded(batch, np.zeros(len(SIZES)), np.array(SIZES) - 1, wanted=WANTED).astype(np.int64)


def decode(action: Any, phone: Phone, goal: str) -> str:
    """The action string of five integers on what a phone shows now; ``wait`` where they name nothing that is there."""
    verb, first, second, start, length = (int(part) for part in action)
    name = NUMERIC_VERBS[verb]
    if name in ("tap", "long_press", "drag"):
        nodes = listed(phone)
        chosen = (first, second) if name == "drag" else (first,)
        if max(chosen) >= len(nodes):
            return "wait"
        return " ".join([name, *(tap(*middle(nodes[i]))[len("tap ") :] for i in chosen)])
    if name in ("type", "answer words"):
        text = spoken(goal, start, length)
    elif name in ("answer text", "answer detail"):
        nodes = listed(phone)
        text = "" if first >= len(nodes) else nodes[first].text if name == "answer text" else nodes[first].detail
    elif name == "open":
        text = list(phone.apps.values())[second % len(phone.apps)].name
    else:
        return name
    return f"{name.split()[0]} {text}" if text else "wait"


def middle(node: Node) -> tuple[float, float]:
    """The middle of the part that can be seen, in shares of the screen."""
    return (node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT


def spoken(goal: str, start: int, length: int) -> str:
    """The goal from its word ``start`` to the end of the word ``start + length`` (or its last); "" where it has none.

    >>> spoken("Add Ada Bell (ada@bell.com)", 1, 1), spoken("Add Ada Bell (ada@bell.com)", 3, 2)
    ('Ada Bell', 'ada@bell.com')
    """
    words = spans(goal)
    return goal[words[start][0] : words[min(start + length, len(words) - 1)][1]] if start < len(words) else ""


def canonical(actions: npt.NDArray[Any], seen: npt.NDArray[Any], goals: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """One form of all actions ``[n, 5]`` that do the same on elements ``[n, 64, 24]`` under goals ``[n, 48]``.

    Parts that the verb does not use are 0, a span ends with the goal, and what names nothing that is there is ``wait``.
    """
    found = np.array(actions, np.int64)
    verb, first, second, start, length = found.T
    present, words = (seen[:, :, 0] > 0).sum(1), (goals > 0).sum(1)
    named = [np.isin(verb, [NUMERIC_VERBS.index(name) for name in names]) for names in (POINTING, LEADING, SPEAKING)]
    lost = named[0] & (first >= present) | (verb == DRAG) & (second >= present) | named[2] & (start >= words)
    for part, used in ((first, named[0]), (second, named[1]), (start, named[2]), (length, named[2])):
        part[~used] = 0
    length[:] = np.minimum(length, np.maximum(words - 1 - start, 0))
    found[lost] = [WAIT, 0, 0, 0, 0]
    return found


def encode(action: str, phone: Phone, goal: str) -> list[int] | None:
    """The five integers that do what an action string does on this phone now; None where none do.

    A tap is one on the element that it hits; while a screen loads, when nothing can be hit, on the first. Text is typed
    where the goal has it word for word, and answered where the goal or an element has it.
    """
    verb, _, rest = action.partition(" ")
    if action in NUMERIC_VERBS:
        return [NUMERIC_VERBS.index(action), 0, 0, 0, 0]
    if verb in ("tap", "long_press", "drag"):
        touched = (0,) if phone.loading else _touched(action, listed(phone))
        return None if None in touched else [NUMERIC_VERBS.index(verb), *(*touched, 0)[:2], 0, 0]  # type: ignore[list-item]
    if verb == "open":
        names = [app.name.lower() for app in phone.apps.values()]
        return [OPEN, 0, names.index(rest.lower()), 0, 0] if rest.lower() in names else None
    if verb in ("type", "answer"):
        place = _place(rest, goal)
        if place is not None:
            return [TYPE if verb == "type" else ANSWER_WORDS, 0, 0, *place]
        return _shown(rest, listed(phone)) if verb == "answer" else None
    return None


def _touched(action: str, nodes: list[Node]) -> tuple[int | None, ...]:
    """Places in the list of what a tap, long press or drag hits: the topmost elements that can take it."""
    command = parse(action, VERBS)
    if command.verb == "drag":
        held = [node.on_drop is not None for node in nodes]
        return _hit(command.x, command.y, nodes, held), _hit(
            command.x1, command.y1, nodes, [node.target is not None for node in nodes]
        )
    able = [(node.on_tap if command.verb == "tap" else node.on_hold) is not None for node in nodes]
    return (_hit(command.x, command.y, nodes, able),)


def _hit(x: float, y: float, nodes: list[Node], able: list[bool]) -> int | None:
    x, y = min(x * WIDTH, WIDTH - 0.01), min(y * HEIGHT, HEIGHT - 0.01)
    return next((i for i in reversed(range(len(nodes))) if able[i] and nodes[i].holds(x, y)), None)


def _shown(text: str, nodes: list[Node]) -> list[int] | None:
    """The answer with an element's text, or with its detail."""
    for verb, texts in ((ANSWER_TEXT, [n.text for n in nodes]), (ANSWER_TEXT + 1, [n.detail for n in nodes])):
        if text in texts:
            return [verb, texts.index(text), 0, 0, 0]
    return None


@lru_cache(maxsize=5_000)
def _place(text: str, goal: str) -> Span | None:
    starts = range(len(spans(goal)))
    return next(
        ((start, n) for start in starts for n in range(LONGEST_SPAN) if spoken(goal, start, n) == text),
        None,
    )


def encoded(actions: Sequence[str], phones: Sequence[Phone], goals: Sequence[str]) -> npt.NDArray[np.int64]:
    """:func:`encode` of several phones ``[n, 5]``, with ``done`` in the place of what no numbers say."""
    found = (encode(*one) for one in zip(actions, phones, goals, strict=True))
    return np.array([one or [DONE, 0, 0, 0, 0] for one in found], np.int64)


def observe(phones: Sequence[Phone], goals: Sequence[str]) -> dict[str, Int16]:
    """Elements ``[n, 64, 24]`` and goals ``[n, 48]`` of several phones."""
    return {
        "elements": np.stack([features(phone) for phone in phones]),
        "goal": np.stack([goal_tokens(goal) for goal in goals]),
    }
