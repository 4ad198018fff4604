"""Methods of the papers at the core of this project."""

from ..row import Row

ROWS: tuple[Row, ...] = ()
