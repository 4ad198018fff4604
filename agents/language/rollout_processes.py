"""Who samples the tasks of a pipeline: worker processes that may come and go, or the learner itself."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO

from .pipeline import Pipeline
from .rollout_worker import RolloutWorker

MOST_WORKERS = 1024
"""Of an agent, each of which a thread serves."""
MOST_DEATHS = 3
"""Workers that may be killed one after the other, without a task finished in between, before that is an error."""


class Inline:
    """The learner samples, when it wants rows that are not there: with a bound of 0, or a staleness that is exact.

    Args:
        pipeline: of tasks.
        recipe: of the worker (:func:`~tiltyard.agents.language.rollout_worker.recipe`).
    """

    elsewhere = False

    def __init__(self, pipeline: Pipeline, recipe: bytes) -> None:
        self._pipeline = pipeline
        self._worker = RolloutWorker(recipe)
        self._version = -1

    def attend(self) -> None:
        """Samples the next task.

        Raises:
            ValueError: the environment or the sampler returned something else than it promises.
        """
        lease = self._pipeline.next_lease()
        assert lease is not None, "rows are missing that were never drawn"
        if lease.version != self._version:
            self._worker.load(lease.weights)
            self._version = lease.version
        self._pipeline.put(lease, self._worker.sample(lease.task))

    def resize(self, count: int) -> None:
        """There is nothing to resize."""

    def close(self) -> None:
        """There is nothing to close."""


class Processes:
    """Worker processes, each served by a thread; one that is killed is replaced, and its task is sampled anew.

    A worker takes the newest weights before each task, and only then: those that it samples with are at least as old
    as the task's beginning (AsyncFlow's delayed parameter update).

    Args:
        pipeline: of tasks.
        recipe: of the workers (:func:`~tiltyard.agents.language.rollout_worker.recipe`).
        count: processes.
        threads: of each.
    """

    elsewhere = True

    def __init__(self, pipeline: Pipeline, recipe: bytes, count: int, threads: int) -> None:
        self._pipeline, self._setup = pipeline, pickle.dumps((threads, recipe))
        self._pool = ThreadPoolExecutor(max_workers=MOST_WORKERS, thread_name_prefix="rollout-worker")
        self._served: list[Future[None]] = []
        self._live: dict[int, subprocess.Popen[bytes]] = {}
        self._wanted: list[int] = []
        self._begun = self._deaths = 0
        pipeline.open()
        self.resize(count)

    @property
    def pids(self) -> list[int]:
        """Of the processes that are alive, in the order in which they began."""
        return [process.pid for process in self._live.values()]

    def resize(self, count: int) -> None:
        """Adds processes, or has the last ones leave after the tasks that they are at."""
        with self._pipeline.changed:
            del self._wanted[count:]
            self._pipeline.changed.notify_all()
        while len(self._wanted) < count:
            self._wanted.append(self._begun)
            self._served.append(self._pool.submit(self._serve, self._begun))
            self._begun += 1

    def attend(self) -> None:
        """Looks whether the workers are well.

        Raises:
            RuntimeError: a worker failed, or several in a row were killed.
        """
        for future in [future for future in self._served if future.done()]:
            self._served.remove(future)
            future.result()

    def close(self) -> None:
        """Ends all processes; what they were at waits in the pipeline."""
        self._wanted = []
        self._pipeline.close()
        for process in list(self._live.values()):
            with suppress(ProcessLookupError):
                process.kill()
        self._pool.shutdown()

    def _serve(self, number: int) -> None:
        """Has worker ``number`` sample tasks until it is not wanted any more, by a new process after each death."""
        while not self._retired(number):
            with tempfile.TemporaryFile() as said:
                process, worker = _begin(said)
                self._live[number] = process
                died = False
                try:
                    with worker:
                        died = self._feed(number, worker)
                finally:
                    _end(process, at_once=not died)
                    del self._live[number]
                if died and not self._retired(number):
                    self._check_death(process.returncode, said)

    def _feed(self, number: int, worker: Connection) -> bool:
        """Hands tasks to one process until it dies (True) or is not wanted any more."""
        version, lease = -1, None
        try:
            worker.send_bytes(self._setup)
            while (lease := self._pipeline.lease(lambda: self._retired(number))) is not None:
                weights = None if lease.version == version else lease.weights
                worker.send_bytes(pickle.dumps((lease.task, weights)))
                sampled = pickle.loads(worker.recv_bytes())
                version = lease.version
                self._pipeline.put(lease, sampled)
                self._deaths = 0
        except (EOFError, OSError):  # the process is gone
            if lease is not None:
                self._pipeline.give_back(lease)
            return True
        return False

    def _retired(self, number: int) -> bool:
        return number not in self._wanted

    def _check_death(self, code: int, said: IO[bytes]) -> None:
        """Raises ``RuntimeError`` where a new process would end as this one did."""
        if code >= 0:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            raise RuntimeError(f"a rollout worker failed: {lines[-1] if lines else f'it ended with exit code {code}'}")
        self._deaths += 1
        if self._deaths > MOST_DEATHS:
            raise RuntimeError(
                f"{self._deaths} rollout workers in a row were killed, the last by {signal.Signals(-code).name}, and "
                "none had finished a task: see whether there is memory for them, or take fewer (rollout_workers=)"
            )


def _begin(said: IO[bytes]) -> tuple["subprocess.Popen[bytes]", Connection]:
    """A new process, and the learner's end of the socket to it; what it says on stderr goes to ``said``."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tiltyard.agents.language.rollout_worker", str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C reaches the learner alone, which then ends its workers
        )
    return process, Connection(ours.detach())


def _end(process: "subprocess.Popen[bytes]", *, at_once: bool) -> None:
    """Ends a process that is not wanted any more (``at_once``), or lets one that is ending end by itself."""
    if at_once:
        process.kill()
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
