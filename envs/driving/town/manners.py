"""What rules and drivers make of agents that need not keep the rules: those of policies and of careless drivers."""

from typing import Any

from ..compiled import compiled
from ..maps.graph import RED, SIGNAL, STOP_SIGN
from ..traffic import FREE
from .collisions import record
from .junctions import NEVER, clash, give_back, holds, leave, passage_end, take
from .sight import colour, leader, notice, scan
from .state import ABSENT, DRIVER, NONE, RIGHT_OF_WAY, SIM_DT, Agent, Agents, World

COMMITTED = 4.0  # m/s2: who would have to brake harder to stay out of a zone is treated as coming
HESITATION = 1.0  # s that a policy's vehicle may stand with a reservation
SHYNESS = 1.0  # s ahead of others who are about to enter the way of a driver in a junction


@compiled
def attend(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, me: int) -> None:
    """What a policy's vehicle has to do with the rules: it gets a reservation as soon as it is bound to enter a zone.

    So the drivers who have none yet wait for it. Fills in its leader and gap.
    """
    car = cars[me]
    car.leader, car.gap = NONE, FREE
    if car.lane < 0:
        return
    scan(car, routes[me], atlas.lanes, atlas.stops)
    car.leader, car.gap = leader(cars, keys, world.listed, atlas.lanes, atlas.siblings, routes[me], me, NONE)
    notice(cars, me)
    leave(car)
    if car.zone >= 0 and car.entry > 0.3 and car.v < 0.3:  # it does not use it; who pulls away needs a moment
        car.waiting -= SIM_DT
        if car.waiting < -HESITATION:
            car.waiting = 0.0
            give_back(car)
    if car.line < 3.0 and car.v < 0.3:
        car.halted = 1
    if car.next_zone >= 0 and car.further < 0 and (car.v * car.v > 2.0 * COMMITTED * car.line or car.line < 0.0):
        halted = car.halted
        take(car, routes[me], atlas.lanes)
        car.halted = halted


@compiled
def trespass(world: World, cars: Agents, events: Any, atlas: Any, routes: Any, me: int) -> None:
    """Called when a vehicle's front enters a zone: whether signal, sign or another's reservation forbade it."""
    car = cars[me]
    if car.light >= 0:
        stop = atlas.stops[car.light]
        if stop.kind == SIGNAL and stop.signal >= 0:
            car.against = int(colour(atlas.signals, atlas.phases, world, stop.signal) == RED)
        elif stop.kind == STOP_SIGN:
            car.against = int(car.halted == 0)
    zone = car.further if car.further >= 0 else car.zone
    begin = 0
    while begin < len(routes[me]) - 1 and atlas.lanes[routes[me, begin]].zone != zone:
        begin += 1
        if routes[me, begin] < 0:
            return
    end = passage_end(routes[me], atlas.lanes, begin)
    for k in range(world.agents):
        other = cars[k]
        if k != me and other.controller != ABSENT and holds(other, zone):
            last = other.further_last if other.further >= 0 else other.last
            if clash(atlas.lanes, atlas.conflicts, routes[me], begin, end, other, routes[k], 0, last)[0] != NEVER:
                if other.against == 0 and other.entry < car.entry + 8.0:
                    car.against = 1
                    record(world, events, RIGHT_OF_WAY, cars, me, k, car.v)
                    return


@compiled
def obstructed(world: World, cars: Agents, lanes: Any, conflicts: Any, route: Any, me: int) -> float:
    """The distance to where an agent without manners takes up the way of ``me`` through a junction; FREE: nowhere."""
    nearest = FREE
    for k in range(world.agents):
        other = cars[k]
        orderly = other.controller == DRIVER and other.careless == 0
        if not orderly and other.controller != ABSENT and k != me and other.lane >= 0:
            if lanes[other.lane].zone >= 0:
                nearest = min(nearest, in_the_way(cars[me], other, lanes, conflicts, route))
    return nearest


@compiled
def in_the_way(car: Agent, other: Agent, lanes: Any, conflicts: Any, route: Any) -> float:
    """The distance to where another takes up the way of an agent through a junction, whose lane it is on; or FREE."""
    base = -car.s - 0.5 * car.length
    front, rear = other.s + 0.5 * other.length, other.s - 0.5 * other.length
    nearest = FREE
    for i in range(4):
        if route[i] < 0 or base > 40.0:
            break
        lane = lanes[route[i]]
        if lane.zone == lanes[other.lane].zone:
            for c in range(lane.conflict, lane.conflict_end):
                one = conflicts[c]
                away = base + one.begin - 1.0
                if one.lane == other.lane and away > 0.0 and rear < one.other_end:
                    if front + SHYNESS * other.v + 1.0 > one.other_begin:
                        nearest = min(nearest, away)
        base += lane.length
    return nearest
