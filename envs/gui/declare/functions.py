"""The functions that expressions may call: pure ones and, where data or tasks are drawn, random ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import words


@dataclass(frozen=True)
class Kind:
    """What an expression's value is, as far as a declaration says it.

    Attributes:
        name: for error messages (bool, int, text, list, a record's name, any).
        fields: kinds of a record's fields; None for what has no fields, or any.
        item: kind of a list's items or a mapping's values.
        app, table: of a row that can be changed, where it stands.
    """

    name: str
    fields: "dict[str, Kind] | None" = field(default=None, compare=False)
    item: "Kind | None" = None
    app: str = ""
    table: str = ""


ANY, BOOL, INT, TEXT = Kind("any"), Kind("bool"), Kind("int"), Kind("text")


def listed(item: Kind) -> Kind:
    """The kind of a list of such items."""
    return Kind("list", None, item)


@dataclass(frozen=True)
class Function:
    """A function of expressions: what it does, how many arguments it takes, and the kind of its result."""

    run: Callable[..., Any]
    least: int
    most: int
    kind: Callable[[Sequence[Kind]], Kind]


def money(cents: int) -> str:
    """A price in words.

    >>> money(1250)
    '$12.50'
    """
    return f"${cents // 100}.{cents % 100:02d}"


def clock(seconds: int) -> str:
    """Minutes and seconds, or hours and minutes of a number of minutes, as clocks show them.

    >>> clock(185)
    '3:05'
    """
    return f"{seconds // 60}:{seconds % 60:02d}"


def clean(text: str) -> str:
    """The text without spaces at its ends and with single ones within."""
    return " ".join(text.split())


def first(items: Sequence[Any], default: Any = None) -> Any:
    """The first item, or the default."""
    return items[0] if items else default


def repeated(items: Sequence[Any]) -> tuple[Any, ...]:
    """The items that occur more than once, each once, sorted."""
    return tuple(sorted({item for item in items if items.count(item) > 1}))


def toggled(items: Sequence[Any], item: Any) -> tuple[Any, ...]:
    """The list without the item, or with it at its end if it was not there."""
    return tuple(one for one in items if one != item) if item in items else (*items, item)


def moved(items: Sequence[Any], item: Any, onto: Any) -> tuple[Any, ...]:
    """The list with an item taken out and put in at the place that another one has now.

    >>> moved(("a", "b", "c", "d"), "d", "b"), moved(("a", "b", "c", "d"), "a", "c")
    (('a', 'd', 'b', 'c'), ('b', 'c', 'a', 'd'))
    """
    if item not in items or onto not in items:
        return tuple(items)
    left, at = list(items), list(items).index(onto)
    left.remove(item)
    return (*left[:at], item, *left[at:])


def _always(kind: Kind) -> Callable[[Sequence[Kind]], Kind]:
    return lambda kinds: kind


def _item(kinds: Sequence[Kind]) -> Kind:
    return kinds[0].item or ANY


def _same(kinds: Sequence[Kind]) -> Kind:
    return kinds[0]


FUNCTIONS: dict[str, Function] = {
    "find": Function(lambda rows, key: None, 2, 2, _item),  # compiled with the key of its table: see expressions
    "current": Function(lambda name: None, 1, 1, _always(ANY)),  # the field of this name: see expressions
    "first": Function(first, 1, 2, _item),
    "last": Function(lambda items: items[-1], 1, 1, _item),
    "count": Function(len, 1, 1, _always(INT)),
    "sum": Function(sum, 1, 1, _always(INT)),
    "min": Function(min, 1, 1, _item),
    "max": Function(max, 1, 1, _item),
    "any": Function(any, 1, 1, _always(BOOL)),
    "all": Function(all, 1, 1, _always(BOOL)),
    "range": Function(lambda *ends: tuple(range(*ends)), 1, 2, _always(listed(INT))),
    "sorted": Function(lambda items: tuple(sorted(items)), 1, 1, _same),
    "sorted_by": Function(lambda rows, name: tuple(sorted(rows, key=lambda row: getattr(row, name))), 2, 2, _same),
    "repeated": Function(repeated, 1, 1, _same),
    "toggled": Function(toggled, 2, 2, _same),
    "moved": Function(moved, 3, 3, _same),
    "lower": Function(str.lower, 1, 1, _always(TEXT)),
    "trim": Function(str.strip, 1, 1, _always(TEXT)),
    "clean": Function(clean, 1, 1, _always(TEXT)),
    "digits": Function(str.isdigit, 1, 1, _always(BOOL)),
    "split": Function(lambda text: tuple(text.split()), 1, 1, _always(listed(TEXT))),
    "join": Function(lambda glue, parts: glue.join(part for part in parts if part), 2, 2, _always(TEXT)),
    "cut": Function(lambda text, n: text[:n], 2, 2, _always(TEXT)),
    "ending": Function(lambda text, n: text[-n:], 2, 2, _always(TEXT)),
    "text": Function(str, 1, 1, _always(TEXT)),
    "two_digits": Function("{:02d}".format, 1, 1, _always(TEXT)),
    "clock": Function(clock, 1, 1, _always(TEXT)),
    "money": Function(money, 1, 1, _always(TEXT)),
}


def _rng(run: Callable[..., Any], least: int, most: int, kind: Callable[[Sequence[Kind]], Kind]) -> Function:
    return Function(run, least, most, kind)


def _integers(rng: np.random.Generator, low: int, high: int, n: int | None = None) -> Any:
    return int(rng.integers(low, high)) if n is None else tuple(rng.integers(low, high, n).tolist())


def _prices(rng: np.random.Generator, n: int) -> tuple[int, ...]:
    """``n`` different whole prices from 3 to 89 dollars with the cents of shops."""
    cents = rng.permutation(np.arange(3, 90))[:n] * 100 + rng.choice((0, 49, 50, 95, 99), n)
    return tuple(cents.tolist())


def _new_person(rng: np.random.Generator, taken: Sequence[str]) -> str:
    return next(name for name in words.people(rng, len(taken) + 1) if name not in taken)


RANDOM: dict[str, Function] = {
    "pick": _rng(lambda rng, items: items[int(rng.integers(len(items)))], 1, 1, _item),
    "choose": _rng(lambda rng, items, n: tuple(words.choose(rng, items, n)), 2, 2, _same),
    "shuffled": _rng(lambda rng, items: tuple(items[int(i)] for i in rng.permutation(len(items))), 1, 1, _same),
    "coin": _rng(lambda rng: bool(rng.integers(2)), 0, 0, _always(BOOL)),
    "coins": _rng(lambda rng, n: tuple(bool(c) for c in rng.integers(2, size=n)), 1, 1, _always(listed(BOOL))),
    "integer": _rng(_integers, 2, 2, _always(INT)),
    "integers": _rng(_integers, 3, 3, _always(listed(INT))),
    "people": _rng(lambda rng, n: tuple(words.people(rng, n)), 1, 1, _always(listed(TEXT))),
    "new_person": _rng(_new_person, 1, 1, _always(TEXT)),
    "numbers": _rng(lambda rng, n: tuple(words.numbers(rng, n)), 1, 1, _always(listed(TEXT))),
    "streets": _rng(lambda rng, n: tuple(words.streets(rng, n)), 1, 1, _always(listed(TEXT))),
    "password": _rng(words.password, 0, 0, _always(TEXT)),
    "prices": _rng(_prices, 1, 1, _always(listed(INT))),
}

TABLES = {
    name: getattr(words, name)
    for name in ("FIRST", "LAST", "STREETS", "CITIES", "NETWORKS", "GADGETS",
                 "SONGS", "BANDS", "RECORDS", "VENUES", "DOCUMENTS",
                 "RIVERS", "ANIMALS", "HABITATS", "POSTS", "CUISINES",
                 "TOPICS", "OCCASIONS", "VENUE_NAMES", "GREETINGS", "CLAUSES")
}  # fmt: skip
"""Word tables, which what is drawn may be drawn from."""


def placed(kind: Kind, app: str, table: str) -> Kind:
    """The kind of a record that is a row of this table."""
    return replace(kind, app=app, table=table)
