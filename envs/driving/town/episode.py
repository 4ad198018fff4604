"""What an agent of a policy has to do and how it is doing: one record for each, beside its record in the world."""

from typing import Any, Protocol, get_type_hints

import numpy as np

INFRACTIONS = (
    "",
    "collision",
    "struck",
    "red_light",
    "stop_sign",
    "off_road",
    "wrong_way",
    "off_route",
    "blocked",
    "late",
)
"""Names of ``Episode.infraction``: what ends an episode without success; the first means none. A collision is
``"struck"`` where it was the other's fault: it costs no penalty, and no success comes of it."""
COLLISION, STRUCK, RED_LIGHT, STOP_SIGN, OFF_ROAD, WRONG_WAY, OFF_ROUTE, BLOCKED, LATE = range(1, 10)
OFFENCES = ("", "outside_lanes", "speeding", "straddling", "right_of_way", "imposed_braking")
"""Names of ``Episode.offence``: what costs success without ending the episode; the first means none."""
OUTSIDE_LANES, SPEEDING, STRADDLING, RIGHT_OF_WAY, IMPOSED_BRAKING = 1, 2, 3, 4, 5
FACTORS = ("speed", "ttc", "gap", "comfort", "lane", "courtesy")
"""The soft factors of the reward, in the order of an agent's weights; the last weight is the penalty's."""
WEIGHTS = len(FACTORS) + 1
TERMS = ("route_completion", *FACTORS, "penalty")
"""Names of the reward's terms."""


class Episode(Protocol):
    """The task of one agent of a policy, its progress, and the terms of its last reward."""

    # The problem
    world: int
    agent: int  # in its world
    length: float  # m of the route
    budget: float  # s allowed for it
    limit: float  # m/s, the highest on the route
    patience: float  # s that it may stand
    # The episode
    left: float  # least m left so far
    clock: float
    straddle: float  # s across markings, run down while inside a lane
    last_v: float
    last_lon: float  # accelerations and yaw rate of the last policy step
    last_lat: float
    last_yaw: float
    struck: int  # collisions, faults, lights and signs counted so far
    faults: int
    reds: int
    stops: int
    infraction: int
    offence: int  # the first of the episode
    success: int
    noise: int  # key of the noise of its observations
    plan: int  # the lane that the scripted expert changes into, or NONE; nobody else reads it
    # The named terms of the last reward
    route_completion: float
    speed: float
    ttc: float
    gap: float
    comfort: float
    lane: float
    courtesy: float
    penalty: float
    reward: float


def _dtype(record: type[Any]) -> np.dtype[Any]:
    kinds = {float: "f8", int: "i8"}
    return np.dtype([(name, kinds[kind]) for name, kind in get_type_hints(record).items()], align=True)


EPISODE = _dtype(Episode)
