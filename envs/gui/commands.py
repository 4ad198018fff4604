"""The language of GUI actions.

Every phone knows ``tap X Y``, ``type TEXT``, ``swipe up|down|left|right``, ``back``, ``home``, ``enter`` and ``done``
(:data:`BASIC`); Phone-v1 also ``long_press X Y``, ``drag X0 Y0 X1 Y1``, ``open APP NAME``, ``wait``, ``answer TEXT``
and ``infeasible`` (:data:`VERBS`).
"""

import string
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Text

CHARACTERS = frozenset(string.ascii_letters + string.digits + string.punctuation + " ")
DIRECTIONS = ("up", "down", "left", "right")
FORMS = {
    "tap": "tap X Y", "long_press": "long_press X Y", "drag": "drag X0 Y0 X1 Y1", "type": "type TEXT",
    "swipe": "swipe up|down|left|right", "open": "open APP NAME", "answer": "answer TEXT", "back": "back",
    "home": "home", "enter": "enter", "wait": "wait", "infeasible": "infeasible", "done": "done",
}  # fmt: skip
VERBS = frozenset(FORMS)
BASIC = frozenset(("tap", "type", "swipe", "back", "home", "enter", "done"))
PLAIN = frozenset(("back", "home", "enter", "wait", "infeasible", "done"))
POINTS = {"tap": 2, "long_press": 2, "drag": 4}  # numbers that follow
WORDS = ("type", "open", "answer")  # followed by text, spaces and all
LONGEST = 120


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed action: ``verb`` is one of :data:`VERBS`, or ``""`` if it could not be read.

    ``x, y`` is where it starts and ``x1, y1`` where a drag ends, in shares of the screen.
    """

    verb: str
    x: float = 0.0
    y: float = 0.0
    text: str = ""
    x1: float = 0.0
    y1: float = 0.0


def parse(action: str, verbs: frozenset[str] = BASIC) -> Command:
    """Reads one action; anything outside the grammar becomes ``Command("")`` with a message in ``text``.

    Args:
        action: one line; verbs may be written in capitals.
        verbs: those that are known.

    >>> parse("tap 0.5 0.25")
    Command(verb='tap', x=0.5, y=0.25, text='', x1=0.0, y1=0.0)
    >>> parse("swipe upwards").verb
    ''
    >>> parse("wait").verb, parse("wait", VERBS).verb
    ('', 'wait')
    """
    line = action.strip() if action[:5].lower() != "type " else action.lstrip()
    verb, _, rest = line.partition(" ")
    verb = verb.lower()
    return (_read(verb, rest, line) if verb in verbs else None) or Command("", text=_grammar(verbs))


def _read(verb: str, rest: str, line: str) -> Command | None:
    if verb in PLAIN:
        return None if rest else Command(verb)
    if verb == "swipe":
        way = rest.strip().lower()
        return Command("swipe", text=way) if way in DIRECTIONS else None
    if verb in POINTS:
        return _touch(verb, rest)
    fine = rest and len(line) <= LONGEST and CHARACTERS.issuperset(rest)
    return Command(verb, text=rest if verb == "type" else rest.strip()) if fine else None


def _touch(verb: str, rest: str) -> Command | None:
    try:
        numbers = [float(word) for word in rest.split()]
    except ValueError:
        return None
    if len(numbers) != POINTS[verb] or not all(0.0 <= n <= 1.0 for n in numbers):  # NaN fails the comparison too
        return None
    return Command(verb, numbers[0], numbers[1], "", *numbers[2:])


def _grammar(verbs: frozenset[str]) -> str:
    if verbs == BASIC:
        return f"could not read that action: {GRAMMAR}"
    forms = [form for verb, form in FORMS.items() if verb in verbs]
    return f"could not read that action: use {', '.join(forms[:-1])} or {forms[-1]}; X and Y are from 0 to 1"


GRAMMAR = "use tap X Y with X and Y from 0 to 1, type TEXT, swipe up|down|left|right, back, home, enter or done"


def tap(x: float, y: float) -> str:
    """The action that taps the point ``(x, y)`` (shares of width and height)."""
    return f"tap {x:.3f} {y:.3f}"


def long_press(x: float, y: float) -> str:
    """The action that holds a finger on a point."""
    return f"long_press {x:.3f} {y:.3f}"


def drag(x: float, y: float, x1: float, y1: float) -> str:
    """The action that drags what is at one point to another."""
    return f"drag {x:.3f} {y:.3f} {x1:.3f} {y1:.3f}"


class Commands(Text):
    """Action strings; :meth:`sample` draws well-formed ones, so that a random policy really touches the screen.

    Args:
        seed: of the samples.
        verbs: :data:`BASIC` or :data:`VERBS`.
    """

    def __init__(self, seed: Any = None, verbs: frozenset[str] = BASIC) -> None:
        super().__init__(LONGEST, min_length=0, charset=CHARACTERS, seed=seed)
        self.verbs = verbs

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Seven taps in ten anywhere on the screen; the rest typing, swipes and keys, ``done`` once in fifty.

        With all verbs, one action in six is one of the further ones. Masks and probabilities over single characters
        are honoured as in ``Text``.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        rng = self.np_random
        if self.verbs != BASIC and rng.integers(6) == 0:
            return self._further()
        kind = int(rng.integers(50))
        if kind < 35:
            return tap(*(float(share) for share in rng.random(2)))
        if kind < 39:
            return "type " + self._letters()
        if kind < 45:
            return f"swipe {DIRECTIONS[int(rng.integers(4))]}"
        return ("back", "back", "home", "enter", "done")[kind - 45]

    def _letters(self) -> str:
        rng = self.np_random
        letters = rng.choice(list(string.ascii_lowercase), size=int(rng.integers(1, 9)))
        return "".join(str(letter) for letter in letters)

    def _further(self) -> str:
        rng = self.np_random
        kind = int(rng.integers(12))
        if kind < 4:
            return long_press(*(float(share) for share in rng.random(2)))
        if kind < 7:
            return drag(*(float(share) for share in rng.random(4)))
        if kind < 9:
            return ("open " if kind == 7 else "answer ") + self._letters()
        return ("wait", "wait", "infeasible")[kind - 9]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Commands) and self.verbs == other.verbs

    def __repr__(self) -> str:
        return "Commands()" if self.verbs == BASIC else "Commands(verbs=VERBS)"
