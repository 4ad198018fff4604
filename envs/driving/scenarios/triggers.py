"""Triggers: situations that test one skill of the agent, as data, and the places of a map where they fit.

A row says what a place must offer and which actors play what, relative to the agent's way; nothing here moves anything.
The situations are those of the CARLA leaderboard 2.0 that Bench2Drive tests one by one.

Paper: Jia et al., Bench2Drive: Towards Multi-Ability Benchmarking of Closed-Loop End-To-End Autonomous Driving (2024),
table 6 (the situations); numbers are ours.
"""

from dataclasses import dataclass
from typing import Literal

from ...seeding import Split

Where = Literal["road", "junction", "crossing"]
Role = Literal["own", "left", "right", "oncoming", "crossing-left", "crossing-right", "opposite", "after", "strip"]
Body = Literal["car", "lorry", "bicycle", "person", "barrier"]
Play = Literal[
    "stand", "drive", "brake", "change-left", "change-right", "pull-out", "open-door", "walk", "rush", "swerve"
]


@dataclass(frozen=True)
class Fit:
    """What a place must offer.

    Attributes:
        where: along a road, through a junction, or where pedestrians cross.
        before: m of the agent's lane before the place, at least.
        after: m of it behind the place (of a road), at least.
        limits: m/s, lowest and highest limit of the agent's lane.
        beside: which lane there must be: a neighbour to the left or right, or one of oncoming traffic; ``""``: any.
        alone: there is no neighbour to the left.
        turn: of the agent in the junction: ``left``, ``right``, ``straight`` or ``""`` for any.
        rule: of the junction for the agent: ``signal``, ``sign`` (it has to stop or give way), ``priority`` (it has no
            stop line) or ``""`` for any.
        meets: the way through the junction that must cross the agent's: ``crossing-left``, ``crossing-right`` (from
            which side it comes), ``opposite``, or ``""``.
        turned: the agent has just turned when it comes to the crossing.
    """

    where: Where
    before: float
    after: float = 0.0
    limits: tuple[float, float] = (0.0, 100.0)
    beside: Literal["", "left", "right", "oncoming"] = ""
    alone: bool = False
    turn: Literal["", "left", "right", "straight"] = ""
    rule: Literal["", "signal", "sign", "priority"] = ""
    meets: Literal["", "crossing-left", "crossing-right", "opposite"] = ""
    turned: bool = False


@dataclass(frozen=True)
class Actor:
    """Who takes part.

    Attributes:
        body: what it is.
        on: its lane: the agent's own, one beside it, one whose way through the junction crosses the agent's, the one
            behind the junction, or a strip for pedestrians.
        ahead: m along its lane from the place (of lanes that cross: from the point where the ways meet; behind a
            junction: from its end). Negative: before it, if need be on the lanes that lead there.
        aside: m to the left of its lane's middle.
        pace: its speed as a share of the limit, and of a walker in m/s.
        first: what it does until the agent comes near.
        then: what it does from then on.
        near: m of the agent's way from its front to the place at which that happens.
        seconds: of what it then does; 0: for good.
        count: of such actors, ``ahead`` 9 m apart against their direction.
    """

    body: Body
    on: Role
    ahead: float
    aside: float = 0.0
    pace: float = 0.0
    first: Play = "stand"
    then: Play = "stand"
    near: float = 0.0
    seconds: float = 0.0
    count: int = 1


@dataclass(frozen=True)
class Trigger:
    """A row.

    Attributes:
        skill: what is tested: ``merging``, ``overtaking``, ``braking``, ``giving way`` or ``traffic sign``.
        fit: where it can happen.
        actors: who takes part.
        split: triggers of the test split are never met in training.
    """

    skill: str
    fit: Fit
    actors: tuple[Actor, ...]
    split: Split = "train"


EDGE = -1.3  # m: at the right edge of a lane
PARKED = -2.6  # m: half on the pavement
CITY = (0.0, 17.0)  # m/s
FAST = (20.0, 100.0)

