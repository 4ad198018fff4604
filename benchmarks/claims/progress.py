"""Runs of a claim: kept as they finish, so that an interrupted claim goes on, and spread over processes.

Every run depends on its condition, learning rate and seed alone, so that neither changes a result. Runs are numbered in
the order in which an experiment asks for them, which is the same each time: tuning, then the reported seeds.
"""

import logging
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing.process import BaseProcess
from pathlib import Path
from re import sub
from threading import Thread
from typing import Any

import cloudpickle

from .. import folders, provenance
from ..testbeds.testbed import Testbed
from ..threads import one_thread

log = logging.getLogger(__name__)
"""Says of every run that it is done, at level INFO."""


@dataclass(frozen=True)
class Job:
    """One run that an experiment asks for.

    Attributes:
        testbed: it runs on.
        name: of the condition, for readers.
        condition: what runs.
        rate: its learning rate, NaN where there is none.
        seed: of the run.
        tuning: whether it is one that chooses a learning rate, which is told beside its name.
    """

    testbed: Testbed
    name: str
    condition: Any
    rate: float
    seed: int
    tuning: bool = False

    def __str__(self) -> str:
        at = "" if self.rate != self.rate else f" at rate {self.rate:g}"  # NaN: there is none
        return f"{self.name}{at}, seed {self.seed}{' (tuning)' if self.tuning else ''}"

    def run(self) -> "Done":
        """Runs it, and tells how long it took."""
        start = time.perf_counter()
        result = self.testbed.run(self.condition, self.rate, self.seed)
        return Done(result, time.perf_counter() - start)


@dataclass(frozen=True)
class Done:
    """What became of a run, and the seconds that it took."""

    result: Any
    seconds: float


@dataclass
class Progress:
    """How the runs of one experiment are done.

    Attributes:
        folder: where each is kept as it finishes, as a pickle; None keeps none.
        workers: processes that share them; one runs them here, one after the other.
        resumed: runs that an earlier process had kept.
        saved: seconds that those took there.
    """

    folder: Path | None = None
    workers: int = 1
    resumed: int = 0
    saved: float = 0.0
    _asked: int = field(default=0, repr=False)
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)
    _processes: list[BaseProcess] = field(default_factory=list, repr=False)

    def runs(self, jobs: Iterable[Job]) -> list[Any]:
        """The results of some jobs, in their order: those kept are read, the others run.

        Raises:
            RuntimeError: a process that ran one of them was killed; what had finished is kept.
        """
        numbered = {self._path(job): job for job in jobs}
        done = {path: kept for path in numbered if (kept := self._read(path)) is not None}
        self.resumed += len(done)
        self.saved += sum(kept.seconds for kept in done.values())
        missing = {path: job for path, job in numbered.items() if path not in done}
        for path, one in self._execute(missing):
            log.info("%s: %.1f s", missing[path], one.seconds)
            if self.folder is not None:
                folders.write_whole(self.folder / path, cloudpickle.dumps(one))
            done[path] = one
        return [done[path].result for path in numbered]

    def close(self) -> None:
        """Ends the processes, and what they are running; jobs that wait are dropped."""
        for process in self._processes:
            process.terminate()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _path(self, job: Job) -> str:
        self._asked += 1
        return f"{self._asked:05d}-{sub('[^A-Za-z0-9.]+', '-', str(job))}.pickle"

    def _read(self, path: str) -> Done | None:
        if self.folder is None or not (self.folder / path).is_file():
            return None
        done: Done = cloudpickle.loads((self.folder / path).read_bytes())
        return done

    def _execute(self, jobs: Mapping[str, Job]) -> Iterator[tuple[str, Done]]:
        if self.workers == 1 or not jobs:
            yield from ((path, job.run()) for path, job in jobs.items())
            return
        others = multiprocessing.active_children()
        spawn = multiprocessing.get_context("spawn")
        self._pool = self._pool or ProcessPoolExecutor(self.workers, spawn, _end_with_parent)
        waiting = {self._pool.submit(_work, cloudpickle.dumps(job)): path for path, job in jobs.items()}
        self._processes += [process for process in multiprocessing.active_children() if process not in others]
        try:
            for future in as_completed(waiting):
                yield waiting[future], cloudpickle.loads(future.result())
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a process that ran a part of the claim was killed, such as by a system without memory left: the same "
                "command goes on from the runs that had finished, with fewer --workers where memory was short"
            ) from error


def _work(job: bytes) -> bytes:
    """A job in a process of its own."""
    with one_thread():
        done: bytes = cloudpickle.dumps(cloudpickle.loads(job).run())
    return done


def _end_with_parent() -> None:
    """Ends this process when the one that made it ends, however that ends: it would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def runs(jobs: Iterable[Job]) -> list[Any]:
    """The results of some jobs, in their order, as :func:`kept_in` says; here and unkept without it."""
    return (_CURRENT.get() or Progress()).runs(jobs)


@contextmanager
def kept_in(folder: Path | None, workers: int = 1) -> Iterator[Progress]:
    """How the runs of the experiment in this block are done, one process at a time in a folder.

    The folder goes at the end of a block that raised nothing. It holds pickles: read none that others made.

    Raises:
        folders.Busy: another process is running the same experiment in this folder.
        ValueError: fewer workers than one.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    progress = Progress(folder, workers)
    token = _CURRENT.set(progress)
    try:
        if folder is None:
            yield progress
        else:
            with folders.held(folder):
                yield progress
                if folder.exists():
                    folders.remove(folder)
    finally:
        _CURRENT.reset(token)
        progress.close()


def folder_of(home: Path, handle: str, seeds: str, definition: str) -> Path:
    """Where the runs of an experiment are kept: a folder that code, libraries or seeds of another do not share."""
    told = repr((handle, seeds, definition, provenance.sources(), sorted(provenance.versions().items())))
    return home / f"{handle}-{sha256(told.encode()).hexdigest()[:8]}"
