"""Compiled apps, states and problems as JSON, for the JavaScript interpreter in ``static/``; states also the way back.

Nothing in the JSON has to be parsed as Python: expressions, texts and targets of operations are trees (:mod:`.trees`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from ..apps.system import ADVERTS, BANNER, CORRECTIONS, FAILED, POPUPS, RETRY, SPONSORED
from ..declare.interpreter import Program
from ..declare.state import List, Schema, Table, Type
from ..goals import State
from ..icons import ICONS
from ..keyboards import ENTER, FULL, SIMPLE, Keyboard
from ..themes import PALETTES
from . import trees

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "Push": ("arg",), "Pop": ("arg",), "Set": ("value",), "Insert": ("row",), "Delete": ("value",),
    "Require": ("condition",), "If": ("condition",), "Each": ("of",), "Row": ("disabled", "target"),
    "Switch": ("disabled",), "Radio": ("chosen",), "Field": ("value",), "Button": ("disabled",),
    "Stepper": ("lowest", "highest"), "Chips": ("of", "chosen"), "Image": ("colour",), "ForEach": ("of", "where"),
    "When": ("condition",),
}  # fmt: skip
"""Which parts of a declaration are expressions; an empty one is left out."""
TEXTS: dict[str, tuple[str, ...]] = {
    "Require": ("message",), "Ask": ("title", "body"), "Action": ("icon", "name"), "Bar": ("title",),
    "Section": ("title",), "Paragraph": ("text",), "Row": ("title", "detail", "icon"), "Switch": ("title", "detail"),
    "Radio": ("title",), "Field": ("label",), "Button": ("text",), "Stepper": ("label", "value"), "Chips": ("text",),
    "Image": ("icon",), "Empty": ("text", "icon"),
}  # fmt: skip
"""Which are texts with expressions in braces."""
TARGETS: dict[str, tuple[str, ...]] = {
    "Set": ("target",), "Toggle": ("target",), "Delete": ("target",), "Switch": ("field",),
}  # fmt: skip
"""Which say what is changed."""
PLAIN: dict[str, tuple[str, ...]] = {
    "Push": ("screen", "app"), "Insert": ("table",), "Each": ("name",), "SendTo": ("app",), "Tabs": ("draft",),
    "Paragraph": ("look",), "Field": ("draft",), "Button": ("look",), "Chips": ("name",), "ForEach": ("name", "order"),
}  # fmt: skip
"""Which are names, and stay as they are."""
KEYBOARDS = {"simple": SIMPLE, "full": FULL}
SHAPES: dict[type, str] = {Table: "table", List: "list"}


def declarations(programs: Iterable[Program]) -> dict[str, Any]:
    """All that the interpreter has to know beside the problem: apps, dialogs that come by themselves, looks."""
    programs = tuple(programs)
    texts = next(program.place.scope.texts for program in programs if program.key == "system")
    words = {"failed": FAILED, "retry": RETRY, "sponsored": SPONSORED}
    return {
        "apps": [_app(program) for program in programs],
        "popups": {name: {"app": "system", "ask": part(ask, texts)} for name, ask in POPUPS.items()},
        "banner": {"app": "system", "ask": part(BANNER, texts)},
        "adverts": ADVERTS,
        "corrections": CORRECTIONS,
        "words": {name: texts.get(text, text) for name, text in words.items()},
        "keyboards": {name: _keyboard(one) for name, one in KEYBOARDS.items()},
        "themes": [[asdict(theme) for theme in pair] for pair in PALETTES],
        "icons": ICONS,
    }


def _keyboard(pages: Keyboard) -> dict[str, Any]:
    return {"pages": {name: [asdict(key) for key in keys] for name, keys in pages.items()}, "enter": ENTER}


def _app(program: Program) -> dict[str, Any]:
    app, texts = program.app, program.place.scope.texts
    own = {}
    for signature, text in app.functions.items():
        name, parameters = re.fullmatch(r"(\w+)\((.*)\)", signature).groups()  # type: ignore[union-attr]
        own[name] = {"parameters": [one.strip() for one in parameters.split(",") if one.strip()]}
        own[name]["body"] = trees.expression(text)
    views = {
        name: {
            "widgets": part(view.widgets, texts),
            "let": [[key, trees.expression(text)] for key, text in view.let.items()],
            "drafts": [[key, trees.expression(text)] for key, text in view.drafts.items()],
            "enter": part(view.enter, texts),
        }
        for name, view in app.screens.items()
    }
    return {
        "key": app.key, "hidden": app.hidden, "name": app.name, "icon": app.icon, "colour": app.colour,
        "schema": schema(program.place.schemas[app.key], app.record, app.derived),
        "constants": {name: constant(value) for name, value in app.constants.items()},
        "functions": own, "screens": views, "needs": trees.expression(app.needs) if app.needs else None,
        "instead": part(app.instead, texts),
    }  # fmt: skip


def part(value: Any, texts: Mapping[str, str] | None = None) -> Any:
    """A widget, an operation, or several; every one an object with its class under ``is``."""
    if isinstance(value, tuple | list):
        return [part(one, texts) for one in value]
    if not is_dataclass(value):
        return value
    name = type(value).__name__
    made: dict[str, Any] = {"is": name}
    for field in fields(value):
        one = getattr(value, field.name)
        if field.name in EXPRESSIONS.get(name, ()):
            made[field.name] = trees.expression(one) if one else None
        elif field.name in TEXTS.get(name, ()):
            made[field.name] = trees.words(one, texts)
        elif field.name in TARGETS.get(name, ()):
            made[field.name] = target(one)
        elif name == "Ask" and field.name == "buttons":
            made["buttons"] = [[trees.words(text, texts), part(do, texts)] for text, do in one]
        elif name == "Tabs" and field.name == "names":
            made["names"] = [[text, trees.words(text, texts)] for text in one]
        else:
            made[field.name] = part(one, texts)
    return made


def target(text: str) -> list[Any]:
    """What an operation changes: a computed field, a draft, a row's field, a field (or a row at hand)."""
    if text.startswith("["):
        return ["which", trees.expression(text[1:-1])]
    base, _, name = text.partition(".")
    return ["draft", name] if base == "draft" else ["row", base, name] if name else ["own", base]


