"""What a batch of towns is made of: records of worlds, agents and events, and the arrays that hold them.

All worlds have room for as many agents; ``agents[world, agent]`` is a record, ``agents["x"]`` the column ``[W, A]``.
Compiled code takes a :class:`Batch` as it is. Units are SI, angles are radians and counter-clockwise; lanes, points,
signals and crossings are numbered through all maps of an :class:`~.atlas.Atlas`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Protocol, get_type_hints

import numpy as np
import numpy.typing as npt

from ..reference import by_reference

SIM_DT = 0.1
"""Seconds of one simulation step (a tick)."""
SUBSTEPS = 2
"""Ticks of one policy step (5 Hz); drivers decide in the first of as many."""
DECISION_DT = SUBSTEPS * SIM_DT
"""Seconds from one decision of a driver to the next."""
ROUTE = 12
"""Lanes of an agent's route that are laid out ahead, its present lane first."""
MOST_AGENTS = 128
MARKS = 4
"""Words at the end of a world's list: bit L % 256 is set if anybody is on lane L."""
EVENTS = 32
"""Events of one world that are kept until they are read."""

NONE = -1
"""No lane, agent, signal, goal or log."""

ABSENT, CONTROLS, MANOEUVRES, WAYPOINT, DRIVER, REPLAY, WALKER, PARKED, SCRIPTED = range(9)
"""Who moves an agent, ``Agent.controller``: nobody (it is not there); a policy by pedal and steering, by manoeuvres or
by waypoints; the rule-following driver (cars, lorries, cyclists); a log; a pedestrian's script; nobody (it stands); a
script of :mod:`.scripts`."""
CAR, LORRY, BICYCLE, PERSON = range(4)
"""What an agent is, ``Agent.kind``."""

BUSY, WAITING = range(2)
"""Rows of ``Batch.crossings``: pedestrians who are on a crossing or wait to step onto it; of these, who wait."""

COLLISION, RED_LIGHT, STOP_SIGN, OFF_ROAD, WRONG_WAY, STANDSTILL, BRAKING, RIGHT_OF_WAY, ARRIVAL = range(1, 10)
"""What happened, ``Event.kind``. Documented at :class:`Event`."""
FRONT, REAR, SIDE = 1, 2, 3
"""What of an agent was touched, ``Event.side``."""

Byte = Annotated[int, "i1"]
Short = Annotated[int, "i2"]
Whole = Annotated[int, "i4"]
Word = Annotated[int, "u8"]


