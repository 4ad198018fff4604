"""Where the runs of a race are executed: this machine's cores, or a Ray cluster. Each engine is one function."""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Protocol

from ... import unknown
from ..runs import Run

Outcome = tuple[Run, str | None]
"""A run that has ended, and its error in one sentence (None: it is finished)."""

BUSY = "another process is executing it"
"""The error of a run that another race (or ``tiltyard train``) is at."""


class Backend(Protocol):
    """What a race asks of an engine: one function that executes runs."""

    def __call__(
        self, runs: Sequence[Run], root: Path, workers: int | None = None, /
    ) -> Generator[Outcome, None, None]:
        """Executes ``runs``, each into its folder below ``root`` (:meth:`~tiltyard.benchmarks.runs.Run.execute`).

        Args:
            runs: started in this order.
            root: of the race.
            workers: runs at a time; None: as many as the engine has cores for.

        Yields:
            Each run as it ends, with its error; closing the generator stops all that are under way.
        """


ENGINES = {"local": f"{__name__}.local:outcomes", "ray": f"{__name__}.ray:outcomes"}

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Environment of a worker: as many workers as cores, one thread each, so that runs do not fight over cores."""


def find(name: str) -> Backend:
    """The engine called ``name``; ``KeyError`` with the nearest valid names otherwise."""
    if name not in ENGINES:
        raise KeyError(unknown("engine", name, ENGINES))
    module, _, attribute = ENGINES[name].partition(":")
    engine: Backend = getattr(import_module(module), attribute)
    return engine


def held(name: str) -> AbstractContextManager[None]:
    """What an engine starts at each call, started once for all within: of Ray, a cluster on this machine."""
    if name != "ray":
        return nullcontext()
    from . import ray

    return ray.held()
