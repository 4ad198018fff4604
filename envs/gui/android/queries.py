"""Settings, content providers and the whole state of the fake device, read from and written to the declared apps.

Nothing here knows an app by name: tables are content providers (``content://tiltyard.contacts/contacts``), single
fields of an app one row (``content://tiltyard.settings``), the fields of the app ``settings`` are the settings.
:data:`SETTINGS` and :data:`PROVIDERS` add what stock Android calls the same things.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from ..declare.interpreter import Program
from ..declare.state import Bool, Choice, Int, List, Table, Type, changed
from ..device import Phone
from ..goals import State
from .errors import CommandFailed

NAMESPACES = ("system", "secure", "global")
SETTINGS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "airplane_mode_on": ("airplane", {}),
    "wifi_on": ("wifi", {}),
    "bluetooth_on": ("bluetooth", {}),
    "mobile_data": ("mobile_data", {}),
    "screen_brightness": ("brightness", {"1": "51", "2": "102", "3": "153", "4": "204", "5": "255"}),
    "accelerometer_rotation": ("auto_rotate", {}),
    "vibrate_when_ringing": ("vibrate", {}),
    "zen_mode": ("do_not_disturb", {}),
    "low_power": ("battery_saver", {}),
    "ui_night_mode": ("dark", {"0": "1", "1": "2"}),
    "device_name": ("phone_name", {}),
}
"""Stock name -> the field, and how stock Android writes its values (where not as 0 and 1)."""
PROVIDERS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "com.android.contacts/contacts": ("contacts", "contacts", {"display_name": "name", "starred": "favourite"}),
    "com.android.contacts/raw_contacts": ("contacts", "contacts", {"display_name": "name", "starred": "favourite"}),
    "com.android.contacts/data/phones": ("contacts", "contacts", {"display_name": "name", "data1": "number"}),
    "call_log/calls": ("contacts", "log", {"type": "kind"}),
}
"""Stock address -> app, table, and stock column -> field."""
WORDS = re.compile(r"\s*(\w+)\s*=\s*('(?:[^']|'')*'|\"[^\"]*\"|[\w.+-]+)\s*(?:\bAND\b|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Provider:
    """One address: an app, one of its tables ("" for its single fields), and other names of columns."""

    app: str
    table: str
    names: Mapping[str, str]


def provider(phone: Phone, uri: str) -> Provider:
    """What stands behind an address.

    Raises:
        CommandFailed: nothing does.
    """
    path = uri.removeprefix("content://").strip("/")
    if path in PROVIDERS and PROVIDERS[path][0] in phone.apps:
        return Provider(*PROVIDERS[path])
    app, _, table = path.removeprefix("tiltyard.").partition("/")
    tables = {name for name, one in declared(phone, app).items() if isinstance(one, Table)}
    if not uri.startswith("content://tiltyard.") or app not in phone.state or (table and table not in tables):
        raise CommandFailed(f"could not find provider: {uri}")
    return Provider(app, table, {})


def declared(phone: Phone, app: str) -> Mapping[str, Type]:
    """The declared fields of an app; none of what is not an app."""
    program = next((one for one in phone.app_classes if one.key == app), None)
    return program.app.state if isinstance(program, Program) else {}


def query(phone: Phone, uri: str, projection: str = "", where: str = "") -> str:
    """What ``content query`` prints: one line a row.

    Raises:
        CommandFailed: no such address, or a condition that cannot be read.
    """
    at = provider(phone, uri)
    app = phone.state[at.app]
    found = [row for row in getattr(app, at.table)] if at.table else [app]
    met = _condition(where)
    back = {field: name for name, field in at.names.items()}
    shown: list[str] = []
    for row in found:
        values = {back.get(key, key): _text(value) for key, value in plain(row).items() if not isinstance(value, list)}
        if all(values.get(name) == value for name, value in met):
            columns = projection.split(":") if projection else list(values)
            shown.append(", ".join(f"{name}={values.get(name, 'NULL')}" for name in columns))
    return "\n".join(f"Row: {i} {line}" for i, line in enumerate(shown)) or "No result found."


def insert(phone: Phone, uri: str, bound: Mapping[str, str]) -> None:
    """Adds a row to a table; fields that are not given are empty, off, or 0.

    Raises:
        CommandFailed: no such address or field, or a value that is not of it.
    """
    at = _table(phone, uri)
    table = _declared_table(phone, at)
    given = {at.names.get(name, name): value for name, value in bound.items()}
    for name in given:
        if name not in table.fields:
            raise CommandFailed(f"{uri} has no column {name!r}; it has {', '.join(table.fields)}")
    row = _record(phone, at)(**{name: _value(one, given.get(name)) for name, one in table.fields.items()})
    rows = (*getattr(phone.state[at.app], at.table), row)
    _put(phone, at, tuple(sorted(rows, key=lambda one: getattr(one, table.sort))) if table.sort else rows)


def update(phone: Phone, uri: str, bound: Mapping[str, str], where: str = "") -> None:
    """Changes the rows that meet a condition (all without one).

    Raises:
        CommandFailed: as for :func:`insert`.
    """
    at = _table(phone, uri)
    table, met = _declared_table(phone, at), _condition(where)
    given = {at.names.get(name, name): value for name, value in bound.items()}
    for name in given:
        if name not in table.fields:
            raise CommandFailed(f"{uri} has no column {name!r}; it has {', '.join(table.fields)}")
    new = {name: _value(table.fields[name], value) for name, value in given.items()}
    rows = getattr(phone.state[at.app], at.table)
    _put(phone, at, tuple(changed(row, new) if _meets(row, at, met) else row for row in rows))


def delete(phone: Phone, uri: str, where: str = "") -> None:
    """Takes away the rows that meet a condition (all without one)."""
    at = _table(phone, uri)
    met = _condition(where)
    _put(phone, at, tuple(row for row in getattr(phone.state[at.app], at.table) if not _meets(row, at, met)))


def has_setting(phone: Phone, name: str) -> bool:
    """Whether a field of the app ``settings`` is behind a name."""
    kind = declared(phone, "settings").get(SETTINGS.get(name, (name, {}))[0])
    return kind is not None and not isinstance(kind, Table | List)


def get_setting(phone: Phone, name: str) -> str:
    """A setting as text; "null" where there is none, as Android says."""
    field, values = SETTINGS.get(name, (name, {}))
    state = phone.state["settings"]
    kind = declared(phone, "settings").get(field)
    if kind is None or isinstance(kind, Table | List):
        return "null"
    text = _text(getattr(state, field))
    return values.get(text, text)


def put_setting(phone: Phone, name: str, text: str) -> None:
    """Sets a setting.

    Raises:
        CommandFailed: there is none of this name, or the value is not one of its.
    """
    field, values = SETTINGS.get(name, (name, {}))
    kind = declared(phone, "settings").get(field)
    if kind is None or isinstance(kind, Table | List):
        raise CommandFailed(f"there is no setting {name!r} on this device")
    value = _value(kind, next((ours for ours, theirs in values.items() if theirs == text), text))
    phone.state["settings"] = changed(phone.state["settings"], {field: value})


def list_settings(phone: Phone) -> str:
    """All settings, a line each."""
    kinds = declared(phone, "settings")
    single = [name for name, kind in kinds.items() if not isinstance(kind, Table | List)]
    stock = [name for name, (field, _) in SETTINGS.items() if field in kinds]
    return "\n".join(f"{name}={get_setting(phone, name)}" for name in sorted({*single, *stock}))


def plain(value: Any) -> Any:
    """A state, or a part of it, as what JSON knows."""
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return value


def whole_state(state: State) -> str:
    """The exact state of all apps as one line of JSON: equal states, and only those, are equal lines."""
    return json.dumps(plain(state), sort_keys=True)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _value(kind: Type, text: str | None) -> Any:
    """A value of a declared type from text.

    Raises:
        CommandFailed: there is none.
    """
    if isinstance(kind, Bool) and text in (None, "0", "1", "true", "false"):
        return text in ("1", "true")
    if isinstance(kind, Choice) and (text is None or text in kind.options):
        return kind.options[0] if text is None else text
    if isinstance(kind, Int) and (text is None or re.fullmatch(r"-?\d{1,12}", text)):
        if text is None or kind.low <= int(text) <= kind.high:
            return kind.low if text is None else int(text)
    elif not isinstance(kind, Bool | Choice | Int | Table | List):
        return text or ""
    raise CommandFailed(f"{text!r} is no value of {kind}")


def _condition(where: str) -> list[tuple[str, str]]:
    met, at = [], 0
    while at < len(where.rstrip()):
        found = WORDS.match(where, at)
        if found is None:
            raise CommandFailed(f"cannot read the condition {where!r}: write name='value' AND other=1")
        name, value = found.groups()
        met.append((name, value[1:-1].replace("''", "'") if value[0] in "'\"" else value))
        at = found.end()
    return met


def _meets(row: Any, at: Provider, met: list[tuple[str, str]]) -> bool:
    return all(_text(getattr(row, at.names.get(name, name), None)) == value for name, value in met)


def _table(phone: Phone, uri: str) -> Provider:
    at = provider(phone, uri)
    if not at.table:
        raise CommandFailed(f"{uri} is one row, which cannot be added to: name one of its tables")
    return at


def _declared_table(phone: Phone, at: Provider) -> Table:
    table = declared(phone, at.app)[at.table]
    assert isinstance(table, Table)
    return table


def _record(phone: Phone, at: Provider) -> type:
    program = next(one for one in phone.app_classes if one.key == at.app)
    return program.place.schemas[at.app].records[_declared_table(phone, at).record][0]


def _put(phone: Phone, at: Provider, rows: tuple[Any, ...]) -> None:
    app = phone.state[at.app]
    phone.state[at.app] = changed(app, {at.table: rows})
