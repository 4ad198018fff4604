"""A single junction of three or four roads: signalled, or ruled by stop signs."""

import math

import numpy as np

from ..graph import LaneGraph
from .curves import Pose, straight
from .draft import Draft, Road
from .junctions import Arm, Control, Turns, junction, reach


def arm_of(road: Road, at_end: bool, *, major: bool = True, crossing: bool = True) -> Arm:
    """The end or the beginning of a road as the arm of a junction."""
    into, out = (road.forward, road.backward) if at_end else (road.backward, road.forward)
    pose = road.line.end.turned(math.pi) if at_end else road.line.begin
    return Arm(pose, into, out, road.width, major, crossing)


def intersection(
    rng: np.random.Generator | int,
    *,
    control: Control = "signal",
    turns: Turns = "permitted",
    arms: int = 4,
    lanes: int = 0,
    length: float = 120.0,
    crossings: bool = True,
) -> LaneGraph:
    """Roads that meet in the middle of the map, open at their other ends.

    Args:
        rng: (or its seed) draws what is not given, widths, limits, green times and the angles between the roads.
        control: of :func:`~.junctions.junction`.
        turns: likewise.
        arms: 3 or 4.
        lanes: of each direction; 0: drawn from 1 and 2.
        length: of the roads, m.
        crossings: whether pedestrians cross.
    """
    if arms not in (3, 4):
        raise ValueError(f"an intersection has 3 or 4 arms, not {arms}")
    rng = np.random.default_rng(rng)
    count = lanes or int(rng.integers(1, 3))
    width = float(rng.uniform(3.25, 3.6))
    limit = float(rng.choice([30.0, 40.0, 50.0])) / 3.6
    angles = 0.5 * math.pi * np.arange(4) + rng.uniform(-0.12, 0.12, 4)
    skip = int(rng.integers(4)) if arms == 3 else -1
    draft = Draft("intersection")
    found = []
    for at, angle in enumerate(angles):
        if at != skip:
            others = [(float(one), count * width) for i, one in enumerate(angles) if i not in (at, skip)]
            far = reach(float(angle), count * width, others, width)
            line = straight(Pose(0.0, 0.0, float(angle)).ahead(far), length)
            road = draft.road("ENWS"[at], line, count, count, width=width, limit=limit)
            found.append(arm_of(road, False, major=at % 2 == 0 or control == "all-way-stop", crossing=crossings))
    junction(draft, "middle", found, control, turns=turns, green=float(rng.uniform(12.0, 20.0)))
    return draft.built()