class Agent(Protocol):
    """A road user: where it is, what it is about to do, who drives it, and what it has done."""

    # What others look at, side by side: the middle of its body in the plane, its heading, its motion, what it is
    x: float
    y: float
    heading: float
    v: float  # speed along its heading; negative backwards
    length: float
    width: float
    controller: Byte
    kind: Byte
    careless: Byte  # 1: this driver ignores a rule now and then
    side: Byte  # of a lane change that a driver or a manoeuvre is about: 1 to the left, -1 to the right, 0 none
    # How it moves
    a: float  # acceleration of the last tick along its heading
    yaw_rate: float
    steer: float  # angle of the front wheels, positive to the left (of vehicles under control)
    pedal: float  # acceleration that the pedals ask for before drag, m/s2 (of vehicles under control)
    # Where that is on the map
    s: float  # of its middle, along its lane
    d: float  # to the left of its lane's middle
    turn: float  # its heading relative to its lane's, in (-pi, pi]
    lane: int  # the lane that it is in; NONE off all lanes
    point: int  # at which the segment of its lane begins that it is beside
    beside: int  # a second lane that it takes up too (it changes into it, or its body reaches into it); or NONE
    beside_s: float  # its s on that lane
    # Where it goes: the lanes ahead are in Batch.routes
    goal: int  # of Atlas.goal_lane, or NONE: it draws its way at each fork
    odometer: float  # m driven
    # What moves it
    target: int  # of the manoeuvres: the lane to be in
    log: int  # of Batch.logs: the trajectory that is replayed; or of Batch.scripts; or NONE
    # Parameters of a driver, see traffic.idm and traffic.mobil; of a pedestrian: desired is the walking speed
    pace: float  # wanted speed as a share of the limit
    desired: float  # highest wanted speed, whatever the limit is
    headway: float
    accel: float
    brake: float
    politeness: float
    patience: float  # s until it next thinks about changing lane
    # What it sees: of the last tick, for drivers and for vehicles of a policy
    leader: Short  # who is ahead in its way, or NONE
    follower: Short  # who follows it (whose leader it is; the nearest), or NONE
    gap: float  # bumper to bumper to the leader; 1e9: nobody
    # At junctions, see .junctions
    zone: int  # the conflict zone (Atlas.lanes.zone) that it holds a reservation of, or NONE
    further: int  # a second zone, right behind the first, or NONE
    before: int  # the lane that it was on before its present one, or NONE
    next_zone: int  # the zone ahead that it holds no reservation of, or NONE
    stop: int  # the stop line ahead (Atlas.stops), or NONE
    light: int  # the stop line of the last zone that it holds, or NONE
    line: float  # m from its front to where it has to stop without a reservation; 1e9: nowhere in sight
    entry: float  # m from its front to where the last zone that it holds begins; negative: it is in
    last: Byte  # index in its route of the last lane of its reservation; negative: it has left it, its rear may not
    further_last: Byte  # likewise of ``further``
    next_at: Byte  # index in its route of the first lane of ``next_zone``
    level: Byte  # of the manoeuvres: wanted speed in tenths of the limit
    halted: Byte  # 1: it has come to a full stop at the stop sign ahead
    ready: Byte  # 1: it stands first in its lane before the zone, and signal and sign let it go
    jammed: Byte  # 1: it waits because there is no room behind the junction; 2: because a holder stands in its way
    bold: Byte  # 1: a careless driver who ignores the rules at the zone ahead; 2: who keeps them this time
    waiting: float  # s since it first stood at the line ahead (who came first)
    still: float  # s that it has stood
    # What it has done: counters since the world began
    touching: Short  # whom its body touches now, or NONE
    touched: Short  # the same one tick ago
    collisions: Short
    faults: Short  # of these collisions, those that were its fault
    reds: Short
    stops: Short
    against: Byte  # 1: it entered the junction that it is in without the right to
    astray: Byte  # 1: off all lanes now; 2: against the traffic; 3: both
    off: float  # s with its middle off all lanes
    wrong: float  # s against the direction of its lane
    imposed: float  # m/s2: hardest braking that it imposed on who follows it


class World(Protocol):
    """One town: its map, its clock, its randomness."""

    map: int  # of Atlas.maps
    agents: int  # how many of the records are used
    tick: int  # since the world began
    first_tick: int  # of the signals: how far into their programs this world began
    stream: Word  # SplitMix64
    events: int  # that happened since they were last read; the first EVENTS of them are kept
    listed: int  # used entries of Batch.keys
    walking: int  # pedestrians who are on a crossing, or step onto one
    unruly: int  # agents that need not keep the rules: those of policies, logs and careless drivers


class Event(Protocol):
    """Something that counts.

    ``COLLISION``: two bodies begin to touch, ``value`` is their relative speed; one event for each of the two, with the
    facts that decide whose fault it was, and a verdict (:mod:`.collisions`). ``RED_LIGHT``, ``STOP_SIGN``: its front
    crossed the line without the right to, ``value`` is its speed. ``OFF_ROAD``, ``WRONG_WAY``: begins. ``STANDSTILL``:
    it has stood for 120 s (once a stand). ``BRAKING``: ``other`` has to brake by ``value`` m/s2, more than the
    threshold, because the agent came into its way. ``RIGHT_OF_WAY``: it entered a conflict zone that ``other`` holds.
    ``ARRIVAL``: at its goal, or at the end of its map.
    """

    tick: int
    kind: Byte
    side: Byte  # of the agent, in a collision: FRONT, REAR or SIDE touched
    fault: Byte  # 1: a collision that was the agent's fault
    one_lane: Byte  # 1: its body was in one lane
    against: Byte  # 1: it was where a signal, a sign or a priority forbade it to be
    agent: Short
    other: Short  # or NONE
    lane: int
    value: float
    v: float  # of the agent, just before
    other_v: float
    x: float
    y: float


