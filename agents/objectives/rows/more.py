"""Further published methods."""

from ..row import Row

ROWS: tuple[Row, ...] = ()
