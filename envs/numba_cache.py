"""Numba's disk cache, which looks at all sources that matter and is filled by one process at a time."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

T = TypeVar("T")
LOCK = "tiltyard.lock"


def guarded(made: Any, stamp: str) -> Any:
    """Has the cache of something compiled look at ``stamp``, and no other process compile what this one compiles.

    Numba itself looks only at the file of the function, so that an edit to a function it calls in another file would go
    unnoticed; and of two processes that need the same function both compile it. It has no public way for either.

    Args:
        made: a dispatcher or a C function of numba, with its cache enabled.
        stamp: a digest of all sources that end up in it.
    """
    made._cache._cache_file._source_stamp = stamp
    made.compile = partial(_alone, made._cache.cache_path, made.compile)
    return made


@cache
def lock(folder: str) -> FileLock:
    """The lock of the cache in ``folder``; a thread that holds it may take it again, as what is called compiles too."""
    return FileLock(Path(folder) / LOCK, poll_interval=0.2)


def _alone(folder: str, compiling: Callable[..., T], *args: Any) -> T:
    """Loads or compiles; a second process waits, and then loads what the first has cached."""
    with lock(folder):
        return compiling(*args)
