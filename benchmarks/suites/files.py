"""Suites from TOML files: the fields of :class:`~.suite.Suite`, its tasks, entries and datasets, by their own names."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin

from ... import unknown
from .suite import Comparison, Entry, Recipe, Suite, Task

T = TypeVar("T")


def read_suite(path: str | Path) -> Suite:
    """The suite that a ``.toml`` file holds; called like the file, and without summary, unless it says so.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no TOML, not the fields of a suite, or nothing to run; the message names the file and the place.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no suite file {path}")
    try:
        suite = _suite({"name": path.stem, "summary": "", **tomllib.loads(path.read_text(encoding="utf-8"))})
        suite.check_whole()
        return suite
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} holds no suite: it is no text in UTF-8") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no suite: {error.args[0] if error.args else error}") from error


def _suite(table: Mapping[str, Any]) -> Suite:
    tasks = [
        {**task, "entries": tuple(_made(Entry, {"seconds": 0.0, **entry}) for entry in _tables(task, "entries"))}
        for task in _tables(table, "tasks")
    ]
    made = {
        "tasks": tuple(_made(Task, task) for task in tasks),
        "comparisons": tuple(_made(Comparison, one) for one in _tables(table, "comparisons")),
        "datasets": {key: _made(Recipe, recipe) for key, recipe in _table(table, "datasets").items()},
    }
    return _made(Suite, {**table, **made})


def _tables(table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise TypeError(f"{key} are tables, written [[{key}]], got {found!r:.200}")
    return found


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise TypeError(f"{key} is a table, written [{key}], got {found!r:.200}")
    return found


def _made(kind: type[T], table: Mapping[str, Any]) -> T:
    """A dataclass from a table: its own fields, those without default all there, of the right kind."""
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    what = "an entry" if kind is Entry else f"a {kind.__name__.lower()}"
    if not isinstance(table, Mapping):
        raise TypeError(f"{what} is a table, got {table!r:.200}")
    for key in table:
        if key not in known:
            raise KeyError(unknown(f"field of {what}", key, known))
    needed = [name for name, one in known.items() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [name for name in needed if name not in table]:
        raise KeyError(f"{what} needs {' and '.join(missing)}")
    return kind(**{key: _checked(what, known[key], value) for key, value in table.items()})


def _checked(what: str, field: Field[Any], value: Any) -> Any:
    """``value`` as the field holds it: a list as a tuple; ``TypeError`` where its kind is another."""
    if isinstance(value, tuple):  # made above
        return value
    kind: Any = get_args(field.type)[0] if isinstance(field.type, UnionType) else field.type
    plain = get_origin(kind) or kind
    if plain is Literal:
        if value not in get_args(kind):
            raise TypeError(f"{field.name} of {what} is {' or '.join(get_args(kind))}, got {value!r:.200}")
        return value
    if not _is(value, {tuple: list, float: int | float}.get(plain, plain)):
        name = {"tuple": "list", "Mapping": "table"}.get(plain.__name__, plain.__name__)
        raise TypeError(f"{field.name} of {what} is of kind {name}, got {value!r:.200}")
    if plain is tuple:
        inner = get_args(kind)[0]
        if wrong := [one for one in value if not _is(one, inner)]:
            raise TypeError(f"{field.name} of {what} holds values of kind {inner.__name__}, got {wrong[0]!r:.200}")
        return tuple(value)
    return value


def _is(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
