"""Threads that share the worlds of a batch, each a block of them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Parts:
    """Calls a compiled function for all of ``n`` worlds, in ``threads`` blocks; copies have threads of their own.

    Args:
        threads: at most so many.
        n: worlds.
    """

    def __init__(self, threads: int, n: int) -> None:
        self._threads, self._n = threads, n
        self._pool: ThreadPoolExecutor | None = None

    def run(self, function: Callable[..., None], *arguments: Any, count: int | None = None, few: int = 0) -> None:
        """``function(*arguments, first, last)`` for each block of worlds ``first <= w < last``.

        Args:
            function: compiled, so that it runs beside others.
            *arguments: of all blocks.
            count: of other things than worlds, such as slots.
            few: fewer than that are not worth a thread.
        """
        n = self._n if count is None else count
        parts = 1 if n < few else max(min(self._threads, n), 1)
        if parts == 1:
            return function(*arguments, 0, n)
        bounds = [n * i // parts for i in range(parts + 1)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1)
        others = [self._pool.submit(function, *arguments, a, b) for a, b in zip(bounds[1:-1], bounds[2:], strict=True)]
        try:
            function(*arguments, bounds[0], bounds[1])
        finally:
            for other in others:
                other.result()
        return None

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: all but the threads."""
        return {**vars(self), "_pool": None}
