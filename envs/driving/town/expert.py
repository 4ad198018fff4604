"""The scripted expert: the rule-following driver of the traffic, but at the wheel of a policy's car.

Its acceleration is what that driver would choose there (:func:`.driver.drive`); it changes lane where MOBIL and its way
ask for it; and it steers by pure pursuit of a point ahead on its lane. It enters a junction as soon as a driver in its
place would get a reservation, but does not make one: as for any policy, others yield only once it is committed to
entering (:func:`.manners.attend`). After a while at the line it accepts gaps in the traffic that has reserved. Querying
it changes nothing in the world, and two queries in one state give the same action.
"""

import math
from typing import Any

from ..compiled import compiled, merged
from ..maps.graph import SIGNAL
from ..traffic import FREE, idm
from ..vehicle import (
    FASTER,
    KEEP,
    LEFT,
    MAX_BRAKE,
    MAX_THROTTLE,
    RIGHT,
    SLOWER,
    clip,
    drag,
)
from .atlas import Atlas
from .beware import PASSING, beware, blocked, stands, way_out
from .driver import drive, hold_back, trailing
from .episode import Advice, Episode
from .gaps import blend, merging, slow_down, worth_changing
from .junctions import (
    COMFORT,
    EARLY,
    NEVER,
    ROOM,
    allowed,
    arrives,
    awaited,
    clash,
    holds,
    passage_end,
    space,
    stops_at,
)
from .lists import enlist
from .places import beside
from .problem import distance_of, following
from .sight import first_on, shown
from .state import ABSENT, CONTROLS, MANOEUVRES, NONE, SIM_DT, SUBSTEPS, Agent, Agents, Batch, World
from .vehicle import LEVEL, PULL, aim, pursue, steer_limit

WORTH = 0.5  # m/s2 beyond MOBIL's threshold that justify a change of lane
CLEAR = 30.0  # m of a lane that must be left, beside the way of 3 s, to begin one
LEAST_CLEAR = 14.0  # m, beside the way of 1 s, for one that the route needs
BEGUN = 0.6  # m from the middle of its lane to which it may still give a change up
DETOUR = 15.0  # m by which a way is longer that misses a change of lane
SQUEEZE = 5.0  # m of a lane that must be left to change at walking pace, where it has to, and how far ahead it aims
CREEPING = 1.5  # m/s
QUIET, SLOWEST = 6.0, 3.0  # s until the next one comes on the lane beside, at so many m/s at least
CREEP = 0.6  # m/s2 at walking pace, while it changes lane at the last moment
TAKES_GAPS = 3.0  # s of waiting after which it goes in before others who are still far away
INSISTS = 8.0  # s of waiting after which those have to brake moderately
MODERATE = 2.5  # m/s2
REACTION = 0.5  # s
LEAST_GAP = 10.0  # m: nearer than 8 takes the right of way
NEAR = 2.0  # m from the line, to do so
LAG, SHORT = 0.3, 0.6  # s and m by which it stops early where a tracker brakes
JERK = 3.5 * SIM_DT * SUBSTEPS  # m/s2 a policy step: comfortable
STARTING = 0.3  # m/s below which it takes its foot off the brake at once
EMERGENCY = -3.5  # m/s2 beyond which comfort does not count
POINT_X, POINT_Y, POINT_V = 40.0, 10.0, 40.0  # what 1 is of a waypoint's action


@compiled
def must_change(atlas: Atlas, car: Agent) -> int:
    """The neighbouring lane that the way to the goal leads through, or NONE: the present lane will do."""
    lane = atlas.lanes[car.lane]
    if lane.road == atlas.lanes[atlas.goal_lane[car.goal]].road:
        return NONE
    for i in range(lane.next, lane.next_end):  # a change later on is as good: inner lanes of bends are shorter
        straight_on = lane.length + distance_of(atlas, car.goal, atlas.next_lane[i])
        if straight_on < distance_of(atlas, car.goal, car.lane) + DETOUR:
            return NONE
    after = following(atlas, car.goal, car.lane)
    return after if after == lane.left or after == lane.right else NONE


