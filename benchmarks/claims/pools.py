"""Where the runs of a claim are executed beside this process: processes of this machine, or a Ray cluster."""

import multiprocessing
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Protocol

import cloudpickle

from ... import unknown
from ..engines import ENGINES, ONE_THREAD
from ..threads import one_thread


class Pool(Protocol):
    """Executes jobs, which are pickles of what has a method ``run``, and gives pickles of what those return."""

    def each(self, jobs: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
        """The name of each job as it ends, and what it gave.

        Raises:
            RuntimeError: a process that ran one of them was killed.
        """

    def close(self) -> None:
        """Ends the processes, and what they are running; jobs that wait are dropped."""


def pool(engine: str, workers: int | None) -> Pool | None:
    """What executes runs, or None where this process does, one after the other.

    Args:
        engine: ``"local"`` or ``"ray"``.
        workers: runs at a time; None: one on this machine, as many as a Ray cluster has cores for.

    Raises:
        ConnectionError: no Ray cluster answers at ``RAY_ADDRESS``, or none starts on this machine.
        KeyError: no such engine.
        MissingExtra: Ray is not installed.
        ValueError: fewer workers than one.
    """
    if engine not in ENGINES:
        raise KeyError(unknown("engine", engine, ENGINES))
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    if engine == "ray":
        return Cluster(workers)
    return None if workers in (None, 1) else Processes(workers)


def run(job: bytes) -> bytes:
    """Executes one job in a process of its own."""
    with one_thread():
        done: bytes = cloudpickle.dumps(cloudpickle.loads(job).run())
    return done


class Processes:
    """Processes of this machine, which go on from job to job."""

    def __init__(self, workers: int) -> None:
        self._executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _end_with_parent)
        self._started: list[BaseProcess] = []

    def each(self, jobs: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
        """As :class:`Pool` says."""
        others = multiprocessing.active_children()
        waiting = {self._executor.submit(run, job): name for name, job in jobs.items()}
        self._started += [process for process in multiprocessing.active_children() if process not in others]
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool as error:
            raise RuntimeError(_killed("fewer --workers where memory was short")) from error

    def close(self) -> None:
        """As :class:`Pool` says."""
        for process in self._started:
            process.terminate()
        self._executor.shutdown(cancel_futures=True)


class Cluster:
    """A Ray cluster, that of ``RAY_ADDRESS`` or one on this machine: a task of one core a job."""

    def __init__(self, workers: int | None) -> None:
        from ..engines.ray import RETRIES, connected  # late: few have Ray

        self._workers, self._stack, self._live = workers, ExitStack(), dict[Any, str]()
        self._ray = self._stack.enter_context(connected())
        options = {"num_cpus": 1, "max_retries": RETRIES, "runtime_env": {"env_vars": ONE_THREAD}}
        self._task = self._ray.remote(**options)(run)

    def each(self, jobs: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
        """As :class:`Pool` says; a job whose process or node died has been executed anew, twice at most."""
        waiting = list(jobs.items())
        while waiting or self._live:
            while waiting and (self._workers is None or len(self._live) < self._workers):
                name, job = waiting.pop(0)
                self._live[self._task.remote(job)] = name
            (ended, *_), _ = self._ray.wait(list(self._live), num_returns=1)
            name = self._live.pop(ended)
            try:
                done = self._ray.get(ended)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except self._ray.exceptions.RayError as error:
                raise RuntimeError(_killed("nodes with more memory where that was short")) from error
            yield name, done

    def close(self) -> None:
        """As :class:`Pool` says; a cluster that was started here ends."""
        for reference in self._live:
            self._ray.cancel(reference, force=True)
        self._live.clear()
        self._stack.close()


def _killed(else_: str) -> str:
    return (
        "a process that ran a part of the claim was killed, such as by a system without memory left: the same command "
        f"goes on from the runs that had finished, with {else_}"
    )


def _end_with_parent() -> None:
    """Ends this process when the one that made it ends, however that ends: it would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
