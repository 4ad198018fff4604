"""Folders that one process at a time may fill, and that get their name when they are whole.

A claim is a lock on the file ``NAME.lock`` beside the folder ``NAME.partial``. The system ends it with the process,
however that ends. Who holds the lock may remove its file: FileLock sees that one has no name any more, and tries again.
"""

import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

ERROR = "error.txt"
PATIENCE, PAUSE = 1.0, 0.05  # whoever only asks whether a folder is claimed holds the lock for an instant


class Busy(RuntimeError):
    """Another process is executing the same run."""


@contextmanager
def claimed(partial: Path) -> Iterator[Path]:
    """An empty ``partial`` folder that no other process holds; the claim ends with the process, however it ends.

    If the block raises, what was written stays, beside the traceback in ``error.txt``; an empty folder goes.

    Raises:
        Busy: another process holds it.
    """
    with held(partial):
        try:
            partial.mkdir(exist_ok=True)
            for leftover in partial.iterdir():
                remove(leftover)
            with _traceback_in(partial / ERROR):
                yield partial
        finally:
            with suppress(OSError):  # it holds what was done so far, or it was published
                partial.rmdir()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A folder, made or not, that no other process holds meanwhile.

    Raises:
        Busy: another process holds it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = _lock(folder)
    try:
        lock.acquire(timeout=PATIENCE, poll_interval=PAUSE)
    except Timeout as error:
        raise Busy(f"{folder.stem} is being run by another process") from error
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def is_claimed(partial: Path) -> bool:
    """Whether some process holds ``partial``."""
    lock = _lock(partial)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock.acquire(timeout=0):
            Path(lock.lock_file).unlink(missing_ok=True)
    except Timeout:
        return True
    return False


def _lock(partial: Path) -> FileLock:
    return FileLock(partial.with_suffix(".lock"), is_singleton=False)


def publish(partial: Path, folder: Path) -> None:
    """Makes a claimed ``partial`` the finished ``folder`` in one step, its files on the disk before its name."""
    for path in (*partial.iterdir(), partial):
        _sync(path)
    if folder.exists() or folder.is_symlink():  # damaged, or it would have been read
        remove(folder)
    os.replace(partial, folder)
    _sync(folder.parent)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file that appears whole or not at all; its folder is made, and text is written as UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(partial, path)


def remove(path: Path) -> None:
    """Removes a file, a link (not what it leads to) or a whole folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


@contextmanager
def _traceback_in(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception:
        with suppress(OSError):  # the disk is full: the error itself must do
            path.write_text(traceback.format_exc())
        raise


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
