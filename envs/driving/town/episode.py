"""What an agent of a policy has to do and how it is doing: one record for each, beside its record in the world."""

from typing import Protocol

from ..state import record_dtype

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
    # Totals, and what they are made of: see .account
    begun: int  # tick of its world
    ticks: int  # since then
    noted: int  # events of this policy step that are in the totals
    at_x: float  # where it is, m
    at_y: float
    progress: float  # m along the route, may fall back
    furthest: float  # the most of that
    gained: float  # m that this has grown by
    strayed: float  # of these, off the route's lanes
    driven: float  # m
    ahead: float  # m moved in the last tick in the direction of its lane
    quarter: float  # m of the route at which the present quarter began
    own_speed: float  # sums over the states of that quarter with traffic about
    their_speed: float
    traffic: float  # m/s, mean of the others now; NaN: there are none
    lacking: float  # over the quarters so far, what its speed lacked of the traffic's, as shares
    hits: int
    guilty: int
    counted: int  # 1: a collision that CARLA counts
    lights: int
    signs: int
    charged: float  # the sum of CARLA's coefficients of all infractions
    follower_accel: float  # m/s2, of who is behind; NaN: nobody
    follower_without: float  # and what it would be were this one not there
    hardest: float  # m/s2 of imposed braking
    hard: int  # ticks in which that was over 4
    slowed: float  # m/s2: the most of it in the present policy step
    plan: int  # the lane that the scripted expert changes into, or NONE; nobody else reads it
    tight: int  # 1: that change began near the end of its lane
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


EPISODE = record_dtype(Episode)
