"""What an agent sees ahead along its route: its leader, its speed limits, the next stop line and conflict zone."""

import math
from typing import Any

from ..compiled import compiled, inlined
from ..traffic import FREE
from .lists import agent_of, find, key, lane_of, s_of, taken
from .state import NONE, ROUTE, SIM_DT, Agent, Agents, World

SIGHT = 90.0  # m that drivers look for leaders, from the end of their present lane at least
GENTLE = 1.5  # m/s2: deceleration towards a lower limit ahead
NEAR = 30.0  # m: a stop line so far before a conflict zone belongs to it
FORK = 40.0  # m of a lane within which a lane that begins beside it may matter


@compiled
def shown(signals: Any, phases: Any, world: World, signal: int) -> tuple[int, float]:
    """Colour of a signal now, and the seconds until its phase ends."""
    one = signals[signal]
    left = ((world.tick + world.first_tick) * SIM_DT + one.offset) % one.cycle
    for i in range(one.phase, one.phase_end):
        left -= phases[i].seconds
        if left < 0.0:
            return int(phases[i].colour), -left
    return int(phases[one.phase_end - 1].colour), 0.0


@compiled
def colour(signals: Any, phases: Any, world: World, signal: int) -> int:
    """Colour of a signal now."""
    return shown(signals, phases, world, signal)[0]


@inlined
def first_on(
    cars: Agents, keys: Any, listed: int, lane: int, s: float, me: int, skip: int, base: float
) -> tuple[int, float]:
    """The first agent on ``lane`` ahead of ``s``, and the distance of its rear to where the lane is ``base`` m away."""
    if not taken(keys, lane):
        return NONE, FREE
    at = find(keys, listed, key(lane, s, me))
    while at < listed and lane_of(keys[at]) == lane:
        other = agent_of(keys[at])
        if other != me and other != skip:
            return other, base + s_of(keys[at]) - 0.5 * cars[other].length
        at += 1
    return NONE, FREE


@compiled
def forking(
    cars: Agents, keys: Any, listed: int, siblings: Any, begin: int, end: int, s: float, me: int, skip: int, base: float
) -> tuple[int, float]:
    """Like :func:`first_on`, on the lanes ``siblings[begin:end]`` that fork off: who is not yet clear of the other."""
    best, gap = NONE, FREE
    for i in range(begin, end):
        one = siblings[i]
        other, away = first_on(cars, keys, listed, one.lane, s, me, skip, base)
        if other >= 0 and away < gap and away - base < one.clear:
            best, gap = other, away
    return best, gap


@inlined
def leader(
    cars: Agents, keys: Any, listed: int, lanes: Any, siblings: Any, route: Any, me: int, skip: int
) -> tuple[int, float]:
    """Who is ahead of ``me`` along its route, and the gap from bumper to bumper; ``(NONE, FREE)``: nobody in sight.

    Args:
        cars: agents of the world.
        keys: its list.
        listed: entries of it.
        lanes: of the atlas.
        siblings: of the atlas.
        route: of the agent.
        me: the agent.
        skip: an agent to look through, or NONE.
    """
    car = cars[me]
    base = -car.s - 0.5 * car.length
    best, gap = NONE, FREE
    for j in range(ROUTE):
        lane = route[j]
        if lane < 0 or base > SIGHT:
            break
        s = car.s if j == 0 else 0.0
        other, away = first_on(cars, keys, listed, lane, s, me, skip, base)
        if other >= 0 and away < gap:
            best, gap = other, away
        one = lanes[lane]
        if one.sibling < one.sibling_end and s < FORK:
            other, away = forking(cars, keys, listed, siblings, one.sibling, one.sibling_end, s, me, skip, base)
            if other >= 0 and away < gap:
                best, gap = other, away
        if best >= 0:
            break
        base += one.length
    return best, gap


@inlined
def notice(cars: Agents, me: int) -> None:
    """Notes ``me`` with its leader, as the nearest who follows it."""
    k = cars[me].leader
    if k >= 0 and (cars[k].follower < 0 or cars[me].gap < cars[cars[k].follower].gap):
        cars[k].follower = me


@compiled
def wished(car: Agent, limit: float) -> float:
    """The speed that a driver wants where ``limit`` is allowed."""
    return max(min(car.pace * limit, car.desired), 1.0)


@inlined
def scan(car: Agent, route: Any, lanes: Any, stops: Any) -> float:
    """Looks along the route for the next stop line and conflict zone that the agent holds no reservation of.

    Fills in ``next_zone, next_at, stop, line``. Returns the speed that limits and bends allow now, m/s.
    """
    front = car.s + 0.5 * car.length
    horizon = 25.0 + car.v * (1.5 + car.v / (2.0 * GENTLE))
    held = car.further_last if car.further >= 0 else (car.last if car.zone >= 0 else -1)
    lane = lanes[route[0]]
    allowed = min(wished(car, lane.limit), lane.bend)
    car.next_zone = car.stop = NONE
    car.line = FREE
    done = False
    base = -front  # of the lane's beginning, from the front bumper
    for j in range(ROUTE):
        if route[j] < 0 or base > horizon:
            break
        lane = lanes[route[j]]
        if j > 0:
            ahead = min(wished(car, lane.limit), lane.bend)
            allowed = min(allowed, math.sqrt(ahead * ahead + 2.0 * GENTLE * max(base + 0.5 * car.length, 0.0)))
        if not done and j > held:
            there = base + lane.hold if lane.zone >= 0 else FREE
            for i in range(lane.stop, lane.stop_end):
                away = base + stops[i].s
                if car.stop < 0 and -0.5 < away < there + 0.5:
                    car.stop, car.line = i, away
            if lane.zone >= 0:
                done = True
                if car.stop < 0 or there - car.line < NEAR:
                    car.next_zone, car.next_at = lane.zone, j
                    car.line = min(car.line, there)
        base += lane.length
    return float(allowed)
