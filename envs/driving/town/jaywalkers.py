"""Pedestrians who cross a street away from its crossings, at their own risk.

A jaywalker waits beside the kerb, at a drawn place, for a drawn time. It sets off, at a right angle to the street, when
every vehicle on the lanes ahead of it stands or can stop gently; before each lane it looks again, and waits at the
marking if it has to; after long it turns back. Later it comes again.

From when it sets off it is listed on the lane that it is on or about to step onto, and beside that on the next one, as
soon as whoever comes there can stop gently: so it is a leader whom drivers, and the scripted expert, brake for as for a
vehicle that stands. No driver who drives as the others do has to brake hard for it.

A jaywalker is a pedestrian (:mod:`.walkers`) whose ``target`` is NONE. ``line`` is the way walked across, of ``gap`` m
from kerb to kerb; ``level`` is 1 on the way, and ``waiting`` the time at the present marking.
"""

import math
from typing import Any

from ..compiled import compiled, uniform
from .lists import agent_of, find, key, lane_of, s_of, taken
from .places import find_point, put_on_lane, wrap
from .spawn import forget
from .state import NONE, PARKED, PERSON, SIM_DT, SUBSTEPS, WALKER, Agent, Agents, Batch, World

TRIES = 40
STREET = 17.0  # m/s: no crossing where more is allowed
END = 15.0  # m from either end of a lane, and before a stop line, without crossings
CLEAR = 10.0  # m of crossings likewise
KERB = 0.8  # m from the edge of the road at which it waits
WIDEST = 22.0  # m from kerb to kerb
ISLAND = 1.2  # m without a lane that may lie between two directions
STEP = 0.4  # m
HEMMED = 3.5  # m from the middle of a parked car, along the street, without crossings
PACE = (1.2, 1.6)  # m/s
PAUSE = (5.0, 40.0)  # s between two ways across
NEXT = 0.45  # m ahead of its middle that it looks at the lane it is about to step onto
LOOK = 3.2  # m ahead at which drivers see it coming
GENTLE, HURRIED = 2.0, 4.0  # m/s2: braking that it asks of drivers, and that it asks for after a while in mid-street
RESPECT, CAUTION = 1.5, 4.0  # s and m that it adds to the way of that
LONG = 3.0  # s at a marking
PATIENCE = 15.0  # s at a marking, after which it turns back: whom it waits for may be waiting for it
STANDING = 0.3  # m/s


@compiled
def lane_at(world: World, atlas: Any, x: float, y: float) -> tuple[int, float]:
    """The lane whose area a point is in, the nearest if there are several, and the s there; ``(NONE, 0)``: none."""
    town = atlas.maps[world.map]
    i, j = int(math.floor((x - town.x) / town.cell)), int(math.floor((y - town.y) / town.cell))
    best, s, least = NONE, 0.0, 1e9
    if not (0 <= i < town.nx and 0 <= j < town.ny):
        return best, s
    square = town.grid + i * town.ny + j
    for g in range(atlas.grid_first[square], atlas.grid_first[square + 1]):
        at = atlas.grid_point[g]
        one = atlas.points[at]
        along = (x - one.x) * one.cos + (y - one.y) * one.sin
        beyond = max(-along, along - (atlas.points[at + 1].s - one.s), 0.0)
        d = abs((y - one.y) * one.cos - (x - one.x) * one.sin) + beyond
        if d <= 0.5 * one.width and d < least and atlas.lanes[one.lane].kind == 0:
            best, s, least = one.lane, float(one.s + along), d
    return best, s


@compiled
def crossable(atlas: Any, number: int, s: float) -> bool:
    """Whether a place of a lane is away from junctions, lines and crossings, on a street."""
    lane = atlas.lanes[number]
    if lane.junction != NONE or lane.zone != NONE or lane.arc != NONE or lane.limit > STREET:
        return False
    if s < END or s > lane.length - END:
        return False
    for i in range(lane.stop, lane.stop_end):
        if s > atlas.stops[i].s - END:
            return False
    for i in range(lane.strip, lane.strip_end):
        if atlas.strips[i].begin - CLEAR < s < atlas.strips[i].end + CLEAR:
            return False
    return True


