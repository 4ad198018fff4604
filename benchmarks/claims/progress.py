"""Runs of a claim: kept as they finish, so that an interrupted claim goes on, and spread over processes or a cluster.

Every run depends on its condition, learning rate and seed alone, so that neither changes a result. Runs are numbered in
the order in which an experiment asks for them, which is the same each time: tuning, then the reported seeds.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from re import sub
from typing import Any

import cloudpickle

from .. import folders, provenance
from ..testbeds.testbed import Testbed
from .pools import Pool, pool

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

    @property
    def work(self) -> bytes:
        """What it computes: equal for runs that have the same result, whatever their conditions are called."""
        work: bytes = cloudpickle.dumps(replace(self, name="", tuning=False))
        return work

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
        pool: what executes them; None: this process, one after the other.
        resumed: runs that an earlier process had kept.
        saved: seconds that those took there.
    """

    folder: Path | None = None
    pool: Pool | None = None
    resumed: int = 0
    saved: float = 0.0
    _asked: int = field(default=0, repr=False)

    def runs(self, jobs: Iterable[Job]) -> list[Any]:
        """The results of some jobs, in their order: those kept are read, the others run, equal ones once.

        Raises:
            RuntimeError: a process that ran one of them was killed; what had finished is kept.
        """
        numbered = {self._path(job): job for job in jobs}
        done = {path: kept for path in numbered if (kept := self._read(path)) is not None}
        self.resumed += len(done)
        self.saved += sum(kept.seconds for kept in done.values())
        missing = {path: job for path, job in numbered.items() if path not in done}
        equal: dict[bytes, list[str]] = {}
        for path, job in missing.items():
            equal.setdefault(job.work, []).append(path)
        alike = {path: others for path, *others in equal.values()}
        for path, one in self._execute({path: missing[path] for path in alike}):
            log.info("%s: %.1f s", missing[path], one.seconds)
            done[path] = self._keep(path, one)
            for other in alike[path]:
                done[other] = self._keep(other, Done(one.result, 0.0))
        return [done[path].result for path in numbered]

    def _keep(self, path: str, one: Done) -> Done:
        if self.folder is not None:
            folders.write_whole(self.folder / path, cloudpickle.dumps(one))
        return one

    def _path(self, job: Job) -> str:
        self._asked += 1
        return f"{self._asked:05d}-{sub('[^A-Za-z0-9.]+', '-', str(job))}.pickle"

    def _read(self, path: str) -> Done | None:
        if self.folder is None or not (self.folder / path).is_file():
            return None
        done: Done = cloudpickle.loads((self.folder / path).read_bytes())
        return done

    def _execute(self, jobs: Mapping[str, Job]) -> Iterator[tuple[str, Done]]:
        if self.pool is None or not jobs:
            yield from ((path, job.run()) for path, job in jobs.items())
            return
        for path, done in self.pool.each({path: cloudpickle.dumps(job) for path, job in jobs.items()}):
            yield path, cloudpickle.loads(done)


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def runs(jobs: Iterable[Job]) -> list[Any]:
    """The results of some jobs, in their order, as :func:`kept_in` says; here and unkept without it."""
    return (_CURRENT.get() or Progress()).runs(jobs)


@contextmanager
def kept_in(folder: Path | None, workers: int | None = None, engine: str = "local") -> Iterator[Progress]:
    """How the runs of the experiment in this block are done, one process at a time in a folder.

    The folder goes at the end of a block that raised nothing. It holds pickles: read none that others made.

    Raises:
        folders.Busy: another process is running the same experiment in this folder.
        Exception: what :func:`.pools.pool` raises of ``engine`` and ``workers``.
    """
    executing = pool(engine, workers)
    progress = Progress(folder, executing)
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
        if executing is not None:
            executing.close()


def folder_of(home: Path, handle: str, seeds: str, definition: str) -> Path:
    """Where the runs of an experiment are kept: a folder that code, libraries or seeds of another do not share."""
    told = repr((handle, seeds, definition, provenance.sources(), sorted(provenance.versions().items())))
    return home / f"{handle}-{sha256(told.encode()).hexdigest()[:8]}"
