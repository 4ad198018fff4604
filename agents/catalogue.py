"""One row an agent name. Everything that lists, builds, tests or documents agents reads this table.

Importing this module imports nothing heavy: entry points are strings, resolved by :func:`tiltyard.agents.make`. Rows of
other packages come from plugins (:mod:`tiltyard.plugins`); any other class is named ``module:Class``.
"""

import re

from .. import unknown
from ..plugins import rows as plugin_rows
from .control.rows import ROWS as CONTROL
from .language.rows import ROWS as LANGUAGE
from .objectives.catalogue import ROWS as METHODS
from .row import Row, scoped

__all__ = ["ROWS", "Row", "find", "rows", "scoped"]

ROWS: tuple[Row, ...] = (*CONTROL, *LANGUAGE)
"""Ours."""


def rows() -> tuple[Row, ...]:
    """Ours and those of plugins."""
    return (*ROWS, *plugin_rows("AGENTS", Row))


def find(name: str) -> Row:
    """The row called ``name``; ``KeyError`` with the nearest valid names, or with where a method belongs, otherwise.

    ``module:Class`` has a row without settings. The class is not imported here, but by :meth:`Row.load`.
    """
    for row in rows():
        if row.name == name:
            return row
    if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", name):
        return Row(name, name, ("text", "gui", "driving", "robotics", "other"), "A class of another package")
    if any(method.handle == name for method in METHODS):
        raise KeyError(f"{name!r} is a method of language agents, not an agent: use agent 'grpo' with method={name!r}")
    raise KeyError(unknown("agent", name, [row.name for row in rows()]) + "; any other class is given as module:Class")
