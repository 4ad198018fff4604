"""On which lane an agent is that moves freely in the plane, and what it does wrong there."""

import math
from typing import Any

from ..compiled import compiled, inlined
from .collisions import record
from .places import advance_route, find_point, lay_out, project, wrap
from .state import NONE, OFF_ROAD, SIM_DT, WRONG_WAY, Agent, Agents, World

AGAINST = 1.0  # m: what a lane of the opposite direction counts as further away, times two
LOYAL = 1.5  # m: what a lane that is not of the route counts as further away
SHY = 0.2  # m of a body that may reach into a lane unnoticed
TURNED = 2.0  # rad from the lane's direction: the wrong way


@compiled
def on_route(route: Any, lane: int) -> int:
    """Index of a lane among the next few of a route, or NONE."""
    for j in range(4):
        if route[j] == lane:
            return j
    return NONE


@compiled
def near_lanes(world: World, atlas: Any, car: Agent, route: Any) -> tuple[int, int, int, bool]:
    """The lane that the agent is on and its point there, another lane that its body is in, and whether it is on any."""
    town = atlas.maps[world.map]
    i, j = int(math.floor((car.x - town.x) / town.cell)), int(math.floor((car.y - town.y) / town.cell))
    best, best_point, other, inside = NONE, 0, NONE, False
    least, second = 1e9, 1e9
    if not (0 <= i < town.nx and 0 <= j < town.ny):
        return best, best_point, other, inside
    square = town.grid + i * town.ny + j
    for g in range(atlas.grid_first[square], atlas.grid_first[square + 1]):
        at = atlas.grid_point[g]
        one = atlas.points[at]
        along = (car.x - one.x) * one.cos + (car.y - one.y) * one.sin
        beyond = max(-along, along - (atlas.points[at + 1].s - one.s), 0.0)
        d = abs((car.y - one.y) * one.cos - (car.x - one.x) * one.sin) + 4.0 * beyond
        if d > 0.5 * (one.width + car.width) - SHY:
            continue
        inside = inside or d <= 0.5 * one.width
        cost = d + AGAINST * (1.0 - math.cos(car.heading - one.heading))
        cost += 0.0 if on_route(route, one.lane) >= 0 else LOYAL
        if cost < least:
            if one.lane != best:
                other, second = best, least
            best, best_point, least = one.lane, at, cost
        elif cost < second and one.lane != best:
            other, second = one.lane, cost
    return best, best_point, other, inside


@compiled
def enter(world: World, stream: Any, atlas: Any, car: Agent, route: Any, lane: int, point: int) -> None:
    """The agent is on another lane now: the next one of its route, or one from which the route is laid out anew."""
    at = on_route(route, lane)
    if at > 0:
        for _ in range(at):
            advance_route(world, stream, atlas, car, route)
    elif at < 0:
        car.before, car.lane = NONE, lane
        car.zone = car.further = NONE
        route[0] = lane
        lay_out(world, stream, atlas, route, 1, car.goal)
    car.point = point


@inlined
def settle(atlas: Any, car: Agent) -> None:
    """Fills in the place on its lane of an agent that has moved in the plane."""
    lane = atlas.lanes[car.lane]
    car.point, car.s, car.d = project(atlas.points, lane, car.point, car.x, car.y)
    car.turn = wrap(car.heading - atlas.points[car.point].heading)


@compiled
def track(world: World, cars: Agents, events: Any, stream: Any, atlas: Any, route: Any, me: int) -> bool:
    """Finds the agent's lane after it has moved; returns False when it has passed the end of its map."""
    car = cars[me]
    inside = True
    if car.lane >= 0:
        settle(atlas, car)
        while car.s > atlas.lanes[car.lane].length:
            if route[1] < 0:
                return False
            advance_route(world, stream, atlas, car, route)
            settle(atlas, car)
    if car.lane < 0 or abs(car.d) > 0.5 * (atlas.points[car.point].width - car.width) or abs(car.turn) > 0.5:
        lane, point, other, inside = near_lanes(world, atlas, car, route)
        if lane >= 0 and lane != car.lane:
            enter(world, stream, atlas, car, route, lane, point)
        car.lane = lane
        car.beside = other
        if lane >= 0:
            settle(atlas, car)
        if other >= 0:
            one = atlas.lanes[other]
            hint = find_point(atlas.along, one, one.point, car.s)
            _, car.beside_s, _ = project(atlas.points, one, hint, car.x, car.y)
    else:
        car.beside = NONE
    offend(world, cars, events, me, inside)
    return True


@inlined
def offend(world: World, cars: Agents, events: Any, me: int, inside: bool) -> None:
    """Counts the time off all lanes and against the traffic, with an event where either begins."""
    car = cars[me]
    if inside:
        car.astray = car.astray & 2
    else:
        car.off += SIM_DT
        if car.astray & 1 == 0:
            record(world, events, OFF_ROAD, cars, me, NONE, car.v)
        car.astray = car.astray | 1
    if car.lane >= 0 and abs(car.turn) > TURNED and car.v > 0.5:
        car.wrong += SIM_DT
        if car.astray & 2 == 0:
            record(world, events, WRONG_WAY, cars, me, NONE, car.v)
        car.astray = car.astray | 2
    else:
        car.astray = car.astray & 1
