"""What an app is: one file of data, which survives the way to JSON and back."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

from .operations import OPERATIONS, Operations
from .state import Bool, Choice, Int, List, Ref, Table, Text, Type
from .widgets import WIDGETS, Action, Widget


@dataclass(frozen=True)
class View:
    """One kind of screen.

    Attributes:
        widgets: what it shows.
        arg: what it is about: a table (one of its rows, by the first field), "text", or nothing. A ``?`` at the end:
            or nothing.
        let: names for expressions, in order.
        drafts: what is chosen here before it is saved: name -> first value. Text fields add theirs.
        enter: what the enter key and ``Submit`` do.
    """

    widgets: tuple[Widget, ...]
    arg: str = ""
    let: Mapping[str, str] = field(default_factory=dict)
    drafts: Mapping[str, str] = field(default_factory=dict)
    enter: Operations = ()


@dataclass(frozen=True)
class Look:
    """A screen that has to be looked at before the task can be solved."""

    app: str
    screen: str
    arg: str = ""


@dataclass(frozen=True)
class Tasks:
    """A family of goals.

    Attributes:
        name: unique, lower case with underscores.
        level: 1, 2 or 3.
        draws: name -> expression (with random functions), or several wordings of which one is drawn; in this order.
        wordings: the goal in words, of which one is drawn last.
        wanted: operations that lead from the initial state to the wanted one.
        asked: expressions: what the words say beside their wording; it decides the split.
        prepare: operations on the initial state.
        apps: all apps that are needed; the app at hand alone where there is none.
        look: where the answer is, if it is not in the words.
        answer: expression: what must be answered, as text, read from the prepared state.
        infeasible: nothing fulfils the goal on this phone; ``wanted`` is then empty.
        weight: how often it is drawn, relative to the others of its level.
    """

    name: str
    level: int
    draws: "Mapping[str, str | tuple[str, ...]]"
    wordings: tuple[str, ...]
    wanted: Operations
    asked: tuple[str, ...]
    prepare: Operations = ()
    apps: tuple[str, ...] = ()
    look: Look | None = None
    weight: float = 1.0
    answer: str = ""
    infeasible: bool = False


@dataclass(frozen=True)
class App:
    """An app.

    Attributes:
        key, name, icon, colour: what it is called in declarations and on the home screen, and what it looks like.
        record: name of the record of its state.
        state: its fields.
        data: name -> expression (with random functions), in the order in which they are drawn; the fields are among
            them, and the last value of a name counts.
        screens: name -> screen; ``main`` is the first.
        tasks: what can be asked.
        constants: tables that expressions may read.
        functions: ``name(parameter, ...)`` -> expression.
        derived: fields computed from the others.
        hidden: it is not on the home screen and cannot be opened.
        needs: a condition without which no screen is shown but ``instead``.
    """

    key: str
    name: str
    icon: str
    colour: int
    record: str
    state: Mapping[str, Type]
    data: Mapping[str, str]
    screens: Mapping[str, View]
    tasks: tuple[Tasks, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    instead: tuple[Widget, ...] = ()
    hidden: bool = False


PARTS: dict[str, type] = {
    one.__name__: one
    for one in (App, View, Tasks, Look, Action, *WIDGETS, *OPERATIONS, Bool, Int, Choice, Text, Ref, List, Table)
}


def to_json(part: Any) -> str:
    """A declaration, or a part of one, as JSON: every part an object with its class under ``is``."""
    return json.dumps(_plain(part), indent=1)


def from_json(text: str) -> Any:
    """What :func:`to_json` wrote.

    Raises:
        ValueError: it names a part that there is not.
    """
    return _part(json.loads(text))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        kept = {one.name: getattr(value, one.name) for one in fields(value)}
        left_out = {one.name for one in fields(value) if one.default is not MISSING and kept[one.name] == one.default}
        return {"is": type(value).__name__} | {k: _plain(v) for k, v in kept.items() if k not in left_out}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _part(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_part(one) for one in value)
    if not isinstance(value, dict):
        return value
    made = {key: _part(one) for key, one in value.items() if key != "is"}
    if "is" not in value:
        return made
    if value["is"] not in PARTS:
        raise ValueError(f"no part of a declaration is called {value['is']!r}")
    return PARTS[value["is"]](**made)