def constant(value: Any) -> Any:
    """A constant: numbers, texts and lists as they are, ``{"map": [[key, value], ...]}``, ``{"entry": {...}}``."""
    if isinstance(value, Mapping):
        if all(isinstance(one, Mapping) for one in value.values()):
            return {"map": [[key, _entry(one)] for key, one in value.items()]}
        return {"map": [[key, constant(one)] for key, one in value.items()]}
    if isinstance(value, tuple | list):
        entries = bool(value) and all(isinstance(one, Mapping) for one in value)
        return [_entry(one) if entries else constant(one) for one in value]
    return value


def _entry(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {"entry": {name: constant(one) for name, one in columns.items()}}


# -- states --------------------------------------------------------------------------------------------------------


def schema(one: Schema, record: str, derived: Mapping[str, str]) -> dict[str, Any]:
    """The records of an app: fields in order, with defaults and what is derived from them."""
    tables = {
        name: {"record": table.record, "sort": table.sort, **_columns(table.fields, table.derived)}
        for name, table in one.tables.items()
    }
    return {"record": record, "tables": tables, **_columns(one.fields, derived)}


def _columns(columns: Mapping[str, Type], derived: Mapping[str, str]) -> dict[str, Any]:
    shapes = [[name, SHAPES.get(type(one), ""), _record_of(one)] for name, one in columns.items()]
    defaults = {name: one.default for name, one in columns.items() if one.default is not None}
    return {"fields": shapes, "defaults": defaults, "derived": [[k, trees.expression(v)] for k, v in derived.items()]}


def _record_of(one: Type) -> str:
    return one.record if isinstance(one, Table) else one.of if isinstance(one, List) else ""


def state(value: State, programs: Iterable[Program]) -> dict[str, list[Any]]:
    """The state of apps: app -> its fields' values in order, a record being the list of its values."""
    return {program.key: _values(value[program.key]) for program in programs}


def _values(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_values(one) for one in value]
    return [_values(one) for one in vars(value).values()] if is_dataclass(value) else value


def read_state(value: Mapping[str, list[Any]], programs: Iterable[Program]) -> State:
    """The state whose :func:`state` this is."""
    made: State = {}
    for program in programs:
        one = program.place.schemas[program.key]
        made[program.key] = one.made(*_read(one, one.fields, value[program.key]))
    return made


def _read(one: Schema, columns: Mapping[str, Type], values: list[Any]) -> list[Any]:
    return [_value(one, column, value) for column, value in zip(columns.values(), values, strict=True)]


def _value(one: Schema, column: Type, value: Any) -> Any:
    name = _record_of(column)
    if not isinstance(column, Table | List):
        return value
    if not name:
        return tuple(value)
    made = one.records[name][0]
    table = next(table for table in one.tables.values() if table.record == name)
    return tuple(made(*_read(one, table.fields, row)) for row in value)
