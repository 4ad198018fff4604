"""The rule-following driver: IDM behind leaders and lines, MOBIL for changes of lane."""

import math
from typing import Any

from ..compiled import compiled, inlined, merged
from ..maps.graph import SIGNAL
from ..traffic import FREE, HARDEST_BRAKING, JAM_GAP, THINKING, idm, mobil
from .collisions import record
from .junctions import (
    COMFORT,
    EARLY,
    allowed,
    give_back,
    grant,
    holds,
    leads,
    leave,
    stops_at,
    swap_lanes,
    take,
    wait,
    yield_to_signal,
)
from .lists import agent_of, find, key, lane_of, s_of, taken
from .manners import obstructed
from .places import beside, lay_out
from .sight import first_on, leader, notice, scan, shown, wished
from .state import BRAKING, BUSY, NONE, SIM_DT, WAITING, Agent, Agents, World

LINE_GAP = 0.4  # m before a line at which drivers stop
CREEP = 1.0  # m before a line: nearer than that no vehicle brakes less than it takes to stop before it
LONG = 6.0  # m: longer vehicles turn so that neither end swings into another lane
LATERAL_SPEED = 1.2  # m/s of a change of lane
ROOM = 20.0  # m of a lane that must be left, beside the way of 4 s, to begin a change
PATIENCE = 5.0  # s from the beginning of a change of lane to the next thought
BACK = 80.0  # m that drivers look back
MUST = 3.0  # m/s2: what a lane that leads to the goal is worth
SOFT = 2.5  # m/s2: braking down to a lower limit is not harder
HARSH = 4.0  # m/s2: braking that is more than an inconvenience
CUT = 1.0  # m by which the gap has shrunk in one tick where somebody came in
BOLDNESS = 25  # of 100 zones: how often a careless driver ignores the rules
PAST = -1.0  # m: whose front is so far beyond its line is in the zone already, whatever the reason
ZEBRA = 5.0  # m/s2: the hardest braking for pedestrians that drivers who see them late are capable of


@compiled
def free(v: float, wanted: float, accel: float) -> float:
    """IDM's acceleration on a free road; above the wanted speed a gentle deceleration."""
    return max(accel * (1.0 - (v / wanted) ** 4), -SOFT)


@compiled
def following(car: Agent, v_lead: float, gap: float) -> float:
    """:func:`..traffic.idm` with the driver's own parameters, for comparing lanes."""
    return idm(car.v, v_lead, gap, max(car.desired * car.pace, 1.0), car.headway, car.accel, car.brake)


@compiled
def hold_back(car: Agent, away: float) -> float:
    """The acceleration of stopping at a line ``away`` m ahead of the front; none if that is FREE."""
    if away >= FREE:
        return HARDEST_BRAKING
    a = idm(car.v, 0.0, away + JAM_GAP - LINE_GAP, max(car.desired, 1.0), car.headway * 0.5, car.accel, car.brake)
    needed = car.v * car.v / (2.0 * max(away - 0.1, 0.05))
    return max(min(a, -needed), -HARDEST_BRAKING) if needed > COMFORT or away < CREEP else a


@compiled
def pedestrians(crossings: Any, car: Agent, route: Any, lanes: Any, strips: Any, first: int) -> float:
    """The distance to the next crossing that is taken and that the agent can still stop at; FREE: none.

    Pedestrians who wait take it as well, but not from drivers in a junction, who would stand in each other's way.
    """
    inside = car.zone >= 0 and car.entry <= 0.0
    base = -car.s - 0.5 * car.length
    reach = 10.0 + car.v * (1.0 + car.v / 4.0)
    for j in range(len(route)):
        if route[j] < 0 or base > reach:
            break
        lane = lanes[route[j]]
        for i in range(lane.strip, lane.strip_end):
            away = base + strips[i].begin - 0.5
            at = strips[i].crossing - first
            count = crossings[BUSY, at] - (crossings[WAITING, at] if inside else 0)
            if count > 0 and away > 0.0 and car.v * car.v < 2.0 * ZEBRA * away:
                return float(away)
        base += lane.length
    return FREE


