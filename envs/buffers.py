"""Memory of large observations that is used again once all who hold them have let go of them."""

import math
import weakref
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

SMALLEST = 1 << 19
"""Bytes below which an array is simply made anew: the allocator hands such memory out again itself."""
KEPT = 4
"""Blocks that are kept for later."""


class Buffers:
    """Arrays whose memory comes back here when neither they nor a view of them is held any more.

    A fresh array of some megabytes is new memory of the operating system, which clears it page by page: in a step that
    returns rasters, a fifth to a third of its time. Whoever keeps an observation keeps it unchanged; its memory is then
    not used again. A copy (or pickle) of an environment has an empty store.
    """

    def __init__(self) -> None:
        self._free: deque[bytearray] = deque(maxlen=KEPT)

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of any content, as of ``np.empty``."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if size < SMALLEST:
            return np.empty(shape, kind)
        block = next((one for one in self._free if len(one) == size), None)
        if block is None:
            block = bytearray(size)
        else:
            self._free.remove(block)
        # Views of an array over foreign memory keep that array alive (their base), so its end is the end of them all.
        whole = np.frombuffer(block, kind)
        weakref.finalize(whole, self._free.append, block).atexit = False
        return whole.reshape(shape)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: nothing."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
