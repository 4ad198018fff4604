"""The reference of the command line as Markdown, read from the dataclasses that the commands are made of."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_type_hints

import tyro


def commands_page() -> str:
    """A section a command: what it does, how it is called, and a table of its options."""
    from .cli import COMMANDS

    return "\n\n".join(_sections("tiltyard", COMMANDS))


def _sections(program: str, commands: dict[str, type[Any]]) -> Iterator[str]:
    for name, command in commands.items():
        if inner := getattr(command, "commands", None):
            yield from _sections(f"{program} {name}", inner)
        else:
            yield _section(f"{program} {name}", command)


def _section(program: str, command: type[Any]) -> str:
    options, said = fields(command), _documented(command)
    hints = get_type_hints(command, include_extras=True)
    arguments = {name for name, hint in hints.items() if tyro.conf.Positional in getattr(hint, "__metadata__", ())}
    usage, rows = [program], []
    for option in options:
        name = option.name.upper() if option.name in arguments else _flag(option, hints[option.name] is bool)
        needed = option.default is MISSING and option.default_factory is MISSING
        if option.name in arguments or needed:
            usage.append(name if needed else f"[{name}]")
        rows.append(f"| `{name}` | {'required' if needed else _default(option)} | {said[option.name]} |")
    if len(rows) + 1 > len(usage):
        usage.append("[options]")
    table = "\n".join(["| option | default | meaning |", "| --- | --- | --- |", *rows])
    return f"## {program}\n\n{' '.join((command.__doc__ or '').split())}\n\n```text\n{' '.join(usage)}\n```\n\n{table}"


def _flag(option: "Field[Any]", switch: bool) -> str:
    """An option as it is typed."""
    if option.name == "settings":
        return "--set KEY=VALUE"
    return f"--{option.name.replace('_', '-')}" + ("" if switch else f" {option.name.upper()}")


def _default(option: "Field[Any]") -> str:
    if option.default is False or option.default in (None, ()):
        return ""
    return f"`{option.default.as_posix() if isinstance(option.default, Path) else option.default}`"


def _documented(command: type[Any]) -> dict[str, str]:
    """What the string under each field says, as a cell of a table."""
    body = ast.parse(textwrap.dedent(inspect.getsource(command))).body[0]
    assert isinstance(body, ast.ClassDef)
    said = {}
    for node, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(after, ast.Expr):
            text = ast.literal_eval(after.value)
            said[node.target.id] = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return said
