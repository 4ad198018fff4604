"""This machine's cores: one fresh process a run, as many at a time as there are cores, one thread each.

A process a run costs a few seconds of imports, and buys that a run that dies, leaks or is killed takes no other with
it, that every run starts from the same state as ``tiltyard train`` does, and that scripts need no ``__main__`` guard.
No library's pool keeps all of that: ``concurrent.futures`` and loky fail every pending job when one worker is killed,
joblib's reuse their processes, and none ends what a worker had started (a browser) when the worker or the race dies.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock, Thread

from ..provenance import cores
from ..runs import Run
from . import ONE_THREAD, Outcome


def outcomes(runs: Sequence[Run], root: Path, workers: int | None = None) -> Generator[Outcome, None, None]:
    """Executes ``runs`` in order, ``workers`` at a time (default: the cores), yielding each as it ends.

    Closing the iterator, or an exception such as Ctrl-C while it waits, ends every worker.
    """
    pool = _Processes(root)
    with ThreadPoolExecutor(min(workers or cores(), len(runs))) as threads:
        futures = {threads.submit(pool.execute, run): run for run in runs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            pool.end()


class _Processes:
    """The live worker processes, so that all can be ended at once."""

    def __init__(self, root: Path) -> None:
        self._root, self._lock, self._ended = root, Lock(), False
        self._live: set[subprocess.Popen[str]] = set()

    def execute(self, run: Run) -> str | None:
        """Runs one worker to its end; returns its error in one sentence, or None."""
        with self._lock:
            if self._ended:
                return "stopped"
            process = subprocess.Popen(
                [sys.executable, "-m", "tiltyard.benchmarks.engines.worker", str(self._root), json.dumps(asdict(run))],
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C reaches the race alone, which then ends its workers
            )
            self._live.add(process)
        said: list[str] = []
        listener = Thread(target=lambda: said.extend(process.stderr or ()))
        listener.start()
        code = process.wait()
        _kill_group(process)  # whatever a killed worker left behind, such as a browser, holds its stderr open
        listener.join()
        with self._lock:
            self._live.discard(process)
        assert process.stdin is not None
        process.stdin.close()
        return None if code == 0 else _error(code, said)

    def end(self) -> None:
        """Kills what still runs; its partial folders start clean next time."""
        with self._lock:
            self._ended = True
            for process in self._live:
                _kill_group(process)


def _kill_group(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _error(code: int, said: list[str]) -> str:
    if code < 0:
        return f"its worker was killed by {signal.Signals(-code).name}"
    return said[-1].strip() if said else f"its worker ended with exit code {code}"
