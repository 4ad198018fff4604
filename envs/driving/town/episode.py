"""What an agent of a policy has to do and how it is doing: one record for each, beside its record in the world."""

from typing import Protocol

from ..state import record_dtype
from .state import Byte, Short, Whole

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
OUTCOMES = (*TERMS, "reward")
"""What a policy step comes to, in the order in which :func:`.reward.judge` writes it."""


class Episode(Protocol):
    """The task of one agent of a policy, and its progress."""

    # The problem
    length: float  # m of the route
    budget: float  # s allowed for it
    limit: float  # m/s, the highest on the route
    patience: float  # s that it may stand
    noise: int  # key of the noise of its observations
    # The episode
    left: float  # least m left so far
    clock: float
    straddle: float  # s across markings, run down while inside a lane
    last_v: float
    last_lon: float  # accelerations and yaw rate of the last policy step
    last_lat: float
    last_yaw: float
    # Totals, and what they are made of: see .account
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
    charged: float  # the sum of CARLA's coefficients of all infractions
    follower_accel: float  # m/s2, of who is behind; NaN: nobody
    follower_without: float  # and what it would be were this one not there
    hardest: float  # m/s2 of imposed braking
    slowed: float  # m/s2: the most of it in the present policy step
    # Numbers, by size, so that records have no gaps: who it is, and totals
    world: Whole
    begun: Whole  # tick of its world
    ticks: Whole  # since then
    noted: Whole  # events of this policy step that are in the totals
    hard: Whole  # ticks in which imposed braking was over 4
    agent: Short  # in its world
    struck: Short  # collisions, faults, lights and signs counted so far
    faults: Short
    reds: Short
    stops: Short
    hits: Short
    guilty: Short
    lights: Short
    signs: Short
    infraction: Byte
    offence: Byte  # the first of the episode
    success: Byte
    counted: Byte  # 1: a collision that CARLA counts


class Advice(Protocol):
    """What the scripted expert remembers of one agent's episode, from one question to the next."""

    said_x: float  # its last action
    said_y: float
    said_z: float
    waited: float  # s at the line ahead
    noise: int  # of the episode that this is about, which tells it from others
    asked: Whole  # tick of its last action
    plan: Whole  # the lane that it changes into, or NONE
    tight: Byte  # 1: that change of lane began near the end of its lane
    ready: Byte  # 1: it stood first before a junction
    jammed: Byte  # what kept it from going in, as Agent.jammed


EPISODE, ADVICE = record_dtype(Episode), record_dtype(Advice)
