"""The scripted expert: the rule-following driver of the traffic, but at the wheel of a policy's car.

Its acceleration is what that driver would choose there (:func:`.driver.drive`, with reservations of junctions and all);
it changes lane where MOBIL and its way ask for it; and it steers by pure pursuit of a point ahead on its lane.
"""

import math
from typing import Any

from ..compiled import compiled
from ..traffic import idm
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
from .episode import Episode
from .gaps import blend, merging, slow_down, worth_changing
from .lists import enlist
from .places import beside
from .problem import distance_of, following
from .sight import first_on
from .state import CONTROLS, MANOEUVRES, NONE, SIM_DT, SUBSTEPS, Agent, Agents, Batch, World
from .vehicle import aim, pursue, steer_limit

WORTH = 0.5  # m/s2 beyond MOBIL's threshold that justify a change of lane
CLEAR = 30.0  # m of a lane that must be left, beside the way of 3 s, to begin one
LEAST_CLEAR = 14.0  # m, beside the way of 1 s, for one that the route needs
BEGUN = 0.6  # m from the middle of its lane to which it may still give a change up
DETOUR = 15.0  # m by which a way is longer that misses a change of lane
SQUEEZE = 5.0  # m of a lane that must be left to change at walking pace, where it has to, and how far ahead it aims
CREEPING = 1.5  # m/s
QUIET, SLOWEST = 6.0, 3.0  # s until the next one comes on the lane beside, at so many m/s at least
CREEP = 0.6  # m/s2 at walking pace, while it changes lane at the last moment
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
def plan_lane(atlas: Atlas, batch: Batch, episode: Episode) -> int:
    """The lane that the expert drives on or changes into; kept in the episode until it is there."""
    w, me = episode.world, episode.agent
    world, cars, keys = batch.worlds[w], batch.agents[w], batch.keys[w]
    car = cars[me]
    lane = atlas.lanes[car.lane]
    if episode.plan != NONE and episode.plan != lane.left and episode.plan != lane.right:
        episode.plan = NONE
    needed = needed_lane(atlas, batch, w, me)
    if episode.plan != NONE and car.beside == NONE and abs(car.d) < BEGUN:  # nobody has seen it yet: it may think again
        if worth_changing(world, cars, keys, atlas, me, episode.plan, needed) == -math.inf:
            episode.plan = NONE
    if episode.plan == NONE:
        episode.tight = int(is_late(atlas, world, cars, keys, me, needed))
    clear = (LEAST_CLEAR + car.v) if needed != NONE else CLEAR + 3.0 * car.v
    if episode.tight == 1:
        clear = SQUEEZE
    if episode.plan == NONE and lane.zone < 0 and (car.v > 0.5 or needed != NONE) and abs(car.d) < 0.5:
        if car.s + clear < lane.length and car.s > 5.0:
            episode.plan = best_lane(atlas, batch, w, me, needed)
    return episode.plan


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
def wish(atlas: Atlas, batch: Batch, episode: Episode) -> float:
    """The acceleration that the driver wants, m/s2."""
    w, me = episode.world, episode.agent
    world, cars, keys, routes = batch.worlds[w], batch.agents[w], batch.keys[w], batch.routes[w]
    car = cars[me]
    enlist(world, cars, keys)
    before = car.a
    odd = (world.tick + me) % 2  # in odd ticks drivers do not ask for reservations
    world.tick += odd
    drive(world, cars, keys, batch.events[w], atlas, routes, batch.crossings[w], me)
    world.tick -= odd
    wanted, car.a = car.a, before
    wanted = min(wanted, slow_down(atlas.lanes, car, routes[me]))
    plan = plan_lane(atlas, batch, episode)
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
    return float(wanted)


@compiled
def command(atlas: Atlas, batch: Batch, episode: Episode, controller: int, out: Any) -> None:
    """Writes the expert's action for ``controller`` into ``out`` ``[3]``; off all lanes it brakes."""
    w, me = episode.world, episode.agent
    car, route = batch.agents[w, me], batch.routes[w, me]
    out[0], out[1], out[2] = -1.0, 0.0, -1.0
    if car.lane == NONE:
        if controller == MANOEUVRES:
            out[0] = SLOWER
        return
    a = wish(atlas, batch, episode)
    lane, s = car.lane, car.s
    if episode.plan != NONE:
        lane = episode.plan
        _, s, _ = beside(atlas, car, lane)
    reach = clip(0.5 * abs(car.v) + 2.0, 4.0, 9.0) if lane == car.lane else clip(1.6 * car.v, 8.0, 45.0)
    if lane != car.lane and episode.tight == 1:
        reach = SQUEEZE
    forward, left = aim(atlas, car, route, lane, s + reach)
    if controller == CONTROLS:
        pedal(car, a, out)
        out[1] = clip(pursue(car, forward, left) / steer_limit(car), -1.0, 1.0)
    elif controller == MANOEUVRES:
        out[0] = float(manoeuvre(atlas, car, episode.plan, a))
    else:
        out[0] = clip(2.0 * forward / POINT_X - 1.0, -1.0, 1.0)
        out[1] = clip(left / POINT_Y, -1.0, 1.0)
        out[2] = clip(2.0 * max(car.v + a, 0.0) / POINT_V - 1.0, -1.0, 1.0)


@compiled
def pedal(car: Agent, a: float, out: Any) -> None:
    """The pedal that accelerates by ``a``, without a jolt unless it brakes for somebody."""
    wanted = clip(a, -MAX_BRAKE, 2.2) + drag(car.v)
    wanted = min(wanted, (max(car.pedal, 0.0) if car.v < STARTING else car.pedal) + JERK)
    if wanted > EMERGENCY:
        wanted = max(wanted, car.pedal - 2.0 * JERK)
    out[0] = clip(wanted / (MAX_THROTTLE if wanted > 0.0 else MAX_BRAKE), -1.0, 1.0)


@compiled
def manoeuvre(atlas: Atlas, car: Agent, plan: int, a: float) -> int:
    """The lane first, then one level towards the wanted speed."""
    lane = atlas.lanes[car.lane]
    if plan != NONE and plan != car.target:
        return LEFT if plan == lane.left else RIGHT
    target = 0.1 * car.level * lane.limit
    pulling = 0.9 * (target - car.v)
    if a < min(pulling, 0.0) - 0.4:
        return SLOWER
    return FASTER if a > pulling + 0.3 and a > 0.1 else KEEP
