"""Threads that share the worlds of a batch, each a block of them at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PIECES = 4
"""Pieces for each thread, so that one that is held up leaves its share to the others."""


class Parts:
    """Calls a compiled function for all of ``n`` worlds, by several threads; copies have threads of their own.

    Args:
        threads: at most so many.
        n: worlds.
    """

    def __init__(self, threads: int, n: int) -> None:
        self._threads, self._n = threads, n
        self._pool: ThreadPoolExecutor | None = None

    def run(self, function: Callable[..., None], *arguments: Any, count: int | None = None, few: int = 0) -> None:
        """``function(*arguments, first, last)`` for one block of worlds ``first <= w < last`` after the other.

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
        pieces = min(parts * PIECES, n)
        bounds = [n * i // pieces for i in range(pieces + 1)]
        waiting = zip(bounds, bounds[1:], strict=False)  # each thread takes the next piece, one at a time

        def work() -> None:
            for a, b in waiting:
                function(*arguments, a, b)

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1)
        others = [self._pool.submit(work) for _ in range(parts - 1)]
        try:
            work()
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
