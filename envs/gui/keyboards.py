"""Keyboards: which keys there are, where, and what they do. They differ in pages; the first page is shown at first.

All are 108 wide and 64 high, five rows of equal height at the bottom of the screen.
"""

from dataclasses import dataclass

from .ui import HEIGHT, KEYBOARD, WIDTH

ROW = KEYBOARD / 5
TOP = HEIGHT - KEYBOARD
ENTER = (76.0, HEIGHT - ROW, WIDTH, HEIGHT)
BACKSPACE = (WIDTH - 12.0, HEIGHT - 2 * ROW, WIDTH, HEIGHT - ROW)


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        text: what is on it.
        types: the character that it adds; a backspace takes one away, and keys that only turn the page add nothing.
        box: x0, y0, x1, y1, logical.
        page: the page that is shown after it; empty: the same.
        icon: an icon in place of the text.
    """

    text: str
    types: str
    box: tuple[float, float, float, float]
    page: str = ""
    icon: str = ""


Keyboard = dict[str, tuple[Key, ...]]
"""Pages by name; the enter key is on all of them at :data:`ENTER`."""


def _row(row: int, characters: str, x0: float = 0.0, x1: float = WIDTH, page: str = "") -> list[Key]:
    y, width = TOP + row * ROW, (x1 - x0) / len(characters)
    return [
        Key(c, c, (x0 + i * width, y, x0 + (i + 1) * width, y + ROW), page if c.isalpha() else "")
        for i, c in enumerate(characters)
    ]


def _last_row(characters: str, width: float) -> list[Key]:
    """Keys of one width from the left, then space up to the enter key."""
    y = HEIGHT - ROW
    keys = [Key(c, c, (i * width, y, (i + 1) * width, HEIGHT)) for i, c in enumerate(characters)]
    return [*keys, Key(" ", " ", (len(characters) * width, y, ENTER[0], HEIGHT))]


def _letters(case: str) -> tuple[Key, ...]:
    """Digits and letters; a capital is followed by the lower page again."""
    upper = case == "upper"
    rows = [row.upper() if upper else row for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")]
    after = "lower" if upper else ""
    y = HEIGHT - ROW
    return (
        *_row(0, "1234567890"), *_row(1, rows[0], page=after), *_row(2, rows[1], page=after),
        Key("shift", "", (0.0, y - ROW, 12.0, y), "lower" if upper else "upper", "shift"),
        *_row(3, rows[2], 12.0, 96.0, after), Key("backspace", "\b", BACKSPACE, "", "back"),
        *_bottom("?#", "symbols"),
    )  # fmt: skip


def _bottom(text: str, page: str) -> list[Key]:
    """The key to another page, four characters, space."""
    y = HEIGHT - ROW
    keys = [Key(c, c, (12.0 + 10.0 * i, y, 22.0 + 10.0 * i, HEIGHT)) for i, c in enumerate("@.-,")]
    return [Key(text, "", (0.0, y, 12.0, HEIGHT), page), *keys, Key(" ", " ", (52.0, y, ENTER[0], HEIGHT))]


SIMPLE: Keyboard = {
    "lower": (
        *_row(0, "1234567890"), *_row(1, "qwertyuiop"), *_row(2, "asdfghjkl"), *_row(3, "zxcvbnm-", 0.0, 96.0),
        *_last_row("@.", 14.0), Key("backspace", "\b", BACKSPACE, "", "back"),
    ),
}  # fmt: skip
"""Phone-v0's: one page."""
FULL: Keyboard = {
    "lower": _letters("lower"),
    "upper": _letters("upper"),
    "symbols": (
        *_row(0, "1234567890"), *_row(1, "!\"#$%&'()*"), *_row(2, "+/:;<=>?["), *_row(3, "\\]^_`{|}~", 0.0, 96.0),
        Key("backspace", "\b", BACKSPACE, "", "back"), *_bottom("ab", "lower"),
    ),
}  # fmt: skip
"""Phone-v1's: lower, upper (for one letter) and symbols; every printable ASCII character is on one of them."""
