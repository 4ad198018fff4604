"""How drivers move: along their lane and route, with the events of lines that are crossed."""

import math
from typing import Any

from ..compiled import compiled, inlined, merged
from ..maps.graph import RED, SIGNAL, STOP_SIGN
from .collisions import record
from .driver import LONG, slide
from .manners import trespass
from .places import advance_route, find_point, put_on_lane, wrap
from .sight import colour
from .state import ABSENT, ARRIVAL, NONE, RED_LIGHT, SIM_DT, STANDSTILL, Agent, Agents, World
from .state import STOP_SIGN as STOP_SIGN_RUN
from .tracking import track
from .vehicle import AXLES, control

EVEN = 0.1  # rad
STILL = 0.1  # m/s
TOO_LONG = 120.0  # s
"""Standing for so long is a standstill."""


@inlined
def cross_lines(
    world: World,
    cars: Agents,
    events: Any,
    lanes: Any,
    stops: Any,
    signals: Any,
    phases: Any,
    route: Any,
    me: int,
    way: float,
) -> None:
    """Notes red lights and stop signs that the front runs while the agent moves on by ``way`` m."""
    car = cars[me]
    front = car.s + 0.5 * car.length
    for j in range(2):
        if route[j] < 0:
            return
        lane = lanes[route[j]]
        for i in range(lane.stop, lane.stop_end):
            stop = stops[i]
            if front <= stop.s < front + way:
                if stop.kind == SIGNAL and stop.signal >= 0 and colour(signals, phases, world, stop.signal) == RED:
                    car.reds += 1
                    record(world, events, RED_LIGHT, cars, me, NONE, car.v)
                if stop.kind == STOP_SIGN and car.halted == 0:
                    car.stops += 1
                    record(world, events, STOP_SIGN_RUN, cars, me, NONE, car.v)
                car.halted = 0
        front -= lane.length
        if front + way <= 0.0:
            return


@inlined
def stand(world: World, cars: Agents, events: Any, me: int) -> None:
    """Counts how long the agent has stood."""
    car = cars[me]
    if abs(car.v) > STILL:
        car.still = 0.0
        return
    before = car.still
    car.still += SIM_DT
    if before <= TOO_LONG < car.still:
        record(world, events, STANDSTILL, cars, me, NONE, car.still)


@compiled
def vanish(car: Agent) -> None:
    """The agent is not there any more."""
    car.controller = ABSENT
    car.lane = car.beside = car.zone = car.further = car.next_zone = NONE


@merged
def steer_on(
    world: World, cars: Agents, events: Any, atlas: Any, stream: Any, routes: Any, command: Any, me: int
) -> bool:
    """One tick of a policy's vehicle; returns False when it leaves the map."""
    car, route = cars[me], routes[me]
    way = control(atlas, car, route, command)
    if car.lane >= 0:
        cross_lines(world, cars, events, atlas.lanes, atlas.stops, atlas.signals, atlas.phases, route, me, way)
    if car.zone >= 0 and car.entry > 0.0 and car.entry <= way:
        trespass(world, cars, events, atlas, routes, me)
    car.entry -= way
    car.odometer += way
    stand(world, cars, events, me)
    if track(world, cars, events, stream, atlas, route, me):
        return True
    record(world, events, ARRIVAL, cars, me, NONE, car.odometer)
    return False


@compiled
def replay(world: World, cars: Agents, events: Any, atlas: Any, stream: Any, routes: Any, log: Any, me: int) -> bool:
    """Puts an agent where its log ``[T, 4]`` says; returns False when the log ends or it leaves the map."""
    car = cars[me]
    at = world.tick + 1
    if at >= len(log) or math.isnan(log[at, 0]):
        return False
    car.a = (log[at, 3] - car.v) / SIM_DT
    way = math.hypot(log[at, 0] - car.x, log[at, 1] - car.y)
    car.x, car.y, car.heading, car.v = log[at, 0], log[at, 1], log[at, 2], log[at, 3]
    car.entry -= way
    car.odometer += way
    stand(world, cars, events, me)
    return track(world, cars, events, stream, atlas, routes[me], me)


@compiled
def axle(atlas: Any, car: Agent, route: Any, ahead: float) -> tuple[float, float, float]:
    """A point of the way's middle ``ahead`` m of a vehicle's: x, y, and the heading there."""
    lane, hint, s = car.lane, car.point, car.s + ahead
    if s > atlas.lanes[lane].length and route[1] >= 0:
        s -= atlas.lanes[lane].length
        lane = route[1]
        hint = atlas.lanes[lane].point
    elif s < 0.0 and car.before >= 0:
        lane = car.before
        s += atlas.lanes[lane].length
        hint = atlas.lanes[lane].final
    point = atlas.points[find_point(atlas.along, atlas.lanes[lane], hint, s)]
    along = s - point.s
    return float(point.x + along * point.cos), float(point.y + along * point.sin), float(point.heading)


@compiled
def cut_corner(atlas: Any, car: Agent, route: Any) -> None:
    """Puts a long vehicle in a bend with both axles over the middle of its way, so that neither end swings out.

    Its middle is then inside the bend. Where the way bends by less than EVEN between its axles it stays where it is; up
    to twice that the two places are blended.
    """
    half = 0.5 * AXLES * car.length
    front_x, front_y, there = axle(atlas, car, route, half)
    rear_x, rear_y, here = axle(atlas, car, route, -half)
    share = min((abs(wrap(there - here)) - EVEN) / EVEN, 1.0)
    if share > 0.0:
        course = math.atan2(front_y - rear_y, front_x - rear_x)
        car.x += share * (0.5 * (front_x + rear_x) - car.d * math.sin(course) - car.x)
        car.y += share * (0.5 * (front_y + rear_y) + car.d * math.cos(course) - car.y)
        car.heading = wrap(car.heading + share * wrap(course + car.turn - car.heading))


@inlined
def move(world: World, cars: Agents, events: Any, atlas: Any, stream: Any, routes: Any, me: int) -> bool:
    """One tick of a driver; returns False when it leaves the map at the end of its route."""
    car, route = cars[me], routes[me]
    v = max(0.0, car.v + car.a * SIM_DT)
    way = 0.5 * (car.v + v) * SIM_DT
    cross_lines(world, cars, events, atlas.lanes, atlas.stops, atlas.signals, atlas.phases, route, me, way)
    car.v = v
    if v <= 0.0:
        car.a = max(car.a, 0.0)
    if car.beside >= 0 or car.d != 0.0:
        slide(world, stream, atlas, car, route)
        car.beside_s += way
    car.s += way
    car.odometer += way
    if car.careless == 1 and car.zone >= 0 and car.entry > 0.0 and car.entry <= way:
        trespass(world, cars, events, atlas, routes, me)
    car.entry -= way
    while car.s > atlas.lanes[car.lane].length:
        if route[1] < 0:
            record(world, events, ARRIVAL, cars, me, NONE, car.odometer)
            return False
        advance_route(world, stream, atlas, car, route)
    put_on_lane(atlas, atlas.lanes[car.lane], car)
    if car.length > LONG:
        cut_corner(atlas, car, route)
    stand(world, cars, events, me)
    return True