@compiled
def dice(tick: int, me: int) -> int:
    """A number from 0 to 99 that hangs on nothing but the time and the agent."""
    mixed = (tick * 2654435761 + me * 40503 * 65537 + 12345) % 4294967296
    return int((mixed ^ (mixed >> 15)) * 2246822519 % 4294967296 >> 8) % 100


@merged
def reserve(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, crossings: Any, me: int) -> bool:
    """Deals with the line ahead, which is near; returns whether the agent has to stop there."""
    car = cars[me]
    wait(car)
    go = allowed(atlas.stops, atlas.signals, atlas.phases, world, car)
    if car.next_zone < 0:
        stop = atlas.stops[car.stop]
        if go or stop.kind != SIGNAL:
            return not go
        colour, left = shown(atlas.signals, atlas.phases, world, stop.signal)
        return stops_at(cars, car, colour, left, car.line)
    if car.careless == 1 and car.bold == 0:
        car.bold = 1 if dice(world.tick, me) < BOLDNESS else 2
    was_ready = car.ready
    car.ready = int(go and car.further < 0 and leads(cars, car))
    asks = was_ready == 1 and car.ready == 1  # nobody asks before the others have seen that it is ready
    if car.line < PAST or car.bold == 1 or (asks and grant(world, cars, keys, atlas, routes, crossings, me)):
        take(car, routes[me], atlas.lanes)
        return False
    return True


@merged
def react(
    world: World, cars: Agents, keys: Any, events: Any, lanes: Any, siblings: Any, route: Any, me: int, wanted: float
) -> float:
    """Finds the leader, and the acceleration of following it; notes who came in so near that ``me`` has to brake."""
    car = cars[me]
    k, gap = leader(cars, keys, world.listed, lanes, siblings, route, me, NONE)
    if car.beside >= 0 and car.side != 0:
        other, away = first_on(cars, keys, world.listed, car.beside, car.beside_s, me, NONE, -car.beside_s)
        away -= 0.5 * car.length
        if other >= 0 and away < gap:
            k, gap = other, away
    a = HARDEST_BRAKING
    if k >= 0:
        speed = cars[k].v if abs(cars[k].turn) < 0.5 else cars[k].v * math.cos(cars[k].turn)
        a = idm(car.v, speed, gap, max(wanted, car.v), car.headway, car.accel, car.brake)
        if a < -HARSH and k != car.leader and car.gap > gap + CUT:
            cars[k].imposed = max(cars[k].imposed, -a)
            record(world, events, BRAKING, cars, k, me, -a)
    car.leader, car.gap = k, gap
    notice(cars, me)
    return a


@compiled
def without(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, me: int) -> tuple[float, float]:
    """The acceleration of who follows ``me``, and what it would be were ``me`` not there; NaN: nobody follows."""
    k = cars[me].follower
    if k < 0 or cars[k].lane < 0:
        return math.nan, math.nan
    car = cars[k]
    other, gap = leader(cars, keys, world.listed, atlas.lanes, atlas.siblings, routes[k], k, me)
    limit = wished(car, atlas.lanes[car.lane].limit)
    a = free(car.v, limit, car.accel)
    if other >= 0:
        a = min(a, idm(car.v, cars[other].v, gap, max(limit, car.v), car.headway, car.accel, car.brake))
    return car.a, max(a, car.a)


