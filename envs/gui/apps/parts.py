"""Parts that several apps' declarations are made of."""

from collections.abc import Mapping
from typing import Any

from ..declare.app import View
from ..declare.operations import Ask, Delete, If, Insert, Operation, Operations, Pop, Push, Require, Set
from ..declare.widgets import (
    Action,
    Bar,
    Button,
    Chips,
    Empty,
    Error,
    Field,
    ForEach,
    Radio,
    Stepper,
    Tabs,
    When,
    Widget,
)


def confirm(title: str, body: str, verb: str, do: Operations, no: str = "Cancel") -> Ask:
    """A dialog with a harmless button and one that does it."""
    return Ask(title, body, ((no, ()), (verb, do)))


def to(icon: str, name: str, screen: str, arg: str = "") -> Action:
    """An icon button that leads to a screen."""
    return Action(icon, name, Push(screen, arg))


def offline(name: str, *more: Widget) -> dict[str, Any]:
    """What an app of this name declares that needs the internet."""
    lost = (Bar(name), Empty("No internet connection", "wifi"), *more, Button("Try again", (), "plain"))
    return {"needs": "settings.online", "instead": lost}


def delete_button(what: str, body: str) -> Button:
    """Deletes the row ``one`` that a screen is about, once it is confirmed, and leaves the screen."""
    return Button(f"Delete {what}", confirm(f"Delete {what}?", body, "Delete", (Delete("one"), Pop())), "danger")


def about(what: str, table: str, icon: str, *widgets: Widget, gone: str = "one == None") -> View:
    """The screen of a row ``one`` of a table, named by its first field; a row may go while its screen is open."""
    lost = (Bar(what), Empty(f"This {what.lower()} was deleted", icon))
    return View((When(gone, lost, widgets),), arg=table, let={"one": f"find({table}, arg)"})


def stepper(draft: str, low: int, high: int, label: str = "", text: str = "", by: int = 1) -> Stepper:
    """A number that is chosen on a form; ``text`` shows it."""
    less, more = (Set(f"draft.{draft}", f"draft.{draft} {sign} {by}") for sign in "-+")
    shown = text or f"{{draft.{draft}}}"
    return Stepper(label or draft, shown, less, more, f"draft.{draft} <= {low}", f"draft.{draft} >= {high}")


def chips(draft: str, of: str, text: str = "", name: str = "") -> Chips:
    """One of several texts, chosen on a form; ``text`` shows the one under ``name``, which is the draft's else."""
    name = name or draft
    return Chips(name, of, text or f"{{{name}}}", Set(f"draft.{draft}", name), f"{name} == draft.{draft}")


def radios(name: str, of: str, field: str) -> ForEach:
    """One of several texts, each under ``name``, for a field of the state."""
    return ForEach(name, of, (Radio(f"{{{name}}}", f"{name} == {field}", Set(field, name)),))


def each(name: str, of: str, row: Widget, where: str = "", none: str = "", icon: str = "info") -> ForEach:
    """A row for every item for which ``where`` holds; where there is none, ``none`` says so."""
    return ForEach(name, of, (row,), where, otherwise=(Empty(none, icon),) if none else ())


def tabbed(bar: Bar, tabs: "Mapping[str, tuple[Widget, ...]]", *above: Widget) -> View:
    """A screen of tabs, by their names; the first is shown first. What stands above them is on all of them."""
    shown = (When(f"draft.tab == {name!r}", widgets) for name, widgets in tabs.items())
    return View((bar, Tabs("tab", tuple(tabs)), *above, *shown), drafts={"tab": repr(next(iter(tabs)))})


def before(key: str, first: str = "''") -> str:
    """What a form that edits the row ``old`` shows at first, or makes a new one if there is none."""
    return f"old.{key} if old != None else {first}"


def unused(table: str, taken: str, rest: str = "in (None, old)") -> tuple[Require, Require]:
    """A name is typed, and no other row of the table has it."""
    return Require("clean(draft.name)", "Enter a name"), Require(f"find({table}, clean(draft.name)) {rest}", taken)


def saved(table: str, name: str, values: Mapping[str, str]) -> If:
    """A form's values into the row ``old``, or a new one, a record called ``name``; the first of them names the row."""
    changes: tuple[Operation, ...] = tuple(Set(f"old.{key}", value) for key, value in values.items())
    new = Insert(table, record(name, values))
    return If("old == None", (new, Pop()), (*changes, Pop(arg=f"old.{next(iter(values))}")))


def new_named(title: str, table: str, name: str, taken: str) -> View:
    """A form for a new row, a record called ``name``, that has nothing but a name of its own."""
    made = (*unused(table, taken, "== None"), Insert(table, record(name, {"name": "clean(draft.name)"})), Pop())
    return View((Bar(title), Field("name", "Name"), Error(), Button("Create", made)))


def record(name: str, values: Mapping[str, str] | str) -> str:
    """Expression: a record of these fields; of a text of names with spaces between, each is what it is called."""
    given = dict(zip(values.split(), values.split(), strict=True)) if isinstance(values, str) else values
    return f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})"


def searched(*texts: str) -> str:
    """Condition: what is typed into the field ``search`` is part of one of these texts."""
    return " or ".join(f"lower(trim(draft.search)) in lower({text})" for text in texts)


def worded(words: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """Fields and what goals call them, as a table."""
    return table("field words", *words.items())


def table(columns: str, *rows: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """A table of constants; its columns are words with spaces between them."""
    return tuple(dict(zip(columns.split(), row, strict=True)) for row in rows)
