"""A map: lanes with their shape and rules, as immutable columns that all worlds share and compiled code reads.

Units are SI; x, y is a right-handed plane (counter-clockwise angles, in radians), ``s`` runs along a lane's middle from
its beginning. Lists of lists are stored one after the other: those of lane ``i`` are ``first[i]`` to ``first[i + 1]``.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]

DRIVING, SHOULDER, CYCLING, WALKING = 0, 1, 2, 3
"""Kinds of lanes, ``Columns.kind``."""
SIGNAL, STOP_SIGN, GIVE_WAY = 1, 2, 3
"""What a stop line asks for, ``Columns.stop_kind``."""
RED, AMBER, GREEN = 0, 1, 2
"""Colours of a signal, ``Columns.colour``."""
NONE = -1
"""No lane, junction, signal or road."""


class Columns(NamedTuple):
    """All of a map that compiled code needs: L lanes, P points, K stop lines, G signals, X crossings.

    A tuple of arrays, so that it can be handed to compiled functions as it is; the arrays are read-only.
    """

    # Lanes [L]
    kind: I8
    length: F32  # m
    limit: F32  # m/s
    left: I32  # the lane that a vehicle may change into, of the same direction; or NONE
    right: I32
    road: I32  # parallel lanes of one direction between two ends have the same number
    junction: I32  # the junction that a lane lies in, or NONE
    # Points of the middles of all lanes [P]; those of a lane are first[i] to first[i + 1], at least two
    first: I32  # [L + 1]
    x: F32
    y: F32
    s: F32  # of its lane
    heading: F32  # of the segment that begins here (a lane's last point has that of the segment before)
    curvature: F32  # 1/m, positive to the left
    width: F32  # m, of the lane here
    lane: I32  # that the point is of
    # Which lanes follow and precede
    next_first: I32  # [L + 1]
    next_lane: I32
    previous_first: I32  # [L + 1]
    previous_lane: I32
    # Conflicts: where the area of a lane is shared with that of another that neither precedes nor runs beside it
    conflict_first: I32  # [L + 1]
    conflict_lane: I32  # the other
    conflict_begin: F32  # s on this lane where the shared area begins
    conflict_end: F32
    conflict_other_begin: F32  # the same on the other lane
    conflict_other_end: F32
    conflict_priority: I8  # 1: this lane goes first, -1: it gives way, 0: who comes first (signals rule before all)
    # Stop lines [K], sorted by lane, then s
    stop_first: I32  # [L + 1]
    stop_s: F32
    stop_kind: I8
    stop_signal: I32  # the signal that rules it, or NONE
    # Signals [G]: each goes through its colours again and again, from its offset on
    phase_first: I32  # [G + 1]
    phase_seconds: F32
    colour: I8
    signal_offset: F32  # [G] s
    # Crossings of pedestrians [X]: a strip from (ax, ay) to (bx, by)
    crossing: F32  # [X, 5]: ax, ay, bx, by, width
    crossing_signal: I32  # [X] pedestrians go while it is RED for vehicles; NONE: they have priority whenever they go
    crossing_first: I32  # [X + 1]
    crossing_lane: I32  # lanes that the strip covers,
    crossing_begin: F32  # and from which s
    crossing_end: F32  # to which
    # Segments by place: those that touch cell (i, j) are grid_first[i * ny + j] to grid_first[i * ny + j + 1]
    grid_origin: F32  # [2] m
    grid_cell: F32  # [1] m
    grid_shape: I32  # [2] nx, ny
    grid_first: I32  # [nx ny + 1]
    grid_point: I32  # the point at which the segment begins


@dataclass(frozen=True)
class LaneGraph:
    """A map and what people call its parts.

    Attributes:
        name: of the map, such as ``town`` or ``Town03``.
        columns: what compiled code reads.
        lane_ids: of the lanes, as the file or the generator names them, ``[L]``.
        source: where it comes from: ``procedural``, or a path.
    """

    name: str
    columns: Columns
    lane_ids: tuple[str, ...]
    source: str = "procedural"
    notes: dict[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for column in self.columns:
            column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.lane_ids)

    def points(self, lane: int) -> F32:
        """The middle of a lane, ``[n, 2]``."""
        span = slice(self.columns.first[lane], self.columns.first[lane + 1])
        return np.stack([self.columns.x[span], self.columns.y[span]], axis=1)

    def successors(self, lane: int) -> I32:
        """Lanes that follow a lane."""
        return self.columns.next_lane[self.columns.next_first[lane] : self.columns.next_first[lane + 1]]

    def conflicts(self, lane: int) -> I32:
        """Lanes that share area with a lane; those that it gives way to, goes before, or neither."""
        return self.columns.conflict_lane[self.columns.conflict_first[lane] : self.columns.conflict_first[lane + 1]]
