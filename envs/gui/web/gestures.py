"""The language of actions in a browser: Phone's verbs, and those of a mouse and a keyboard.

    tap X Y | double_tap X Y | long_press X Y | hover X Y | drag X0 Y0 X1 Y1 [X2 Y2 ...] | swipe up|down|left|right |
    type TEXT | key NAME | enter | wait

X and Y are shares of the screen from 0 to 1. A swipe turns the mouse's wheel where the mouse last was. Keys are those
of :mod:`.keys`, with modifiers: ``key Control+a``, ``key Tab``.
"""

import string
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Text

from .keys import keystroke

POINTS = {"tap": 1, "double_tap": 1, "long_press": 1, "hover": 1}
DIRECTIONS = {"up": (0, 1), "down": (0, -1), "left": (1, 0), "right": (-1, 0)}
"""Where the content's window goes, as wheel turns (x, y): a swipe up shows what is further down, as on a phone."""
MOST_POINTS = 32
LONGEST = 1000
GRAMMAR = (
    "use tap X Y, double_tap X Y, long_press X Y, hover X Y, drag X0 Y0 X1 Y1, swipe up|down|left|right, type TEXT, "
    "key NAME, enter or wait, with X and Y from 0 to 1"
)


@dataclass(frozen=True, slots=True)
class Gesture:
    """One parsed action: ``verb`` is one of the grammar's, or ``""`` if it could not be read."""

    verb: str
    points: tuple[tuple[float, float], ...] = ()
    text: str = ""


def parse(action: str) -> Gesture:
    """Reads one action; anything outside the grammar becomes ``Gesture("")`` with a message in ``text``.

    >>> parse("drag 0 0 0.5 1").points
    ((0.0, 0.0), (0.5, 1.0))
    >>> parse("tap 0.5 1.2").verb
    ''
    """
    return (_parse(action) if len(action) <= LONGEST else None) or Gesture("", text=f"could not read that: {GRAMMAR}")


def _parse(action: str) -> Gesture | None:
    line = action.lstrip() if action.lstrip()[:5].lower() == "type " else action.strip()
    verb, _, rest = line.partition(" ")
    verb = verb.lower()
    if verb in ("enter", "wait") and not rest:
        return Gesture(verb)
    if verb == "swipe" and rest.strip().lower() in DIRECTIONS:
        return Gesture(verb, text=rest.strip().lower())
    if verb == "type" and rest and rest.isprintable():
        return Gesture(verb, text=rest)
    if verb == "key" and _is_key(rest.strip()):
        return Gesture(verb, text=rest.strip())
    return _pointed(verb, rest)


def _pointed(verb: str, rest: str) -> Gesture | None:
    try:
        numbers = [float(word) for word in rest.split()]
    except ValueError:
        return None
    points = tuple(zip(numbers[::2], numbers[1::2], strict=False))
    wanted = len(points) == POINTS[verb] if verb in POINTS else verb == "drag" and 2 <= len(points) <= MOST_POINTS
    inside = all(0.0 <= number <= 1.0 for number in numbers)  # so written that NaN is outside
    return Gesture(verb, points) if wanted and inside and len(numbers) % 2 == 0 else None


def _is_key(name: str) -> bool:
    try:
        return bool(keystroke(name))
    except ValueError:
        return False


class AnyText(Text):
    """Strings of at most ``max_length`` characters of any script; samples are of letters, digits and spaces."""

    def __init__(self, max_length: int, seed: Any = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.ascii_letters + string.digits + " ", seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether it is a string, and short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_length})"


class Gestures(AnyText):
    """Action strings; :meth:`sample` draws well-formed ones, so that a random policy really touches the page."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(LONGEST, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Seven taps in ten anywhere on the page; the rest typing, drags, wheel turns and keys.

        Masks and probabilities over single characters are honoured as in ``Text``.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        rng = self.np_random
        kind = int(rng.integers(50))
        if kind < 35:
            return "tap {:.3f} {:.3f}".format(*rng.random(2))
        if kind < 39:
            letters = rng.choice(list(string.ascii_lowercase), size=int(rng.integers(1, 9)))
            return "type " + "".join(str(letter) for letter in letters)
        if kind < 44:
            return "drag {:.3f} {:.3f} {:.3f} {:.3f}".format(*rng.random(4))
        if kind < 48:
            return f"swipe {list(DIRECTIONS)[int(rng.integers(4))]}"
        return ("enter", "key Tab")[kind - 48]

    def __repr__(self) -> str:
        return "Gestures()"
