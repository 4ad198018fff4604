"""Levels of difficulty: whole numbers of a short list."""

from collections.abc import Iterable

import numpy as np

from .. import unknown


def check_level(level: object, levels: Iterable[int]) -> int:
    """Returns ``level`` if it is one of ``levels``; raises ``ValueError`` otherwise, also for ``"1"`` and ``True``."""
    levels = list(levels)
    if isinstance(level, bool) or not isinstance(level, int | np.integer):
        valid = ", ".join(map(str, levels))
        raise ValueError(
            f"unknown level {level!r:.50}; it is a whole number, not {type(level).__name__} (valid: {valid})"
        )
    if level not in levels:
        raise ValueError(unknown("level", level, map(str, levels)))
    return int(level)
