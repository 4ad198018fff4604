"""From a description of lanes to a :class:`~.graph.LaneGraph`: what generators and readers both call."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt

from .graph import DRIVING, LaneGraph


@dataclass
class Lane:
    """A lane as a generator or a reader knows it.

    Attributes:
        id: unique in the map.
        middle: ``[n, 2]`` m, at least two points, in the direction of travel.
        width: m, one number or one a point.
        limit: m/s.
        successors: ids of the lanes that follow.
        left, right: id of the neighbour that may be changed into; ``""`` none; ``None``: found from the geometry.
        kind: of :mod:`.graph`.
        road: parallel lanes have the same; ``None``: found from the neighbours.
        junction: name of the junction it lies in, or ``""``.
        rank: of its road at a junction: where two lanes conflict, the higher goes first; equal: who comes first.
    """

    id: str
    middle: npt.ArrayLike
    width: float | npt.ArrayLike
    limit: float
    successors: Sequence[str] = ()
    left: str | None = None
    right: str | None = None
    kind: int = DRIVING
    road: str | None = None
    junction: str = ""
    rank: int = 0


@dataclass
class Signal:
    """A traffic light: seconds and colours of its phases, in turn, and how many seconds ago the first began at time 0."""

    id: str
    seconds: Sequence[float]
    colours: Sequence[int]
    offset: float = 0.0


@dataclass
class StopLine:
    """Where vehicles of a lane stop: ``s`` (negative: from the lane's end), what asks for it, and the signal's id."""

    lane: str
    s: float
    kind: int
    signal: str = ""


@dataclass
class Crossing:
    """A strip for pedestrians from ``a`` to ``b`` (m), and the id of the vehicles' signal that stops traffic there."""

    a: tuple[float, float]
    b: tuple[float, float]
    width: float = 3.0
    signal: str = ""


def build(
    name: str,
    lanes: Sequence[Lane],
    *,
    signals: Sequence[Signal] = (),
    stops: Sequence[StopLine] = (),
    crossings: Sequence[Crossing] = (),
    spacing: float = 2.0,
    source: str = "procedural",
) -> LaneGraph:
    """The graph of a description; what is not said is found from the geometry.

    Args:
        name: of the map.
        lanes: all of them.
        signals: all of them.
        stops: stop lines.
        crossings: for pedestrians.
        spacing: greatest distance of two points of a lane, m (points are added, none is moved).
        source: of :attr:`LaneGraph.source`.

    Raises:
        ValueError: an id twice, a lane or signal that is named and does not exist, a lane shorter than 0.1 m, numbers
            that are not finite; the sentence names the lane.
    """
    raise NotImplementedError
