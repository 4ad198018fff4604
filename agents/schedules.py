"""Parameters that change while an agent learns: a function of progress, or a small schedule that checkpoints keep."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

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
    numbers = all(isinstance(one, int | float | np.number) for one in (begin, finish, *given.values()))
    if set(given) != {"start", "end"} or not numbers or not 0 <= begin <= finish <= 1:
        raise ValueError(f"a schedule has numbers start, end and 0 <= begin <= finish <= 1, got {dict(value)}")
    span = finish - begin
    share = min(max((progress - begin) / span, 0.0), 1.0) if span > 0 else float(progress >= finish)
    return given["start"] + (given["end"] - given["start"]) * SHAPES[name](share)


POINTS = 1025
"""Values that stand for a function of progress: a power of 2 and one, so that halves and quarters are met exactly."""


class TableSchedule:
    """A function of progress as its values at evenly spaced points from 0 to 1, linear between them.

    It is how checkpoints keep a function: by what it returns, without its code.

    Args:
        values: at progress 0, ..., 1.
        name: of the function that they are of.

    Raises:
        ValueError: fewer than two values.
    """

    def __init__(self, values: Sequence[float], name: str = "table") -> None:
        if len(values) < 2:
            raise ValueError(f"a table of a function has at least two values, got {len(values)}")
        self.values = [float(value) for value in values]
        self.__name__ = name
        self._points = np.linspace(0.0, 1.0, len(values))

    def __call__(self, progress: float) -> float:
        """The value at ``progress``; beyond 0 and 1 the nearer of the two ends."""
        return float(np.interp(progress, self._points, self.values))

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` has the same values."""
        return isinstance(other, TableSchedule) and self.values == other.values

    __hash__ = None  # type: ignore[assignment]


def tabulated(function: Callable[[float], Any], name: str) -> tuple[list[float], float]:
    """What a function of progress returns from 0 to 1, and how far linear interpolation errs between the points.

    Two values are enough for a straight line, for which the error is 0; all others have :data:`POINTS`.

    Args:
        function: of one number.
        name: of the setting, for messages.

    Raises:
        TypeError: it returns something else than finite numbers.
    """
    between = (np.arange(POINTS - 1) + 0.5) / (POINTS - 1)
    found = [[function(float(at)) for at in points] for points in (np.linspace(0.0, 1.0, POINTS), between)]
    if not all(isinstance(one, int | float | np.number) and math.isfinite(one) for part in found for one in part):
        raise TypeError(f"{name} is a function that does not return a finite number for every progress from 0 to 1")
    values, inside = (np.array(part, np.float64) for part in found)
    line = np.linspace(values[0], values[-1], POINTS)
    if np.allclose(values, line, rtol=1e-9, atol=1e-12 * float(np.abs(values).max())):
        values = values[[0, -1]]
    error = np.abs(inside - np.interp(between, np.linspace(0.0, 1.0, len(values)), values)).max()
    return values.tolist(), float(error)


OF_REMAINING = ("learning_rate", "clip_range", "clip_range_vf")
"""Keywords of Stable-Baselines3 that may be functions of the progress that remains, from 1 to 0."""


def of_remaining(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a control agent, with schedules by name of :data:`OF_REMAINING` as functions of what remains.

    >>> settings = of_remaining({"learning_rate": {"schedule": "linear", "start": 1.0, "end": 0.0}})
    >>> rate = settings["learning_rate"]
    >>> rate(0.25)
    0.25

    Raises:
        ValueError: a schedule that is not so.
    """
    return {
        name: _remaining(value) if name in OF_REMAINING and isinstance(value, Mapping) and is_schedule(value) else value
        for name, value in settings.items()
    }


def _remaining(value: Mapping[str, Any]) -> Shape:
    at(value, 0.0)  # refuses what is none
    return lambda remaining: float(at(value, 1.0 - remaining))
