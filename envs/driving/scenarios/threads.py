"""Threads that share the worlds of a batch, each a block of them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np


class Parts:
    """Calls a compiled function for all of ``n`` worlds, in ``threads`` blocks; copies have threads of their own.

    Args:
        threads: at most so many.
        n: worlds.
    """

    def __init__(self, threads: int, n: int) -> None:
        bounds = np.linspace(0, n, min(threads, n) + 1).astype(int)
        self._blocks = [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
        self._pool: ThreadPoolExecutor | None = None

    def run(self, function: Callable[..., None], *arguments: Any) -> None:
        """``function(*arguments, first, last)`` for each block of worlds ``first <= w < last``."""
        if len(self._blocks) == 1:
            function(*arguments, *self._blocks[0])
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._blocks))
        list(self._pool.map(lambda block: function(*arguments, *block), self._blocks))

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: all but the threads."""
        return {**vars(self), "_pool": None}
