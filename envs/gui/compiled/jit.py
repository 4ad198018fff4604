"""How the compiled phone is compiled: as :mod:`tiltyard.envs.driving.compiled`, without counting references to arrays.

No function of the phone makes or keeps an array, so nothing has to be counted, which would cost more than the work.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from numba import config, njit

from ...numba_cache import guarded

P = ParamSpec("P")
T = TypeVar("T")


CONSTANTS = ("pool", "opcodes", "roles")
CONSTANTS_OF_PHONES = ("commands", "device", "elements", "icons", "paint", "render", "themes", "twists", "ui")


def _stamp() -> str:
    """A digest of the sources that end up in compiled code: of all that compile, and of where their constants are."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for path in sorted(here.glob("*.py")):
        source = path.read_bytes()
        digest.update(source if b".jit import" in source or path.stem in CONSTANTS else b"")
    for name in CONSTANTS_OF_PHONES:
        digest.update((here.parent / f"{name}.py").read_bytes())
    return digest.hexdigest()


_STAMP = _stamp()


def interpreted() -> bool:
    """Whether numba is told to compile nothing (``NUMBA_DISABLE_JIT=1``): slow, and good for looking at the code."""
    return bool(vars(config)["DISABLE_JIT"])


def _made(function: Any, **options: Any) -> Any:
    if interpreted():
        return function
    plain: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    return stamped(njit(**plain, **options)(function))


def stamped(made: Any) -> Any:
    """Has numba's disk cache look at all sources, not at one file alone, and one process at a time compile."""
    return guarded(made, _STAMP)


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compiles a function at its first call; the disk cache is stamped with all sources, not with its own alone."""
    return cast(Callable[P, T], _made(function))


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """The same for a small function, which becomes part of those that call it."""
    return cast(Callable[P, T], _made(function, forceinline=True))
