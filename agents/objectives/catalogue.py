"""One row a method. A variant (other numbers, same code) is a row alone; importing this imports nothing heavy."""

from ... import unknown
from .row import Row
from .rows.baselines import ROWS as BASELINES
from .rows.core import ROWS as CORE
from .rows.more import ROWS as MORE

__all__ = ["ROWS", "Row", "find"]

ROWS: tuple[Row, ...] = (*BASELINES, *CORE, *MORE)


def find(handle: str) -> Row:
    """The row of ``handle``; ``KeyError`` with the nearest valid handles otherwise."""
    for row in ROWS:
        if row.handle == handle:
            return row
    raise KeyError(unknown("method", handle, [row.handle for row in ROWS]))