@compiled
def needed_lane(atlas: Atlas, batch: Batch, w: int, me: int) -> int:
    """The neighbouring lane that it has to change into, whatever MOBIL says; or NONE."""
    car = batch.agents[w, me]
    lane = must_change(atlas, car)
    if lane == NONE:
        lane = merging(atlas, car, batch.routes[w, me])
    return lane if lane != NONE else way_out(atlas, batch, w, me)


@compiled
def plan_lane(atlas: Atlas, batch: Batch, episode: Episode, advice: Advice) -> int:
    """The lane that the expert drives on or changes into; kept until it is there."""
    w, me = episode.world, episode.agent
    world, cars, keys = batch.worlds[w], batch.agents[w], batch.keys[w]
    car = cars[me]
    lane = atlas.lanes[car.lane]
    if advice.plan != NONE and advice.plan != lane.left and advice.plan != lane.right:
        advice.plan = NONE
    needed = needed_lane(atlas, batch, w, me)
    if (
        advice.plan != NONE and car.beside == NONE and abs(car.d) < BEGUN
    ):  # not visible to others yet: it may abort the change
        if worth_changing(world, cars, keys, atlas, me, advice.plan, needed) == -math.inf:
            advice.plan = NONE
    if advice.plan == NONE:
        advice.tight = int(is_late(atlas, world, cars, keys, me, needed))
    clear = (LEAST_CLEAR + car.v) if needed != NONE else CLEAR + 3.0 * car.v
    if advice.tight == 1:
        clear = SQUEEZE
    if advice.plan == NONE and lane.zone < 0 and (car.v > 0.5 or needed != NONE) and abs(car.d) < 0.5:
        if car.s + clear < lane.length and car.s > 5.0:
            advice.plan = best_lane(atlas, batch, w, me, needed)
    return advice.plan


@compiled
def is_late(atlas: Atlas, world: World, cars: Agents, keys: Any, me: int, needed: int) -> bool:
    """Whether it stands too near the end of its lane for the usual change into ``needed``, where no vehicle comes."""
    car = cars[me]
    if needed == NONE or car.v > CREEPING or car.s + LEAST_CLEAR < atlas.lanes[car.lane].length:
        return False
    _, s, _ = beside(atlas, car, needed)
    k, back = trailing(cars, keys, world.listed, atlas, needed, s, me)
    return bool(k == NONE or back - 0.5 * car.length > QUIET * max(cars[k].v, SLOWEST))


@compiled
def best_lane(atlas: Atlas, batch: Batch, w: int, me: int, needed: int) -> int:
    """The neighbouring lane that is most worth a change, or NONE."""
    lane = atlas.lanes[batch.agents[w, me].lane]
    best, found = WORTH, NONE
    for other in (lane.left, lane.right):
        free = other != NONE and atlas.lanes[other].kind == 0 and atlas.lanes[other].zone < 0
        if free and not blocked(atlas, batch, w, me, other):
            gain = worth_changing(batch.worlds[w], batch.agents[w], batch.keys[w], atlas, me, other, needed)
            if gain > best:
                best, found = gain, other
    return int(found)


@compiled
def comes(car: Agent, other: Agent, through: float) -> bool:
    """Whether ``other``, who is on the way into the junction, would have to brake for who goes in now.

    Or, once that one has waited for long, hard.
    """
    if car.waiting > INSISTS:
        return other.entry < LEAST_GAP + other.v * (REACTION + other.v / (2.0 * MODERATE))
    return arrives(car, other, other.entry, through)


@merged
def gap_is_long(atlas: Atlas, batch: Batch, w: int, me: int) -> bool:
    """Whether it is through the junction ahead before all who have reserved it, and may go in, arrive."""
    world, cars, routes, lanes = batch.worlds[w], batch.agents[w], batch.routes[w], atlas.lanes
    car, begin = cars[me], cars[me].next_at
    if car.next_zone < 0 or car.line > NEAR or not allowed(atlas.stops, atlas.signals, atlas.phases, world, car):
        return False
    end = passage_end(routes[me], lanes, begin)
    if awaited(world, atlas, routes[me], batch.crossings[w], begin, end):
        return False
    for k in range(world.agents):
        other = cars[k]
        if k != me and other.controller != ABSENT and holds(other, car.next_zone):
            last = other.further_last if other.further >= 0 else other.last
            rank, through = clash(lanes, atlas.conflicts, routes[me], begin, end, other, routes[k], 0, last)
            if rank != NEVER and (other.entry <= 0.0 or comes(car, other, through)):
                return False
    return space(world, cars, batch.keys[w], atlas, routes, me, begin, end) == ROOM