class Script(Protocol):
    """What one scripted agent does, and how far it is: see :mod:`.scripts`."""

    agent: int  # in its world
    trigger: int  # of scenarios.triggers that it belongs to
    first: Byte  # while it waits: STAND or KEEP
    then: Byte  # what it plays
    phase: Byte
    lane: int  # where the place is, on the ego's way
    s: float
    home: int  # its own lane at the beginning
    near: float
    eta: float
    seconds: float
    clock: float  # s that it has played
    speed: float  # m/s that it plays at
    lead: float
    lag: float
    p: float  # m along its own way from the place; negative before it
    target: int  # the lane that it changes into
    swing: float  # m to the left of its lane's middle that it swerves to


def _dtype(record: type[Any]) -> np.dtype[Any]:
    kinds: dict[Any, str] = {float: "f4", int: "i4"}
    hints = get_type_hints(record, include_extras=True)
    return np.dtype([(name, kinds.get(hint) or hint.__metadata__[0]) for name, hint in hints.items()], align=True)


AGENT = _dtype(Agent)
WORLD = _dtype(World)
EVENT = _dtype(Event)
SCRIPT = _dtype(Script)

Agents = Sequence[Agent]
"""All agents of one world (at run time an array of records)."""


@by_reference
class Batch(NamedTuple):
    """W worlds with room for A agents each; a tuple of arrays, which compiled functions take as it is."""

    worlds: Any  # [W] WORLD
    agents: Any  # [W, A] AGENT
    routes: npt.NDArray[np.int32]  # [W, A, ROUTE] lanes ahead, the present one first, then NONE
    controls: npt.NDArray[np.float32]  # [W, A, 3] of policies: pedal and steering in [-1, 1]; a manoeuvre; x, y, v
    events: Any  # [W, EVENTS] EVENT
    keys: npt.NDArray[np.int64]  # [W, 2 A + MARKS] who is in which lane, sorted by lane, then s: see .lists
    order: npt.NDArray[np.int16]  # [W, A] agents sorted by x, for collisions
    crossings: npt.NDArray[np.int8]  # [W, 2, X] pedestrians at each crossing of the world's map: BUSY, WAITING
    scripts: Any  # [W, S] SCRIPT of scripted agents
    logs: npt.NDArray[np.float32]  # [K, T, 4] x, y, heading, v of replayed trajectories; NaN: not there


EMPTY = (
    *("lane", "beside", "goal", "log", "leader", "follower"),
    *("zone", "further", "before", "next_zone", "stop", "light", "touching", "touched"),
)
"""Fields of agents that are NONE to begin with."""


def allocate(
    worlds: int, agents: int, *, crossings: int = 0, scripts: int = 0, logs: npt.NDArray[np.float32] | None = None
) -> Batch:
    """An empty batch.

    Args:
        worlds: W.
        agents: A, of each world.
        crossings: X, of the map that has most.
        scripts: S, of scripted agents of each world.
        logs: ``[K, T, 4]`` trajectories to replay, shared by all worlds.

    Raises:
        ValueError: no world, no agent, or more than :data:`MOST_AGENTS`.
    """
    if worlds < 1:
        raise ValueError(f"a batch needs at least one world, got {worlds}")
    if not 1 <= agents <= MOST_AGENTS:
        raise ValueError(f"a world has 1 to {MOST_AGENTS} agents, got {agents}")
    records = np.zeros((worlds, agents), AGENT)
    for name in EMPTY:
        records[name] = NONE
    return Batch(
        worlds=np.zeros(worlds, WORLD),
        agents=records,
        routes=np.full((worlds, agents, ROUTE), NONE, np.int32),
        controls=np.zeros((worlds, agents, 3), np.float32),
        events=np.zeros((worlds, EVENTS), EVENT),
        keys=np.full((worlds, 2 * agents + MARKS), np.iinfo(np.int64).max, np.int64),
        order=np.tile(np.arange(agents, dtype=np.int16), (worlds, 1)),
        crossings=np.zeros((worlds, 2, max(1, crossings)), np.int8),
        scripts=np.zeros((worlds, max(1, scripts)), SCRIPT),
        logs=np.full((1, 1, 4), np.nan, np.float32) if logs is None else np.asarray(logs, np.float32),
    )


def bytes_a_world(batch: Batch) -> float:
    """Memory of one world of a batch, all arrays but the shared logs."""
    return float(sum(array.nbytes for name, array in batch._asdict().items() if name != "logs")) / len(batch.worlds)
