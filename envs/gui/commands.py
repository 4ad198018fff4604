"""The language of GUI actions: tap X Y, type TEXT, swipe up|down|left|right, back, home, enter, done."""

import string
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Text

CHARACTERS = frozenset(string.ascii_letters + string.digits + string.punctuation + " ")
DIRECTIONS = ("up", "down", "left", "right")
PLAIN = ("back", "home", "enter", "done")
GRAMMAR = "use tap X Y with X and Y from 0 to 1, type TEXT, swipe up|down|left|right, back, home, enter or done"
LONGEST = 120


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed action: ``verb`` is tap, type, swipe, back, home, enter, done, or ``""`` if it could not be read."""

    verb: str
    x: float = 0.0
    y: float = 0.0
    text: str = ""


def parse(action: str) -> Command:
    """Reads one action; anything outside the grammar becomes ``Command("")`` with a message in ``text``.

    >>> parse("tap 0.5 0.25")
    Command(verb='tap', x=0.5, y=0.25, text='')
    >>> parse("swipe upwards").verb
    ''
    """
    line = action.strip() if action[:5].lower() != "type " else action.lstrip()
    verb, _, rest = line.partition(" ")
    verb = verb.lower()
    if verb in PLAIN and not rest:
        return Command(verb)
    if verb == "swipe" and rest.strip().lower() in DIRECTIONS:
        return Command("swipe", text=rest.strip().lower())
    if verb == "type" and rest and len(line) <= LONGEST and CHARACTERS.issuperset(rest):
        return Command("type", text=rest)
    return (_tap(rest) if verb == "tap" else None) or Command("", text=f"could not read that action: {GRAMMAR}")


def _tap(rest: str) -> Command | None:
    try:
        x, y = (float(word) for word in rest.split())
    except ValueError:
        return None
    return Command("tap", x, y) if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 else None  # NaN fails the comparison too


def tap(x: float, y: float) -> str:
    """The action that taps the point ``(x, y)`` (shares of width and height)."""
    return f"tap {x:.3f} {y:.3f}"


class Commands(Text):
    """Action strings; :meth:`sample` draws well-formed ones, so that a random policy really touches the screen."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(LONGEST, min_length=0, charset=CHARACTERS, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Seven taps in ten anywhere on the screen; the rest typing, swipes and keys, ``done`` once in fifty.

        Masks and probabilities over single characters are honoured as in ``Text``.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        rng = self.np_random
        kind = int(rng.integers(50))
        if kind < 35:
            return tap(*(float(share) for share in rng.random(2)))
        if kind < 39:
            letters = rng.choice(list(string.ascii_lowercase), size=int(rng.integers(1, 9)))
            return "type " + "".join(str(letter) for letter in letters)
        if kind < 45:
            return f"swipe {DIRECTIONS[int(rng.integers(4))]}"
        return ("back", "back", "home", "enter", "done")[kind - 45]

    def __repr__(self) -> str:
        return "Commands()"