@inlined
def drive(world: World, cars: Agents, keys: Any, events: Any, atlas: Any, routes: Any, crossings: Any, me: int) -> None:
    """Decides the acceleration of one driver."""
    car = cars[me]
    route = routes[me]
    wanted = scan(car, route, atlas.lanes, atlas.stops)
    a = min(
        free(car.v, wanted, car.accel), react(world, cars, keys, events, atlas.lanes, atlas.siblings, route, me, wanted)
    )
    leave(car)
    if car.zone >= 0 and car.entry > 0.0 and car.leader >= 0 and car.gap < car.entry:
        held = car.further if car.further >= 0 else car.zone
        if not holds(cars[car.leader], held):  # somebody has come in before it who holds nothing
            give_back(car)
    if car.zone >= 0 and car.entry > 0.0 and car.light >= 0 and car.bold != 1:
        yield_to_signal(atlas.stops, atlas.signals, atlas.phases, world, cars, car)
    if car.line < EARLY + car.v * (1.0 + car.v / (2.0 * COMFORT)):
        if reserve(world, cars, keys, atlas, routes, crossings, me):
            a = min(a, hold_back(car, car.line))
    else:
        car.ready = 0
        if car.zone < 0:
            car.bold = 0
    if world.unruly > 0 and car.zone >= 0:
        a = min(a, hold_back(car, obstructed(world, cars, atlas.lanes, atlas.conflicts, route, me)))
    if world.walking > 0:
        first = atlas.maps[world.map].crossing
        a = min(a, hold_back(car, pedestrians(crossings, car, route, atlas.lanes, atlas.strips, first)))
    car.a = max(a, -car.v / SIM_DT)


@compiled
def trailing(cars: Agents, keys: Any, listed: int, atlas: Any, lane: int, s: float, me: int) -> tuple[int, float]:
    """Who follows at a place of a lane, and the distance of its front to that place; ``(NONE, FREE)``: nobody near."""
    at = find(keys, listed, key(lane, s, me)) - 1
    while at >= 0 and lane_of(keys[at]) == lane:
        other = agent_of(keys[at])
        if other != me:
            return other, s - s_of(keys[at]) - 0.5 * cars[other].length
        at -= 1
    best, gap = NONE, FREE
    one = atlas.lanes[lane]
    if s < BACK:
        for i in range(one.previous, one.previous_end):
            before = atlas.previous_lane[i]
            if not taken(keys, before):
                continue
            at = find(keys, listed, key(before, 1e9, 0)) - 1
            while at >= 0 and (lane_of(keys[at]) != before or agent_of(keys[at]) == me):
                at = at - 1 if lane_of(keys[at]) == before else -1
            if at >= 0:
                other = agent_of(keys[at])
                away = s + atlas.lanes[before].length - s_of(keys[at]) - 0.5 * cars[other].length
                if away < gap:
                    best, gap = other, away
    return best, gap


@compiled
def worth(world: World, atlas: Any, car: Agent, lane: int) -> float:
    """What the way asks for: MUST where ``lane`` leads on and the present one does not, -MUST the other way round."""
    here, there = atlas.lanes[car.lane], atlas.lanes[lane]
    if car.goal >= 0:
        row = atlas.goal_first[car.goal] - atlas.maps[world.map].lane
        mine, other = atlas.goal_distance[row + car.lane], atlas.goal_distance[row + lane]
        return MUST if other < mine - 1.0 else (-MUST if other > mine + 1.0 else 0.0)
    return MUST * (int(there.next_end > there.next) - int(here.next_end > here.next))


@compiled
def forked(cars: Agents, atlas: Any, lane: int, s: float, half: float) -> bool:
    """Whether a road user beside ``s`` of a lane is on one that forks from it, and not yet clear of it."""
    one = atlas.lanes[lane]
    for i in range(one.sibling, one.sibling_end):
        other = atlas.siblings[i]
        for k in range(len(cars)):
            reach = half + 0.5 * cars[k].length
            if cars[k].lane == other.lane and abs(cars[k].s - s) < reach + JAM_GAP:
                if min(cars[k].s - 0.5 * cars[k].length, s - half) < other.clear:
                    return True
    return False


