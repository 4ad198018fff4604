"""Where the runs of a race are executed: this machine's cores, or a Ray cluster. Each engine is one function."""

from collections.abc import Callable, Generator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ... import unknown
from ..runs import Run

Outcome = tuple[Run, str | None]
"""A run that has ended, and its error in one sentence (None: it is finished)."""

BUSY = "another process is executing it"
"""The error of a run that another race (or ``tiltyard train``) is at."""

Engine = Callable[[Sequence[Run], Path, int | None], Generator[Outcome, None, None]]
"""``(runs, root, workers) -> outcomes`` as runs end; starts runs in the given order, closing it stops them all."""

ENGINES = {"local": f"{__name__}.local:outcomes", "ray": f"{__name__}.ray:outcomes"}

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Environment of a worker: as many workers as cores, one thread each, so that runs do not fight over cores."""


def find(name: str) -> Engine:
    """The engine called ``name``; ``KeyError`` with the nearest valid names otherwise."""
    if name not in ENGINES:
        raise KeyError(unknown("engine", name, ENGINES))
    module, _, attribute = ENGINES[name].partition(":")
    engine: Any = getattr(import_module(module), attribute)
    return engine  # type: ignore[no-any-return]
