"""Pedestrians: they wait at a crossing, step onto it when it is safe, and walk to the other side.

At a crossing without a signal, a pedestrian who waits counts as on it: drivers who can stop gently do. A pedestrian
steps onto the road when the signal for vehicles is red, and, with or without one, when every vehicle on the lanes ahead
of it can still stop, or stands. Those who cross elsewhere are in :mod:`.jaywalkers`.

A pedestrian's ``goal`` is not used; ``target`` is its crossing, ``s`` the way walked on it, ``side`` 1 from a to b and
-1 back, ``level`` 1 while it walks.
"""

import math
from typing import Any

from ..compiled import compiled, uniform
from ..maps.graph import RED
from .driver import trailing
from .lists import agent_of, find, key, lane_of, s_of
from .sight import shown
from .state import BUSY, NONE, PERSON, SIM_DT, SUBSTEPS, WAITING, WALKER, Agent, Agents, World

GENTLE = 3.0  # m/s2: braking of vehicles that pedestrians rely on
CAUTION = 3.0  # m that they add
PACE = (1.3, 1.7)  # m/s
PAUSE = (3.0, 25.0)  # s between two crossings
RESPECT = 1.0  # s a vehicle that stands may need to start


@compiled
def overhung(cars: Agents, lane: int, back: float) -> bool:
    """Whether the rear of a vehicle that has left a lane is still ``back`` m before its end, or further."""
    for k in range(len(cars)):
        if cars[k].lane >= 0 and cars[k].before == lane and 0.5 * cars[k].length - cars[k].s > back:
            return True
    return False


@compiled
def safe(cars: Agents, keys: Any, listed: int, atlas: Any, crossing: int) -> bool:
    """Whether all vehicles on the way to the crossing can stop before it and none is on it."""
    one = atlas.crossings[crossing]
    for i in range(one.cover, one.cover_end):
        strip = atlas.covers[i]
        at = find(keys, listed, key(strip.lane, 0.0, 0))
        while at < listed and lane_of(keys[at]) == strip.lane:
            car = cars[agent_of(keys[at])]
            s = s_of(keys[at])
            front, rear = s + 0.5 * car.length, s - 0.5 * car.length
            if rear < strip.end + 0.5 and front > strip.begin - CAUTION - car.v * (RESPECT + car.v / (2.0 * GENTLE)):
                if front > strip.begin - 0.5 or car.v > 0.3:
                    return False
            at += 1
        if overhung(cars, strip.lane, atlas.lanes[strip.lane].length - strip.end - 0.5):
            return False
        k, away = trailing(cars, keys, listed, atlas, strip.lane, 0.0, NONE)
        if k >= 0:
            away += strip.begin
            if cars[k].v > 0.3 and away < CAUTION + cars[k].v * (RESPECT + cars[k].v / (2.0 * GENTLE)):
                return False
    return True


@compiled
def stand_at(atlas: Any, car: Agent) -> None:
    """Fills in the pose of a pedestrian from its way along its crossing."""
    one = atlas.crossings[car.target]
    length = math.hypot(one.bx - one.ax, one.by - one.ay)
    ux, uy = (one.bx - one.ax) / length, (one.by - one.ay) / length
    s = car.s if car.side > 0 else length - car.s
    car.x = one.ax + s * ux - car.d * uy
    car.y = one.ay + s * uy + car.d * ux
    car.heading = math.atan2(uy * car.side, ux * car.side)


@compiled
def walk(world: World, cars: Agents, keys: Any, atlas: Any, crossings: Any, stream: Any, me: int) -> None:
    """One tick of a pedestrian at a crossing."""
    car = cars[me]
    one = atlas.crossings[car.target]
    busy = car.target - atlas.maps[world.map].crossing
    length = math.hypot(one.bx - one.ax, one.by - one.ay)
    if car.level == 0:
        car.patience -= SIM_DT
        if car.patience > 0.0 or world.tick % SUBSTEPS != 0:  # the list of vehicles is as old as their decisions
            return
        may = True
        if one.signal >= 0:
            colour, left = shown(atlas.signals, atlas.phases, world, one.signal)
            may = colour == RED
        elif car.bold == 0:
            car.bold = 1  # asks drivers to stop
            crossings[BUSY, busy] += 1
            crossings[WAITING, busy] += 1
        if may and safe(cars, keys, world.listed, atlas, car.target):
            car.level = 1
            if car.bold == 0:
                crossings[BUSY, busy] += 1
            else:
                crossings[WAITING, busy] -= 1
            car.bold = 1
        return
    car.v = car.desired
    car.s += car.v * SIM_DT
    car.odometer += car.v * SIM_DT
    if car.s >= length:
        car.s = car.v = 0.0
        car.level = car.bold = 0
        car.side = -car.side
        car.patience = uniform(stream, PAUSE[0], PAUSE[1])
        crossings[BUSY, busy] -= 1
    stand_at(atlas, car)


@compiled
def start_walker(world: World, cars: Agents, atlas: Any, stream: Any, me: int) -> bool:
    """Puts a pedestrian at a drawn end of a drawn crossing; returns whether the map has one."""
    car = cars[me]
    town = atlas.maps[world.map]
    if town.crossing_end <= town.crossing:
        return False
    car.controller, car.kind, car.length, car.width = WALKER, PERSON, 0.5, 0.6
    car.desired = uniform(stream, PACE[0], PACE[1])
    car.target = town.crossing + int(uniform(stream, 0.0, town.crossing_end - town.crossing))
    car.side = 1 if uniform(stream, 0.0, 1.0) < 0.5 else -1
    car.patience = uniform(stream, 0.0, PAUSE[1])
    car.d = uniform(stream, -0.3, 0.3) * atlas.crossings[car.target].width
    car.s = car.v = 0.0
    car.level = car.bold = 0
    car.lane = NONE
    stand_at(atlas, car)
    return True
