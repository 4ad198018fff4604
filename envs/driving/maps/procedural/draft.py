"""A map while it is drawn: roads of parallel lanes, and curves that connect their ends. Traffic keeps to the right."""

import math
from dataclasses import dataclass, field

from ..build import Crossing, Lane, Signal, StopLine, build
from ..graph import DRIVING, LaneGraph
from .curves import Line, Pose, turn

SWAY = 2.5  # m/s2: lateral acceleration at the limit of a turn


@dataclass
class Road:
    """Lanes of a two-way road, from the middle of the road outwards."""

    line: Line
    forward: list[str]
    backward: list[str]
    width: float  # m, of a lane
    limit: float  # m/s

    def reach(self, ahead: bool) -> float:
        """From the middle of the road to its edge, m, on the side of those who go forward or backward."""
        return self.width * len(self.forward if ahead else self.backward)


@dataclass
class Draft:
    """What has been drawn."""

    name: str
    lanes: dict[str, Lane] = field(default_factory=dict)
    lines: dict[str, Line] = field(default_factory=dict)
    signals: list[Signal] = field(default_factory=list)
    stops: list[StopLine] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)

    def lane(self, name: str, line: Line, *, width: float, limit: float, kind: int = DRIVING, road: str = "") -> str:
        """A lane outside junctions, without neighbours or successors as yet; returns its id."""
        self.lanes[name] = Lane(name, line.middle(), width, limit, [], "", "", kind, road or name)
        self.lines[name] = line
        return name

    def lanes_beside(self, road: str, line: Line, count: int, *, width: float, limit: float) -> list[str]:
        """Parallel lanes of one direction, the first with its left edge on ``line``, the others to its right."""
        names = [
            self.lane(f"{road}.{i}", line.beside(-(i + 0.5) * width), width=width, limit=limit, road=road)
            for i in range(count)
        ]
        for left, right in zip(names, names[1:], strict=False):
            self.lanes[left].right, self.lanes[right].left = right, left
        return names

    def road(self, name: str, line: Line, forward: int, backward: int, *, width: float, limit: float) -> Road:
        """A two-way road around a line."""
        return Road(
            line,
            self.lanes_beside(f"{name}+", line, forward, width=width, limit=limit),
            self.lanes_beside(f"{name}-", line.reversed(), backward, width=width, limit=limit),
            width,
            limit,
        )

    def follow(self, lane: str, after: str) -> None:
        """Says that a lane ends where another begins."""
        assert isinstance(self.lanes[lane].successors, list)
        self.lanes[lane].successors.append(after)  # type: ignore[attr-defined]

    def connect(self, lane: str, after: str, *, junction: str, rank: int) -> str:
        """A lane through a junction, from the end of a lane to the beginning of another; returns its id.

        Its limit is the lower one of both lanes, and that at which its arc takes 2.5 m/s2.
        """
        name = f"{junction}:{lane}>{after}"
        line, radius = turn(self.lines[lane].end, self.lines[after].begin)
        one, two = self.lanes[lane], self.lanes[after]
        limit = min(one.limit, two.limit, math.sqrt(SWAY * radius))
        width = min(float(one.width), float(two.width))  # type: ignore[arg-type]
        self.lanes[name] = Lane(name, line.middle(), width, limit, [after], "", "", DRIVING, name, junction, rank)
        self.lines[name] = line
        self.follow(lane, name)
        return name

    def end(self, lane: str) -> Pose:
        """Where a lane ends."""
        return self.lines[lane].end

    def built(self) -> LaneGraph:
        """The finished map."""
        return build(
            self.name, list(self.lanes.values()), signals=self.signals, stops=self.stops, crossings=self.crossings
        )
