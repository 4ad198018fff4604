"""Parameters that change while an agent learns: a function of progress, or a small schedule that checkpoints keep."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from .. import unknown

Shape = Callable[[float], float]

SHAPES: dict[str, Shape] = {
    "linear": lambda progress: progress,
    "cosine": lambda progress: (1 - math.cos(math.pi * progress)) / 2,
    "step": lambda progress: float(progress >= 1),
}
"""How far from start to end, by how far from ``begin`` to ``finish``."""


def is_schedule(value: Any) -> bool:
    """Whether ``value`` is a function of progress, or says one: ``{"schedule": "linear", "start": 1, "end": 0}``."""
    return (isinstance(value, Mapping) and "schedule" in value) or (callable(value) and not isinstance(value, type))


def at(value: Any, progress: float) -> Any:
    """The value at ``progress`` (0 to 1) of a call of ``learn``; what is no schedule is itself.

    A schedule by name has ``start`` and ``end``, and goes from one to the other between ``begin`` and ``finish`` of
    progress (0 and 1 unless it says so): linearly, along half a cosine, or in one step at ``finish``.

    >>> at({"schedule": "linear", "start": 1.0, "end": 0.0}, 0.25), at(lambda progress: 2 * progress, 0.5), at(3, 0.5)
    (0.75, 1.0, 3)

    Raises:
        ValueError: a schedule that is not so.
    """
    if not is_schedule(value):
        return value
    if not isinstance(value, Mapping):
        return value(progress)
    given = dict(value)
    name, begin, finish = given.pop("schedule"), given.pop("begin", 0.0), given.pop("finish", 1.0)
    if name not in SHAPES:
        raise ValueError(unknown("schedule", str(name), SHAPES))
    if set(given) != {"start", "end"} or not 0 <= begin <= finish <= 1:
        raise ValueError(f"a schedule has start, end and 0 <= begin <= finish <= 1, got {dict(value)}")
    span = finish - begin
    share = min(max((progress - begin) / span, 0.0), 1.0) if span > 0 else float(progress >= finish)
    return given["start"] + (given["end"] - given["start"]) * SHAPES[name](share)
