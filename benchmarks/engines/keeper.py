"""Outlives the process that started a Ray cluster, to end what that leaves: ``python keeper.py LOGS``, a script.

It waits for the end of its standard input, whose other end the cluster's owner holds: that closes even if the owner is
killed. Then it kills whatever writes a log of that cluster's session, which each of Ray's processes does, whatever
became of its name, environment and parents; so does what a worker started. Linux only: elsewhere Ray has its own.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

LOGS = (".log", ".out", ".err")
PATIENCE, PAUSE = 10.0, 0.2
"""Seconds for which it looks again whether something is left, and between two looks."""


def writers(folder: Path) -> set[int]:
    """Processes that have a log in ``folder`` open for writing."""
    return {
        int(entry.parts[2])
        for entry in Path("/proc").glob("[0-9]*/fd/*")
        if _target(entry).startswith(f"{folder}/") and _target(entry).endswith(LOGS) and _writes(entry)
    }


def _target(entry: Path) -> str:
    try:
        return os.readlink(entry)
    except OSError:  # closed meanwhile, or another user's
        return ""


def _writes(entry: Path) -> bool:
    try:
        flags = (entry.parents[1] / "fdinfo" / entry.name).read_text().split("flags:")[1].split()[0]
    except OSError:
        return False
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def main(logs: str) -> None:
    """Waits, then kills until nothing is left."""
    sys.stdin.buffer.read()
    end = time.monotonic() + PATIENCE
    while (left := writers(Path(logs).resolve()) - {os.getpid()}) and time.monotonic() < end:
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
