"""Triggers: situations that test one skill of the agent, as data, and the places of a map where they fit.

A row says what a place must offer and which actors play what, relative to the agent's way; :mod:`.stages` puts rows on
maps, and :mod:`..town.scripts` plays them.
The situations are those of the CARLA leaderboard 2.0 that Bench2Drive tests one by one.

Paper: Jia et al., Bench2Drive: Towards Multi-Ability Benchmarking of Closed-Loop End-To-End Autonomous Driving (2024),
table 6 (the situations); numbers are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .... import unknown
from ...seeding import Split

HeldOut = Literal["maps", "triggers"]
Where = Literal["road", "junction", "crossing"]
Role = Literal["own", "left", "right", "oncoming", "crossing-left", "crossing-right", "opposite", "after", "strip"]
Body = Literal["car", "lorry", "bicycle", "person", "barrier"]
Play = Literal[
    "stand", "keep", "drive", "brake", "change-left", "change-right", "pull-out", "open-door", "walk", "rush", "swerve"
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
        kerb: there is no neighbour to the right.
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
    kerb: bool = False
    turn: Literal["", "left", "right", "straight"] = ""
    rule: Literal["", "signal", "sign", "priority"] = ""
    meets: Literal["", "crossing-left", "crossing-right", "opposite"] = ""
    turned: bool = False


@dataclass(frozen=True)
class Actor:
    """Who takes part; how it is played: :mod:`..town.scripts`.

    Attributes:
        body: what it is.
        on: its lane: the agent's own, one beside it, one whose way through the junction crosses the agent's, the one
            behind the junction, or a strip for pedestrians.
        ahead: m along its lane from the place (of lanes that cross: from the point where the ways meet; behind a
            junction: from its end), where it stands. Negative: before it, if need be on the lanes that lead there.
        aside: m to the left of its lane's middle.
        pace: its speed as a share of the limit, and of a walker in m/s.
        first: what it does until the agent comes near: ``stand``, or ``keep``: the agent's pace.
        then: what it does from then on.
        near: m of the agent's way from its front to the place at which that happens,
        eta: and s of it at the agent's speed, which are added.
        seconds: of what it then does; 0: for good, or until it is done.
        lead: of who keeps pace: m that it is ahead of the agent on the way to the place, negative: behind,
        lag: and s at the agent's speed, which are added.
        count: of such actors.
        apart: m between them, against their direction.
    """

    body: Body
    on: Role
    ahead: float = 0.0
    aside: float = 0.0
    pace: float = 0.0
    first: Literal["stand", "keep"] = "stand"
    then: Play = "stand"
    near: float = 30.0
    eta: float = 0.0
    seconds: float = 0.0
    lead: float = 0.0
    lag: float = 0.0
    count: int = 1
    apart: float = 9.0


@dataclass(frozen=True)
class Trigger:
    """A row.

    Attributes:
        skill: what is tested: ``merging``, ``overtaking``, ``braking``, ``giving way`` or ``traffic sign``.
        fit: where it can happen.
        actors: who takes part.
        hazard: who drives on regardless hits somebody.
        split: triggers of the test split are never met in training.
    """

    skill: str
    fit: Fit
    actors: tuple[Actor, ...]
    hazard: bool = True
    split: Split = "train"


EDGE = -0.6  # m: at the right edge of a lane, and in the way
NARROW = -2.15  # m: with two wheels on the road, just not in the way
PARKED = -2.5  # m: half on the pavement
PAVEMENT = -3.4  # m
CITY = (0.0, 17.0)  # m/s
FAST = (20.0, 100.0)
ANY_TIME = 1e6  # m: from the beginning

TRIGGERS: dict[str, Trigger] = {
    # Along a road
    "cut-in": Trigger(
        "merging",
        Fit("road", 45.0, 40.0, beside="left"),
        (Actor("car", "left", pace=0.45, first="keep", then="change-right", near=40.0, lead=11.0, lag=0.4),),
    ),
    "static-cut-in": Trigger(
        "merging",
        Fit("road", 45.0, 40.0, CITY, beside="right"),
        (
            Actor("car", "right", -9.0, count=3),
            Actor("car", "right", pace=0.4, then="change-left", near=4.0, eta=1.8),
        ),
    ),
    "parking-cut-in": Trigger(
        "merging",
        Fit("road", 50.0, 40.0, CITY, kerb=True),
        (Actor("car", "own", 0.0, PARKED, pace=0.4, then="pull-out", near=4.0, eta=1.8),),
    ),
    "highway-cut-in": Trigger(
        "merging",
        Fit("road", 100.0, 150.0, FAST, beside="right"),
        (Actor("car", "right", pace=0.45, first="keep", then="change-left", near=60.0, lead=14.0, lag=0.5),),
        split="test",
    ),
    "slow-traffic": Trigger(
        "merging",
        Fit("road", 100.0, 150.0, FAST, beside="left"),
        (Actor("lorry", "own", pace=0.45, then="drive", near=ANY_TIME, count=3, apart=30.0),),
    ),
    "parked-obstacle": Trigger(
        "overtaking", Fit("road", 45.0, 35.0, CITY, beside="left"), (Actor("car", "own", 0.0, EDGE),)
    ),
    "parked-obstacle-two-ways": Trigger(
        "overtaking",
        Fit("road", 45.0, 35.0, CITY, beside="oncoming", alone=True, kerb=True),
        (Actor("car", "own", 0.0, NARROW), Actor("car", "oncoming", pace=0.8, first="keep", then="drive")),
        hazard=False,
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
        (Actor("bicycle", "own", pace=0.3, then="drive", near=ANY_TIME, count=2),),
    ),
    "door-opening": Trigger(
        "braking",
        Fit("road", 50.0, 30.0, CITY, kerb=True),
        (Actor("car", "own", 0.0, PARKED, then="open-door", near=4.0, eta=1.8, seconds=6.0),),
    ),
    "hard-brake": Trigger(
        "braking",
        Fit("road", 45.0, 40.0),
        (Actor("car", "own", first="keep", then="brake", near=40.0, seconds=4.0, lead=8.0, lag=1.3),),
    ),
    "pedestrian-behind-car": Trigger(
        "braking",
        Fit("road", 50.0, 25.0, CITY, kerb=True),
        (
            Actor("car", "own", -5.0, PARKED),
            Actor("person", "own", 0.0, PAVEMENT, pace=1.8, then="walk", near=2.0, eta=1.9),
        ),
    ),
    "oncoming-swerve": Trigger(
        "braking",
        Fit("road", 60.0, 50.0, CITY, beside="oncoming", alone=True),
        (Actor("car", "oncoming", pace=0.7, first="keep", then="swerve", eta=2.4, near=0.0, seconds=2.8),),
        split="test",
    ),
    "emergency-vehicle": Trigger(
        "giving way",
        Fit("road", 45.0, 40.0, beside="right"),
        (Actor("lorry", "own", pace=1.4, first="keep", then="rush", near=60.0, seconds=12.0, lead=-35.0),),
        hazard=False,
    ),
    # At junctions
    "unprotected-left": Trigger(
        "traffic sign",
        Fit("junction", 30.0, turn="left", rule="signal", meets="opposite"),
        (Actor("car", "opposite", pace=0.9, first="keep", then="drive", near=70.0, lead=-4.0, count=4, apart=14.0),),
        hazard=False,
    ),
    "stop-sign-left": Trigger(
        "traffic sign",
        Fit("junction", 30.0, turn="left", rule="sign", meets="crossing-left"),
        (
            Actor(
                "car", "crossing-left", pace=0.9, first="keep", then="drive", near=70.0, lead=-4.0, count=3, apart=14.0
            ),
        ),
        hazard=False,
    ),
    "right-turn-into-flow": Trigger(
        "merging",
        Fit("junction", 30.0, turn="right", meets="crossing-left"),
        (
            Actor(
                "car", "crossing-left", pace=0.9, first="keep", then="drive", near=70.0, lead=-4.0, count=3, apart=14.0
            ),
        ),
        hazard=False,
    ),
    "red-light-runner": Trigger(
        "braking",
        Fit("junction", 30.0, turn="straight", rule="signal", meets="crossing-left"),
        (Actor("car", "crossing-left", pace=1.35, first="keep", then="rush", near=0.0, eta=2.4, lead=-3.0),),
    ),
    "priority-taker": Trigger(
        "braking",
        Fit("junction", 30.0, turn="straight", rule="priority", meets="crossing-right"),
        (Actor("car", "crossing-right", pace=1.2, first="keep", then="rush", near=0.0, eta=2.0, lead=1.0),),
        split="test",
    ),
    "blocked-exit": Trigger(
        "braking",
        Fit("junction", 30.0, turn="right"),
        (Actor("lorry", "after", 10.0, seconds=8.0, near=15.0, pace=0.6),),
    ),
    # Where pedestrians cross
    "pedestrian-crossing": Trigger(
        "braking",
        Fit("crossing", 40.0, kerb=True),
        (Actor("person", "strip", 1.5, PAVEMENT, 1.4, then="walk", near=2.0, eta=2.2, count=3, apart=0.9),),
        hazard=False,
    ),
    "turn-to-pedestrian": Trigger(
        "braking",
        Fit("crossing", 0.0, turned=True, kerb=True),
        (Actor("person", "strip", 1.5, PAVEMENT, 1.5, then="walk", near=3.0, eta=1.9),),
        split="test",
    ),
}
"""By name."""


def chosen(trigger: str | Sequence[str] | None, held_out: HeldOut, split: Split) -> tuple[str, ...]:
    """The names of the triggers that are played: see the keywords of :class:`.driving.Driving`.

    Raises:
        ValueError: there is no such trigger, or the split has none of those that are asked for.
    """
    if trigger is None and held_out == "maps":
        return ()
    if trigger is not None and not isinstance(trigger, str | Sequence):
        raise ValueError(f'trigger must be a name, several, "any" or None, got {trigger!r:.200}')
    named = (trigger,) if isinstance(trigger, str) else tuple(trigger or ())
    if trigger is not None and not named:
        raise ValueError('trigger names no situation: give one, several, "any", or None for none')
    for name in named:
        if name != "any" and name not in TRIGGERS:
            raise ValueError(unknown("trigger", name, ("any", *TRIGGERS)))
    wanted = tuple(TRIGGERS) if trigger is None or "any" in named else named
    found = tuple(name for name in TRIGGERS if name in wanted)
    if held_out == "triggers":
        found = tuple(name for name in found if TRIGGERS[name].split == split)
    if not found:
        raise ValueError(f"the {split} split has none of the triggers that are asked for")
    return found