@compiled
def held_at(atlas: Atlas, world: World, cars: Agents, car: Agent) -> float:
    """How far ahead the line is at which :func:`.driver.drive` has just decided to stop, m; FREE: there is none."""
    if car.line >= EARLY + car.v * (1.0 + car.v / (2.0 * COMFORT)):
        return FREE
    if car.next_zone < 0:
        if allowed(atlas.stops, atlas.signals, atlas.phases, world, car):
            return FREE
        stop = atlas.stops[car.stop]
        if stop.kind == SIGNAL:
            colour, left = shown(atlas.signals, atlas.phases, world, stop.signal)
            return float(car.line) if stops_at(cars, car, colour, left, car.line) else FREE
    return float(car.line)


@merged
def consider(atlas: Atlas, batch: Batch, episode: Episode, advice: Advice) -> float:
    """The acceleration that a driver of the traffic would choose, with what it remembers of the junction ahead.

    It leaves in the agent's record what that driver would note there, so who calls it puts the records back.
    """
    w, me = episode.world, episode.agent
    world, car = batch.worlds[w], batch.agents[w, me]
    car.waiting, car.ready, car.jammed = advice.waited, advice.ready, advice.jammed
    zone, further, events = car.zone, car.further, world.events
    if car.ready == 1 and car.waiting > TAKES_GAPS and gap_is_long(atlas, batch, w, me):
        car.bold = 1
    drive(world, batch.agents[w], batch.keys[w], batch.events[w], atlas, batch.routes[w], batch.crossings[w], me)
    world.events = events
    if (car.zone >= 0 and car.zone != zone) or (car.further >= 0 and car.further != further):
        advice.ready = 1  # it asks again until it is bound to go in
    else:
        advice.waited, advice.ready, advice.jammed = car.waiting, car.ready, car.jammed
    return float(car.a)


@merged
def wish(atlas: Atlas, batch: Batch, episode: Episode, advice: Advice) -> tuple[float, float]:
    """The acceleration that the driver wants, m/s2, and how far ahead the line is where it wants to stop, m."""
    w, me = episode.world, episode.agent
    world, cars, keys, routes = batch.worlds[w], batch.agents[w], batch.keys[w], batch.routes[w]
    car = cars[me]
    enlist(world, cars, keys)
    wanted = consider(atlas, batch, episode, advice)
    away = held_at(atlas, world, cars, car)
    wanted = min(wanted, slow_down(atlas.lanes, car, routes[me]))
    plan = plan_lane(atlas, batch, episode, advice)
    if must_change(atlas, car) != NONE:  # waits before the end of a lane that does not lead to the goal
        rest = atlas.lanes[car.lane].length - car.s - 0.5 * car.length - LEAST_CLEAR
        if rest < 40.0:
            wanted = min(wanted, hold_back(car, max(rest, 0.0)) if car.v > CREEPING or plan == NONE else CREEP)
    wanted = beware(atlas, batch, w, me, wanted)
    if stands(cars, batch.scripts[w], car):  # keeps far enough away to go round it
        wanted = min(wanted, hold_back(car, max(car.gap - PASSING, 0.0)) if car.v > CREEPING or plan == NONE else CREEP)
        wanted = max(wanted, CREEP) if plan != NONE and car.v < CREEPING else wanted
    if must_change(atlas, car) == NONE:
        wanted = blend(world, cars, keys, atlas, routes, me, plan, wanted)
    if plan != NONE:
        _, s, _ = beside(atlas, car, plan)
        other, gap = first_on(cars, keys, world.listed, plan, s, me, NONE, -s - 0.5 * car.length)
        if other != NONE:
            wanted = min(wanted, idm(car.v, cars[other].v, gap, car.desired, 0.8, car.accel, car.brake))
    return float(wanted), away