TRIGGERS: dict[str, Trigger] = {
    # Along a road
    "cut-in": Trigger(
        "merging",
        Fit("road", 45.0, 40.0, beside="left"),
        (Actor("car", "left", -24.0, pace=0.8, first="drive", then="change-right", near=42.0),),
    ),
    "static-cut-in": Trigger(
        "merging",
        Fit("road", 40.0, 40.0, CITY, beside="right"),
        (
            Actor("car", "right", 12.0, count=4),
            Actor("car", "right", 21.0, then="change-left", pace=0.5, near=30.0),
        ),
    ),
    "parking-cut-in": Trigger(
        "merging",
        Fit("road", 50.0, 40.0, CITY),
        (Actor("car", "own", 0.0, PARKED, pace=0.6, then="pull-out", near=28.0),),
    ),
    "highway-cut-in": Trigger(
        "merging",
        Fit("road", 100.0, 150.0, FAST, beside="right"),
        (Actor("car", "right", -60.0, pace=0.75, first="drive", then="change-left", near=90.0),),
        split="test",
    ),
    "slow-traffic": Trigger(
        "merging",
        Fit("road", 100.0, 150.0, FAST, beside="left"),
        (Actor("lorry", "own", 0.0, pace=0.45, first="drive", then="drive", count=3),),
    ),
    "parked-obstacle": Trigger(
        "overtaking", Fit("road", 45.0, 35.0, CITY, beside="left"), (Actor("car", "own", 0.0, EDGE),)
    ),
    "parked-obstacle-two-ways": Trigger(
        "overtaking",
        Fit("road", 45.0, 35.0, CITY, beside="oncoming", alone=True),
        (Actor("car", "own", 0.0, EDGE), Actor("car", "oncoming", -60.0, pace=0.8, first="drive", then="drive")),
    ),
    "construction": Trigger(
        "overtaking", Fit("road", 45.0, 40.0, beside="left"), (Actor("barrier", "own", 18.0, count=3),)
    ),
    "accident": Trigger(
        "overtaking",
        Fit("road", 45.0, 40.0, beside="left"),
        (Actor("car", "own", 8.0, 0.3), Actor("car", "own", 0.0, -0.5)),
        split="test",
    ),
    "slow-bicycles": Trigger(
        "overtaking",
        Fit("road", 50.0, 60.0, CITY),
        (Actor("bicycle", "own", 0.0, EDGE, pace=0.3, first="drive", then="drive", count=2),),
    ),
    "door-opening": Trigger(
        "braking",
        Fit("road", 50.0, 30.0, CITY),
        (Actor("car", "own", 0.0, PARKED, then="open-door", near=22.0, seconds=6.0),),
    ),
    "hard-brake": Trigger(
        "braking",
        Fit("road", 45.0, 40.0),
        (Actor("car", "own", -25.0, pace=0.9, first="drive", then="brake", near=42.0, seconds=4.0),),
    ),
    "pedestrian-behind-car": Trigger(
        "braking",
        Fit("road", 50.0, 25.0, CITY),
        (
            Actor("car", "own", -5.0, PARKED),
            Actor("person", "own", 0.0, -3.6, pace=1.8, then="walk", near=24.0),
        ),
    ),
    "oncoming-swerve": Trigger(
        "braking",
        Fit("road", 60.0, 50.0, CITY, beside="oncoming", alone=True),
        (Actor("car", "oncoming", -70.0, pace=0.8, first="drive", then="swerve", near=45.0, seconds=3.0),),
        split="test",
    ),
    "emergency-vehicle": Trigger(
        "giving way",
        Fit("road", 45.0, 40.0, beside="right"),
        (Actor("lorry", "own", -80.0, pace=1.4, first="drive", then="rush", near=40.0),),
    ),
    # At junctions
    "unprotected-left": Trigger(
        "traffic sign",
        Fit("junction", 30.0, turn="left", rule="signal", meets="opposite"),
        (Actor("car", "opposite", -30.0, pace=0.9, first="drive", then="drive", count=4),),
    ),
    "stop-sign-left": Trigger(
        "traffic sign",
        Fit("junction", 30.0, turn="left", rule="sign", meets="crossing-left"),
        (Actor("car", "crossing-left", -30.0, pace=0.9, first="drive", then="drive", count=3),),
    ),
    "right-turn-into-flow": Trigger(
        "merging",
        Fit("junction", 30.0, turn="right", meets="crossing-left"),
        (Actor("car", "crossing-left", -25.0, pace=0.9, first="drive", then="drive", count=3),),
    ),
    "red-light-runner": Trigger(
        "braking",
        Fit("junction", 30.0, turn="straight", rule="signal", meets="crossing-left"),
        (Actor("car", "crossing-left", -35.0, then="rush", pace=1.0, near=35.0),),
    ),
    "priority-taker": Trigger(
        "braking",
        Fit("junction", 30.0, turn="straight", rule="priority", meets="crossing-right"),
        (Actor("car", "crossing-right", -20.0, then="rush", pace=0.8, near=28.0),),
        split="test",
    ),
    "blocked-exit": Trigger(
        "braking",
        Fit("junction", 30.0, turn="right"),
        (Actor("lorry", "after", 10.0, seconds=8.0, then="drive", near=15.0, pace=0.6),),
    ),
    # Where pedestrians cross
    "pedestrian-crossing": Trigger(
        "braking", Fit("crossing", 40.0), (Actor("person", "strip", 0.0, pace=1.4, then="walk", near=30.0, count=3),)
    ),
    "turn-to-pedestrian": Trigger(
        "braking",
        Fit("crossing", 0.0, turned=True),
        (Actor("person", "strip", 0.0, pace=1.5, then="walk", near=18.0),),
        split="test",
    ),
}
"""By name."""
