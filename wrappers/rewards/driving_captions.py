"""What a driving scene looks like, in words that the simulator writes from its own state.

A scene has a value of each attribute; a caption says some of them, a sentence each, and is true of every scene that has
those values. So captions have an exact answer to which pictures they fit, where captions of the web have none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..driving import Array, seen

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Attribute(NamedTuple):
    """Something to be said of a scene: a sentence for each value."""

    name: str
    sentences: tuple[str, ...]


ATTRIBUTES = (
    Attribute(
        "accident",
        ("the road is clear with no car accidents", "two cars have collided with each other on the road"),
    ),
    Attribute(
        "ahead",
        ("nobody drives ahead", "a vehicle drives ahead", "a vehicle is just in front of the car"),
    ),
    Attribute("people", ("no people are near", "people are near")),
    Attribute("line", ("no stop line is near", "the stop line is open", "the stop line is closed")),
    Attribute("lane", ("the car keeps the middle of its lane", "the car is off the middle of its lane")),
    Attribute("speed", ("the car stands", "the car drives slowly", "the car drives fast")),
)
"""The first is that of VLM-RL's goals, word for word."""
WORDS = tuple(sorted({word for one in ATTRIBUTES for sentence in one.sentences for word in sentence.split()}))
"""The vocabulary of captions."""
GOALS = ATTRIBUTES[0].sentences
"""What is wanted, and what is not."""
IN_FRONT, AHEAD, NEAR, LINE = 6.0, 25.0, 12.0, 25.0  # m
OFF = 0.4  # m from the middle of the lane
STANDS, SLOW = 0.5, 5.0  # m/s


def describe(observations: Array, infractions: Array) -> Ints:
    """The value of each attribute ``[n, 6]`` of scenes with observations ``[n, 233]``, ended by ``[n]`` infractions."""
    at = seen(observations)
    there = at.others[:, :, 0] > 0.5
    far = 80.0 * np.hypot(at.others[:, :, 1], at.others[:, :, 2])
    people = (there & (at.others[:, :, 9] < 0.5) & (far < NEAR)).any(axis=1)
    line = np.where(at.line < LINE, np.where(at.stop, 2, 1), 0)
    columns = [
        np.isin(infractions, ("collision", "struck")),
        np.where(at.gap < IN_FRONT, 2, np.where(at.gap < AHEAD, 1, 0)),
        people,
        line,
        np.abs(at.offset) > OFF,
        np.where(at.speed < STANDS, 0, np.where(at.speed < SLOW, 1, 2)),
    ]
    return np.stack(columns, axis=1).astype(np.int64)


def caption(values: Sequence[int] | Ints, told: Sequence[bool] | Bools) -> str:
    """The sentences of the attributes that are ``told``, in their order.

    Raises:
        ValueError: none is.
    """
    words = [one.sentences[int(value)] for one, value, say in zip(ATTRIBUTES, values, told, strict=True) if say]
    if not words:
        raise ValueError("a caption says something")
    return " and ".join(words)


def true_of(values: Ints, said: Ints, told: Bools) -> Bools:
    """Whether caption j is true of scene i, ``[n, m]``: all that it says of its values ``said[j]`` holds."""
    agree = values[:, None, :] == said[None, :, :]
    held: Bools = (agree | ~told[None, :, :]).all(axis=2)
    return held
