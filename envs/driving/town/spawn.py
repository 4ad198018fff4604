"""How agents come into a world: drawn drivers at the beginning, and at the map's edges for those who left."""

from typing import Any

from ..compiled import compiled, uniform
from ..traffic import FREE
from .driver import trailing
from .lists import enlist_new
from .places import lay_out, put_on_lane
from .sight import first_on
from .state import ABSENT, CAR, DRIVER, LORRY, NONE, Agent, Agents, World

TRIES = 40
START_GAP = 7.0  # m between bodies at the beginning
ENTRY_GAP = 12.0  # m to the one ahead where vehicles come in
START_SPEED = 3.0  # m/s


@compiled
def draw_driver(car: Agent, stream: Any, lorries: float) -> None:
    """Draws a vehicle and its driver; ``lorries`` is their share."""
    lorry = uniform(stream, 0.0, 1.0) < lorries
    pace = uniform(stream, 0.0, 1.0)
    car.kind = LORRY if lorry else CAR
    car.length = uniform(stream, 7.0, 10.0) if lorry else uniform(stream, 4.2, 5.0)
    car.width = 2.4 if lorry else uniform(stream, 1.7, 1.95)
    car.pace = (0.8 + 0.1 * pace) if lorry else (0.85 + 0.2 * pace)
    car.desired = 25.0 if lorry else 50.0
    car.headway = uniform(stream, 1.5, 2.0) if lorry else uniform(stream, 1.0, 1.7)
    car.accel = uniform(stream, 0.8, 1.1) if lorry else uniform(stream, 1.2, 2.2)
    car.brake = uniform(stream, 1.4, 2.0)
    car.politeness = uniform(stream, 0.0, 0.5)
    car.patience = uniform(stream, 0.0, 1.0)


@compiled
def clear(car: Agent) -> None:
    """Forgets all of an agent's past but its counters."""
    car.v = car.a = car.yaw_rate = car.steer = car.pedal = car.d = car.turn = 0.0
    car.beside = car.zone = car.further = car.before = car.next_zone = car.stop = car.light = NONE
    car.leader = car.follower = car.touching = car.touched = NONE
    car.side = car.last = car.further_last = car.halted = car.jammed = car.ready = car.astray = car.bold = (
        car.against
    ) = 0
    car.waiting = car.still = car.entry = 0.0
    car.gap = car.line = FREE


@compiled
def forget(car: Agent) -> None:
    """An empty record."""
    clear(car)
    car.controller, car.length, car.lane, car.goal = ABSENT, 0.0, NONE, NONE
    car.collisions = car.faults = car.reds = car.stops = 0
    car.odometer = car.off = car.wrong = car.imposed = 0.0
    car.careless = 0


@compiled
def put(world: World, stream: Any, atlas: Any, car: Agent, route: Any, lane: int, s: float) -> None:
    """Puts a vehicle on a lane with a new route."""
    clear(car)
    car.lane, car.s = lane, s
    route[0] = lane
    lay_out(world, stream, atlas, route, 1, car.goal)
    car.point = atlas.lanes[lane].point
    put_on_lane(atlas, atlas.lanes[lane], car)


@compiled
def fits(world: World, cars: Agents, keys: Any, atlas: Any, me: int, lane: int, s: float, ahead: float) -> bool:
    """Whether nobody is near on the lane, before it or where others fork off: ``ahead`` m, and START_GAP behind."""
    half = 0.5 * cars[me].length
    one = atlas.lanes[lane]
    for i in range(one.sibling, one.sibling_end):
        near = atlas.siblings[i].clear + START_GAP
        if s - half < near:
            other, rear = first_on(cars, keys, world.listed, atlas.siblings[i].lane, 0.0, me, NONE, 0.0)
            if other >= 0 and rear < near:
                return False
    _, gap = first_on(cars, keys, world.listed, lane, s, me, NONE, -s - half)
    _, back = trailing(cars, keys, world.listed, atlas, lane, s, me)
    return gap > ahead and back - half > START_GAP


@compiled
def last_place(atlas: Any, lane: int) -> float:
    """The s at which fronts may be at the beginning: before the first line of the lane."""
    one = atlas.lanes[lane]
    s = one.length - 1.0
    for i in range(one.stop, one.stop_end):
        s = min(s, atlas.stops[i].s - 3.0)
    return float(s)


@compiled
def start(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, stream: Any, me: int, lorries: float) -> bool:
    """Puts a drawn driver on a drawn free place; returns whether one was found."""
    car = cars[me]
    draw_driver(car, stream, lorries)
    town = atlas.maps[world.map]
    for _ in range(TRIES):
        lane = atlas.starts[town.start + int(uniform(stream, 0.0, town.start_end - town.start))]
        high = last_place(atlas, lane) - 0.5 * car.length
        low = 0.5 * car.length + 1.0
        share = uniform(stream, 0.0, 1.0)
        if high > low and fits(world, cars, keys, atlas, me, lane, low + share * (high - low), START_GAP):
            put(world, stream, atlas, car, routes[me], lane, low + share * (high - low))
            car.controller = DRIVER
            car.v = min(START_SPEED, 0.3 * car.pace * atlas.lanes[lane].limit)
            enlist_new(world, cars, keys)
            return True
    return False


@compiled
def come_in(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, stream: Any, me: int) -> None:
    """Lets a vehicle that left come in again at a drawn edge of the map, if there is room now."""
    car = cars[me]
    town = atlas.maps[world.map]
    lane = atlas.entries[town.entry + int(uniform(stream, 0.0, town.entry_end - town.entry))]
    s = 0.5 * car.length + 0.5
    if s < last_place(atlas, lane) - 0.5 * car.length and fits(world, cars, keys, atlas, me, lane, s, ENTRY_GAP):
        put(world, stream, atlas, car, routes[me], lane, s)
        car.controller = DRIVER
        lead, gap = first_on(cars, keys, world.listed, lane, s, me, NONE, -s - 0.5 * car.length)
        one = atlas.lanes[lane]
        wanted = 0.7 * min(car.pace * one.limit, car.desired, one.bend)
        near = cars[lead].v if lead >= 0 else wanted
        room = min(gap, last_place(atlas, lane) - s)
        car.v = min(wanted, near + 0.2 * gap, 0.4 * room)
        enlist_new(world, cars, keys)
