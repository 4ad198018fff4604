"""Numba's disk cache, which looks at all sources that matter and is filled by one process at a time."""

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

T = TypeVar("T")
LOCK = "tiltyard.lock"
_IMPORT = re.compile(r"^ *from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


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
def stamp_of(module: Path, package: Path) -> str:
    """A digest of ``module`` and of all that it imports, directly or not, from the folder ``package``.

    An edit then recompiles the functions of the edited module and of those that import it, and no others.

    Args:
        module: the resolved path of a source file in ``package``.
        package: the resolved path of a package's folder; its relative imports are followed, others are not.
    """
    found, waiting = set[Path](), [module]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported(path, package)
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(path.relative_to(package).as_posix().encode() + _digest(path))
    return digest.hexdigest()


@cache
def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


@cache
def _imported(path: Path, package: Path) -> tuple[Path, ...]:
    """The source files in ``package`` that ``path`` imports from relatively, names of modules among them."""
    files = list[Path]()
    for dots, dotted, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        base = path.parents[len(dots) - 1].joinpath(*filter(None, dotted.split(".")))
        plain = re.sub(r"#[^\n]*", "", names).strip("() ")
        words = (name.split(" as ")[0].strip() for name in plain.split(","))
        candidates = (base, *(base / word for word in words if word))
        files += [file for place in candidates for file in (place.with_suffix(".py"), place / "__init__.py")]
    return tuple(file for file in files if file.is_relative_to(package) and file.is_file())


def lock(folder: str) -> FileLock:
    """The lock of the cache in ``folder``; a thread that holds it may take it again, as what is called compiles too.

    A forked process, such as one of Gymnasium's ``AsyncVectorEnv``, has a lock of its own: it may not use its parent's.
    """
    return _lock(folder, os.getpid())


@cache
def _lock(folder: str, process: int) -> FileLock:
    return FileLock(Path(folder) / LOCK, poll_interval=0.2)


def _alone(folder: str, compiling: Callable[..., T], *args: Any) -> T:
    """Loads or compiles; a second process waits, and then loads what the first has cached."""
    with lock(folder):
        return compiling(*args)