@compiled
def width_of(world: World, atlas: Any, x: float, y: float, heading: float) -> float:
    """Metres from a place beside a kerb straight across the street to beside its other kerb; -1: not to be crossed."""
    cos, sin = math.cos(heading), math.sin(heading)
    u, last = 0.0, -1.0
    while u < WIDEST:
        lane, s = lane_at(world, atlas, x + u * cos, y + u * sin)
        if lane != NONE:
            if not crossable(atlas, lane, s):
                return -1.0
            last = u
        elif last < 0.0 and u > 2.0 * KERB:
            return -1.0
        elif last >= 0.0 and u - last > ISLAND:
            return last + KERB
        u += STEP
    return -1.0


@compiled
def hemmed(cars: Agents, car: Agent, way: float) -> bool:
    """Whether a parked car stands in the way across."""
    cos, sin = math.cos(car.heading), math.sin(car.heading)
    for k in range(len(cars)):
        if cars[k].controller == PARKED:
            dx, dy = cars[k].x - car.x, cars[k].y - car.y
            if abs(dy * cos - dx * sin) < HEMMED and -HEMMED < dx * cos + dy * sin < way + HEMMED:
                return True
    return False


@compiled
def start_jaywalker(world: World, cars: Agents, atlas: Any, stream: Any, me: int) -> bool:
    """Puts a jaywalker beside a drawn kerb; returns whether a place was found where one can cross."""
    car, town = cars[me], atlas.maps[world.map]
    for _ in range(TRIES):
        number = atlas.starts[town.start + int(uniform(stream, 0.0, town.start_end - town.start))]
        lane = atlas.lanes[number]
        s = uniform(stream, 0.0, lane.length)
        if lane.right != NONE or not crossable(atlas, number, s):
            continue
        forget(car)
        car.kind, car.length, car.width = PERSON, 0.5, 0.6
        car.s, car.turn = s, 0.5 * math.pi
        car.point = find_point(atlas.along, lane, lane.point, s)
        car.d = -0.5 * atlas.points[car.point].width - KERB
        put_on_lane(atlas, lane, car)
        way = width_of(world, atlas, car.x, car.y, car.heading)
        if way > 0.0 and not hemmed(cars, car, way):
            car.controller, car.target, car.level = WALKER, NONE, 0
            car.line, car.gap, car.waiting = 0.0, way, 0.0
            car.desired = uniform(stream, PACE[0], PACE[1])
            car.pace, car.headway, car.accel, car.brake = 1.0, 1.0, 1.0, 2.0  # where others take it for a vehicle
            car.patience = uniform(stream, 0.0, PAUSE[1])
            return True
        car.length = 0.0
    return False


@compiled
def start_jaywalkers(atlas: Any, batch: Batch, w: int, first: int, count: int, stream: Any) -> None:
    """Puts jaywalkers in the records ``first <= k < first + count``, as far as there are places to cross."""
    for k in range(first, min(first + count, batch.agents.shape[1])):
        start_jaywalker(batch.worlds[w], batch.agents[w], atlas, stream, k)


@compiled
def comes(cars: Agents, keys: Any, listed: int, lane: int, s: float, brake: float) -> bool:
    """Whether a vehicle on ``lane`` is at ``s`` (which may lie beyond its end), or comes there and cannot stop."""
    if not taken(keys, lane):
        return False
    at = find(keys, listed, key(lane, 0.0, 0))
    while at < listed and lane_of(keys[at]) == lane:
        car = cars[agent_of(keys[at])]
        front = s_of(keys[at]) + 0.5 * car.length
        if car.kind != PERSON and front - car.length < s + 1.0:
            if front > s - 1.5:
                return True
            if car.v > STANDING and front > s - CAUTION - car.v * (RESPECT + car.v / (2.0 * brake)):
                return True
        at += 1
    return False


@compiled
def clear(cars: Agents, keys: Any, listed: int, atlas: Any, lane: int, s: float, brake: float) -> bool:
    """Whether all who come along a lane, or from the two before it, stand or can stop before ``s``."""
    if comes(cars, keys, listed, lane, s, brake):
        return False
    one = atlas.lanes[lane]
    for i in range(one.previous, one.previous_end):
        before = atlas.lanes[atlas.previous_lane[i]]
        if comes(cars, keys, listed, atlas.previous_lane[i], s + before.length, brake):
            return False
        for j in range(before.previous, before.previous_end):
            further = atlas.previous_lane[j]
            if comes(cars, keys, listed, further, s + before.length + atlas.lanes[further].length, brake):
                return False
    return True