@compiled
def verdict(world: World, cars: Agents, keys: Any, atlas: Any, me: int, lane: int) -> float:
    """MOBIL's verdict on a change into ``lane``, with what the way asks for; see :func:`..traffic.mobil`."""
    car = cars[me]
    listed = world.listed
    _, s, _ = beside(atlas, car, lane)
    half = 0.5 * car.length
    lead, gap = first_on(cars, keys, listed, lane, s, me, NONE, -s - half)
    tail, back = trailing(cars, keys, listed, atlas, lane, s, me)
    back -= half
    if gap < JAM_GAP or back < JAM_GAP or forked(cars, atlas, lane, s, half):
        return -math.inf
    v_lead = cars[lead].v if lead >= 0 else FREE
    own = following(car, cars[car.leader].v if car.leader >= 0 else FREE, car.gap)
    new_own = following(car, v_lead, gap)
    tail_now = tail_then = old_now = old_then = 0.0
    if tail >= 0:
        tail_now = following(cars[tail], v_lead, gap + back + car.length)
        tail_then = following(cars[tail], car.v, back)
    old, left = trailing(cars, keys, listed, atlas, car.lane, car.s, me)
    if old >= 0:
        left -= half
        old_now = following(cars[old], car.v, left)
        old_then = following(cars[old], cars[car.leader].v if car.leader >= 0 else FREE, left + car.gap + car.length)
    gain = mobil(own, new_own, tail_now, tail_then, old_now, old_then, car.politeness)
    return gain + worth(world, atlas, car, lane)


@compiled
def think(world: World, cars: Agents, keys: Any, atlas: Any, me: int) -> bool:
    """One thought about changing lane; returns whether a change begins."""
    car = cars[me]
    car.patience = THINKING
    lane = atlas.lanes[car.lane]
    way = ROOM + 4.0 * car.v
    if lane.zone >= 0 and car.s + way > lane.hold or car.s + way > lane.length or car.s < 5.0 or car.v < 0.5:
        return False
    best, goal, side = 0.0, NONE, 0
    for turn in range(-1, 2, 2):
        other = lane.left if turn > 0 else lane.right
        if other >= 0 and atlas.lanes[other].kind == 0 and atlas.lanes[other].zone < 0:
            gain = verdict(world, cars, keys, atlas, me, other)
            if gain > best:
                best, goal, side = gain, other, turn
    if goal < 0:
        return False
    _, s, _ = beside(atlas, car, goal)
    car.beside, car.beside_s, car.side = goal, s, side
    car.patience = PATIENCE
    return True


@compiled
def keep_in(atlas: Any, car: Agent) -> None:
    """Turns a long vehicle no more than that both its ends stay within the two lanes of its change."""
    room = 0.5 * (atlas.points[car.point].width - car.width) + abs(car.d)
    most = math.asin(min(max(room / (0.5 * car.length), 0.0), 1.0))
    car.turn = min(max(car.turn, -most), most)


@compiled
def slide(world: World, stream: Any, atlas: Any, car: Agent, route: Any) -> None:
    """The sideways part of a change of lane in one tick; swaps the lanes half way."""
    if car.beside < 0:
        car.d -= math.copysign(min(abs(car.d), LATERAL_SPEED * SIM_DT), car.d)
        car.turn = 0.0
        return
    point, s, d = beside(atlas, car, car.beside)
    drift = car.side * LATERAL_SPEED * min(1.0, car.v / 3.0)
    if abs(d) < abs(car.d):
        old = car.lane
        car.lane, car.point, car.beside_s, car.s, car.d = car.beside, point, car.s, s, d
        car.beside = old
        car.before = NONE
        route[0] = car.lane
        lay_out(world, stream, atlas, route, 1, car.goal)
        swap_lanes(car)
    else:
        car.beside_s = s
    if car.d * car.side < 0.0 and abs(car.d) <= abs(drift) * SIM_DT + 1e-3:
        car.d, car.turn, car.beside, car.side = 0.0, 0.0, NONE, 0
    else:
        car.d += drift * SIM_DT
        car.turn = math.atan2(drift, max(car.v, 1.0))
        if car.length > LONG:
            keep_in(atlas, car)
