"""What a driving world is made of: two record types that NumPy stores, numba reads by name and mypy checks.

Positions are road coordinates: ``s`` metres along the middle of the rightmost lane, ``d`` metres to the left of it.
Everything is in SI units.
"""

from collections.abc import Sequence
from typing import Any, Protocol, get_type_hints

import numpy as np

SIM_DT = 0.1
"""Seconds of one simulation step."""
SUBSTEPS = 2
"""Simulation steps of one policy step (5 Hz)."""
STEP_DT = SIM_DT * SUBSTEPS
LANE_WIDTH = 3.6

INFRACTIONS = ("", "collision", "off_road", "wrong_way", "blocked", "late")
"""Names of ``WORLD.infraction``; the first means none."""
COLLISION, OFF_ROAD, WRONG_WAY, BLOCKED, LATE = 1, 2, 3, 4, 5
OFFENCES = ("", "outside_lanes", "speeding", "straddling")
"""Names of ``WORLD.offence``: what costs success without ending the episode; the first means none."""
OUTSIDE_LANES, SPEEDING, STRADDLING = 1, 2, 3


class Vehicle(Protocol):
    """One vehicle and its driver."""

    s: float
    d: float
    v: float
    a: float  # acceleration of the last simulation step
    slip: float  # lateral speed, to the left
    length: float
    width: float
    # IDM: desired speed v0, time headway T, maximal acceleration a, comfortable deceleration b
    desired: float
    headway: float
    accel: float
    brake: float
    politeness: float  # MOBIL p
    patience: float  # seconds until the driver next thinks about changing lane
    # Lanes taken: both while changing. Of the ego: the lanes that its body, and where it is heading, touch.
    lane: int
    target: int


Cars = Sequence[Vehicle]
"""All vehicles of a world, the ego first (at run time an array of records)."""


class World(Protocol):
    """A problem, its ego beyond the :class:`Vehicle` record, its episode, and the terms of the reward."""

    # The problem
    lanes: int
    vehicles: int  # with the ego
    limit: float
    density: float  # vehicles per km and lane
    length: float  # of the route
    budget: float  # seconds allowed for it
    ring: float  # length of the window of traffic that travels with the ego
    bend: float  # curvature k(s) = bend * sin(2 pi s / wave + phase)
    wave: float
    phase: float
    # The ego, beyond its VEHICLE record
    heading: float  # relative to the road
    steer: float
    pedal: float
    yaw_rate: float
    level: int  # of the meta-actions: target speed in tenths of the limit
    goal_lane: int  # of the meta-actions
    rank: int  # of the ego in the order of traffic
    plan: int  # the lane that the scripted expert is heading for; nobody else reads it
    # The episode
    clock: float
    best: float  # furthest s reached
    still: float  # seconds spent standing
    straddle: float  # seconds spent across markings, run down while inside a lane
    last_v: float
    last_lon: float  # accelerations and yaw rate of the last policy step
    last_lat: float
    last_yaw: float
    infraction: int
    offence: int  # the first of the episode
    success: int
    # The named terms of the last reward
    route_completion: float
    speed: float
    ttc: float
    gap: float
    comfort: float
    lane: float
    pace: float
    penalty: float
    reward: float


def record_dtype(record: type[Any]) -> np.dtype[Any]:
    """The NumPy type of a record: an aligned field for each annotated name, of 8 bytes unless ``Annotated`` says."""
    kinds: dict[Any, str] = {float: "f8", int: "i8"}
    hints = get_type_hints(record, include_extras=True)
    return np.dtype([(name, kinds.get(hint) or hint.__metadata__[0]) for name, hint in hints.items()], align=True)


VEHICLE = record_dtype(Vehicle)
WORLD = record_dtype(World)
