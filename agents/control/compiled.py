"""``compiled=True``: the functions of which an update consists, turned into machine code by ``torch.compile``.

The compiler joins the small operations between the matrix products, on which an update otherwise spends a third of its
time (in bf16: half). It needs a C++ compiler, and half a minute the first time (seconds, once PyTorch has it in its
cache on disk); it pays from some ten thousand updates on. ``tests/agents/control/test_compiled.py`` holds what is
compiled to what is not.
"""

import shutil
from collections.abc import Callable
from typing import Any, TypeVar

import torch as th

Result = TypeVar("Result")


class Compiled:
    """Calls functions of networks and tensors, compiled when they are first called.

    Raises:
        RuntimeError: there is no C++ compiler.
    """

    def __init__(self) -> None:
        if not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
            raise RuntimeError("compiled=True needs a C++ compiler: install one (Debian: g++), or leave it out")
        self._made: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __call__(self, function: Callable[..., Result], *args: Any) -> Result:
        """``function(*args)``."""
        if function not in self._made:
            self._made[function] = th.compile(function, fullgraph=True, dynamic=False)
        found: Result = self._made[function](*args)
        return found