@compiled
def may_cross(world: World, cars: Agents, keys: Any, atlas: Any, me: int) -> bool:
    """Whether all lanes of the way across are clear."""
    car = cars[me]
    cos, sin = math.cos(car.heading), math.sin(car.heading)
    u, last = 0.0, NONE
    while u < car.gap:
        lane, s = lane_at(world, atlas, car.x + u * cos, car.y + u * sin)
        if lane != NONE and lane != last:
            if not clear(cars, keys, world.listed, atlas, lane, s, GENTLE):
                return False
            last = lane
        u += 2.0 * STEP
    return True


@compiled
def next_lane(world: World, atlas: Any, car: Agent, here: int) -> tuple[int, float]:
    """The first lane but ``here`` that it comes to within LOOK m, and the s there; ``(NONE, 0)``: none."""
    cos, sin = math.cos(car.heading), math.sin(car.heading)
    u = STEP
    while u <= LOOK:
        lane, s = lane_at(world, atlas, car.x + u * cos, car.y + u * sin)
        if lane != NONE and lane != here:
            return lane, s
        u += STEP
    return NONE, 0.0


@compiled
def be_seen(world: World, cars: Agents, keys: Any, atlas: Any, me: int) -> None:
    """Lists a jaywalker on its lane, and on the next one if drivers there see it already or can stop for it."""
    car = cars[me]
    here, s = lane_at(world, atlas, car.x, car.y)
    after, there = next_lane(world, atlas, car, here)
    if after != NONE and after != car.lane and after != car.beside:
        brake = HURRIED if car.waiting > LONG else GENTLE
        if not clear(cars, keys, world.listed, atlas, after, there, brake):
            after = NONE
    if here == NONE:
        here, s, after = after, there, NONE
    car.lane, car.s, car.beside, car.beside_s = here, s, after, there
    if here != NONE:
        car.point = find_point(atlas.along, atlas.lanes[here], atlas.lanes[here].point, s)
        car.turn = wrap(car.heading - atlas.points[car.point].heading)


@compiled
def arrive(car: Agent, stream: Any) -> None:
    """It is across, turns round and waits."""
    car.line = car.v = car.waiting = 0.0
    car.level = 0
    car.lane = car.beside = NONE
    car.heading = wrap(car.heading + math.pi)
    car.patience = uniform(stream, PAUSE[0], PAUSE[1])


@compiled
def turn_back(car: Agent) -> None:
    """It goes back to where it came from."""
    car.line = car.gap - car.line
    car.waiting = 0.0
    car.heading = wrap(car.heading + math.pi)


@compiled
def jaywalk(world: World, cars: Agents, keys: Any, atlas: Any, stream: Any, me: int) -> None:
    """One tick of a jaywalker."""
    car = cars[me]
    if car.level == 0:
        car.patience -= SIM_DT
        if car.patience > 0.0 or world.tick % SUBSTEPS != 0:  # the list of vehicles is as old as their decisions
            return
        if not may_cross(world, cars, keys, atlas, me):
            return
        car.level = 1
    cos, sin = math.cos(car.heading), math.sin(car.heading)
    here, _ = lane_at(world, atlas, car.x, car.y)
    onto, s = lane_at(world, atlas, car.x + NEXT * cos, car.y + NEXT * sin)
    seen = onto == car.lane or onto == car.beside
    if onto != NONE and onto != here and not (seen and not comes(cars, keys, world.listed, onto, s, HURRIED)):
        car.v = 0.0
        car.waiting += SIM_DT
        if car.waiting > PATIENCE:
            turn_back(car)
    else:
        car.v = car.desired
        car.waiting = 0.0
        car.x += car.v * cos * SIM_DT
        car.y += car.v * sin * SIM_DT
        car.line += car.v * SIM_DT
        car.odometer += car.v * SIM_DT
    if car.line >= car.gap:
        arrive(car, stream)
    else:
        be_seen(world, cars, keys, atlas, me)
