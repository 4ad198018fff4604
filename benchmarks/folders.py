"""Folders that one process at a time may fill, and that get their name when they are whole."""

import fcntl
import os
import shutil
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

LOCK, ERROR = "lock", "error.txt"
TRIES, PAUSE = 20, 0.05  # whoever only asks whether a folder is claimed holds the lock for an instant


class Busy(RuntimeError):
    """Another process is executing the same run."""


@contextmanager
def claimed(partial: Path) -> Iterator[Path]:
    """An empty ``partial`` folder that no other process holds; the claim ends with the process, however it ends.

    If the block raises, what was written stays, beside the traceback in ``error.txt``; an empty folder goes.

    Raises:
        Busy: another process holds it.
    """
    with _locked(partial) as lock:
        try:
            for leftover in partial.iterdir():
                if leftover.name != LOCK:
                    remove(leftover)
            with _traceback_in(partial / ERROR):
                yield partial
        finally:
            if _is_at(lock, partial / LOCK):  # else it was published
                (partial / LOCK).unlink()
                with suppress(OSError):  # it holds what was done so far
                    partial.rmdir()


def is_claimed(partial: Path) -> bool:
    """Whether some process holds ``partial``."""
    try:
        with (partial / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def publish(partial: Path, folder: Path) -> None:
    """Makes a claimed ``partial`` the finished ``folder`` in one step, its files on the disk before its name."""
    for path in (*partial.iterdir(), partial):
        _sync(path)
    if folder.exists() or folder.is_symlink():  # damaged, or it would have been read
        remove(folder)
    os.replace(partial, folder)
    _sync(folder.parent)
    (folder / LOCK).unlink()


def remove(path: Path) -> None:
    """Removes a file, a link (not what it leads to) or a whole folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _locked(partial: Path) -> IO[str]:
    """The open, locked lock file of ``partial``, both made where missing."""
    for _ in range(TRIES):
        partial.mkdir(parents=True, exist_ok=True)
        try:
            lock = (partial / LOCK).open("a")
        except FileNotFoundError:  # published, or cleared away, since the line above
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            time.sleep(PAUSE)
            continue
        if _is_at(lock, partial / LOCK):
            return lock
        lock.close()  # of a folder that was published meanwhile
    raise Busy(f"{partial.stem} is being run by another process")


def _is_at(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


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
