"""Suites from TOML files: the fields of :class:`~.suite.Suite`, its tasks, entries and datasets, by their own names."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from ... import unknown
from .suite import Comparison, Entry, Recipe, Suite, Task

T = TypeVar("T")


def read_suite(path: str | Path) -> Suite:
    """The suite that a ``.toml`` file holds; called like the file, and without summary, unless it says so.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no TOML, or not the fields of a suite; the message names the file and the place.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no suite file {path}")
    try:
        return _suite({"name": path.stem, "summary": "", **tomllib.loads(path.read_text(encoding="utf-8"))})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} holds no suite: {error.args[0] if error.args else error}") from error


def _suite(table: Mapping[str, Any]) -> Suite:
    tasks = [
        {**task, "entries": tuple(_made(Entry, {"seconds": 0.0, **entry}) for entry in _tables(task, "entries"))}
        for task in _tables(table, "tasks")
    ]
    made = {
        "tasks": tuple(_made(Task, task) for task in tasks),
        "comparisons": tuple(_made(Comparison, one) for one in _tables(table, "comparisons")),
        "datasets": {key: _made(Recipe, recipe) for key, recipe in table.get("datasets", {}).items()},
    }
    return _made(Suite, {**table, **made})


def _tables(table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise TypeError(f"{key} are tables, written [[{key}]], got {found!r:.200}")
    return found


def _made(kind: type[T], table: Mapping[str, Any]) -> T:
    """A dataclass from a table: its own fields, those without default all there, of the right kind."""
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    what = kind.__name__.lower()
    for key in table:
        if key not in known:
            raise KeyError(unknown(f"field of a {what}", key, known))
    needed = [name for name, one in known.items() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [name for name in needed if name not in table]:
        raise KeyError(f"a {what} needs {' and '.join(missing)}")
    return kind(**{key: _checked(what, known[key], value) for key, value in table.items()})


def _checked(what: str, field: Field[Any], value: Any) -> Any:
    """``value`` as the field holds it: a list as a tuple; ``TypeError`` where its kind is another."""
    wanted = str(field.type).removesuffix(" | None")
    kinds: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool}
    kind = kinds.get(wanted, Mapping if "Mapping" in wanted else list)
    if isinstance(value, tuple):  # made above
        return value
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{field.name} of a {what} is {wanted}, got {value!r:.200}")
    inner = int if "int" in wanted else str
    if kind is list and not all(isinstance(one, inner) and not isinstance(one, bool) for one in value):
        raise TypeError(f"{field.name} of a {what} holds values that are {inner.__name__}, got {value!r:.200}")
    return tuple(value) if kind is list else value
