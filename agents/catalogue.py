"""One row an agent name. Everything that lists, builds, tests or documents agents reads this table.

Importing this module imports nothing heavy: entry points are strings, resolved by :func:`tiltyard.agents.make`.
"""

from .. import unknown
from .control.rows import ROWS as CONTROL
from .language.rows import ROWS as LANGUAGE
from .objectives.catalogue import ROWS as METHODS
from .row import Row, scoped

__all__ = ["ROWS", "Row", "find", "scoped"]

ROWS: tuple[Row, ...] = (*CONTROL, *LANGUAGE)


def find(name: str) -> Row:
    """The row called ``name``; ``KeyError`` with the nearest valid names, or with where a method belongs, otherwise."""
    for row in ROWS:
        if row.name == name:
            return row
    if any(method.handle == name for method in METHODS):
        raise KeyError(f"{name!r} is a method of language agents, not an agent: use agent 'grpo' with method={name!r}")
    raise KeyError(unknown("agent", name, [row.name for row in ROWS]))