@compiled
def command(atlas: Atlas, batch: Batch, episode: Episode, advice: Advice, controller: int, out: Any) -> None:
    """Writes the expert's action for ``controller`` into ``out`` ``[3]``; off all lanes it brakes."""
    w = episode.world
    if advice.noise != episode.noise:  # another episode
        advice.noise, advice.asked, advice.plan, advice.waited = episode.noise, NONE, NONE, 0.0
        advice.tight = advice.ready = advice.jammed = 0
    if advice.asked != batch.worlds[w].tick:
        kept = batch.agents[w].copy()
        decide(atlas, batch, episode, advice, controller, out)
        batch.agents[w][:] = kept
        advice.asked = batch.worlds[w].tick
        advice.said_x, advice.said_y, advice.said_z = out[0], out[1], out[2]
    out[0], out[1], out[2] = advice.said_x, advice.said_y, advice.said_z


@merged
def decide(atlas: Atlas, batch: Batch, episode: Episode, advice: Advice, controller: int, out: Any) -> None:
    """:func:`command` anew; what a driver would note on the way stays in the agents' records."""
    w, me = episode.world, episode.agent
    car, route = batch.agents[w, me], batch.routes[w, me]
    out[0], out[1], out[2] = -1.0, 0.0, -1.0
    if car.lane == NONE:
        if controller == MANOEUVRES:
            out[0] = SLOWER
        return
    a, away = wish(atlas, batch, episode, advice)
    lane, s = car.lane, car.s
    if advice.plan != NONE:
        lane = advice.plan
        _, s, _ = beside(atlas, car, lane)
    reach = clip(0.5 * abs(car.v) + 2.0, 4.0, 9.0) if lane == car.lane else clip(1.6 * car.v, 8.0, 45.0)
    if lane != car.lane and advice.tight == 1:
        reach = SQUEEZE
    forward, left = aim(atlas, car, route, lane, s + reach)
    if controller == CONTROLS:
        pedal(car, a, out)
        out[1] = clip(pursue(car, forward, left) / steer_limit(car), -1.0, 1.0)
    elif controller == MANOEUVRES:
        out[0] = float(manoeuvre(atlas, car, advice.plan, a, away))
    else:
        out[0] = clip(2.0 * forward / POINT_X - 1.0, -1.0, 1.0)
        out[1] = clip(left / POINT_Y, -1.0, 1.0)
        out[2] = clip(2.0 * tracked(car, a, away) / POINT_V - 1.0, -1.0, 1.0)


@compiled
def pedal(car: Agent, a: float, out: Any) -> None:
    """The pedal that accelerates by ``a``, without a jolt unless it brakes for somebody."""
    wanted = clip(a, -MAX_BRAKE, 2.2) + drag(car.v)
    wanted = min(wanted, (max(car.pedal, 0.0) if car.v < STARTING else car.pedal) + JERK)
    if wanted > EMERGENCY:
        wanted = max(wanted, car.pedal - 2.0 * JERK)
    out[0] = clip(wanted / (MAX_THROTTLE if wanted > 0.0 else MAX_BRAKE), -1.0, 1.0)


@compiled
def stops(car: Agent, away: float) -> bool:
    """Whether it has to ask a tracker for standstill now, to stop at a line ``away`` m ahead.

    A tracker brakes less the slower it is, and comes to rest after ``v / PULL`` m, once the pedals have followed.
    """
    return away < car.v * (1.0 / PULL + LAG) + SHORT


@compiled
def tracked(car: Agent, a: float, away: float) -> float:
    """The speed to ask a tracker for, to accelerate by ``a`` or to stop ``away`` m ahead."""
    return 0.0 if stops(car, away) else max(car.v + a / PULL, 0.0)


@compiled
def manoeuvre(atlas: Atlas, car: Agent, plan: int, a: float, away: float) -> int:
    """The lane first, then one level towards the wanted speed; in time for a line ``away`` m ahead."""
    lane = atlas.lanes[car.lane]
    if plan != NONE and plan != car.target:
        return LEFT if plan == lane.left else RIGHT
    target = LEVEL * car.level * lane.limit
    pulling = PULL * (target - car.v)
    softest = 1.5 * PULL * LEVEL * lane.limit  # what SLOWER brakes by at least: it lowers by two levels, rounded
    late = stops(car, away) or away < car.v * (car.v / (2.0 * softest) + LAG) + SHORT
    if a < min(pulling, 0.0) - 0.4 or (late and car.level > 0):
        return SLOWER
    return FASTER if a > pulling + 0.3 and a > 0.1 and not late else KEEP
