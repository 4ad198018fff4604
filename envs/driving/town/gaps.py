"""Gaps in the traffic of the lane beside, as the scripted expert judges them when it changes lane or merges.

MOBIL asks whether a change is worth its while at this moment. A policy's car is seen in the other lane only when its
body reaches into it, by when who follows there has come nearer: :func:`welcome` asks whether it need not brake hard
even then. On a lane that ends, such as one that an on-ramp leads to, a change is asked for as soon as it begins, and
the speed is chosen for a gap (:func:`blend`).
"""

import math
from typing import Any

from ..compiled import compiled
from ..traffic import FREE, JAM_GAP, idm
from .driver import MUST, free, trailing, verdict
from .places import beside
from .problem import distance_of
from .sight import first_on, scan, wished
from .state import NONE, Agent, Agents, World

SETTLING = 1.5  # s from the wish to change lane until the body is seen there
KIND = 3.0  # m/s2: the hardest braking of others for which it changes lane
EQUAL = 10.0  # m: ways that differ less are of one length
LATE_BRAKE = 2.2  # m/s2: how hard it is prepared to brake for the end of its lane
YIELDING = -1.0  # m/s2 by which it falls back to let somebody pass
CLOSE = 10.0  # m, beside the way of 0.6 s: a leader on the other lane is too near to move up to
SLOWEST = 8.0  # m/s to which it falls back
AHEAD = 4  # lanes of the route whose limits are looked at
SPARE, LAG = 3.0, 0.3  # m and s before a lower limit at which its speed is to be reached
EASY, HARDEST_SLOWING = 0.8, 3.5  # m/s2: decelerations that may wait, and the hardest for a limit


@compiled
def slow_down(lanes: Any, car: Agent, route: Any) -> float:
    """The acceleration that brings the speed to a lower limit ahead in time, m/s2; FREE where none asks for much.

    Traffic is at the new limit with its middle where that begins; a policy's car is judged there, and pedals lag.
    """
    base = -car.s
    a = FREE
    for j in range(1, AHEAD):
        base += lanes[route[j - 1]].length
        if route[j] < 0 or base > car.v * car.v:
            break
        lane = lanes[route[j]]
        ahead = min(wished(car, lane.limit), lane.bend)
        needed = (car.v * car.v - ahead * ahead) / (2.0 * max(base - SPARE - LAG * car.v, 1.0))
        if car.v > ahead and needed > EASY:
            a = min(a, -needed)
    return float(max(a, -HARDEST_SLOWING))


@compiled
def welcome(world: World, cars: Agents, keys: Any, atlas: Any, me: int, lane: int) -> bool:
    """Whether who follows on ``lane`` need not brake hard for ``me`` when its body gets there."""
    car = cars[me]
    _, s, _ = beside(atlas, car, lane)
    k, back = trailing(cars, keys, world.listed, atlas, lane, s, me)
    if k < 0:
        return True
    other = cars[k]
    back -= 0.5 * car.length + max(other.v - car.v, 0.0) * SETTLING
    if back < JAM_GAP:
        return False
    wanted = max(wished(other, atlas.lanes[lane].limit), other.v)
    return idm(other.v, car.v, back, wanted, other.headway, other.accel, other.brake) > -KIND


@compiled
def worth_changing(world: World, cars: Agents, keys: Any, atlas: Any, me: int, lane: int, needed: int) -> float:
    """MOBIL's verdict on a change into ``lane``, with MUST for the one that is ``needed``; -inf where it is unkind."""
    if not welcome(world, cars, keys, atlas, me, lane):
        return -math.inf
    gain = verdict(world, cars, keys, atlas, me, lane)
    return gain + MUST if lane == needed else gain


@compiled
def merging(atlas: Any, car: Agent, route: Any) -> int:
    """The lane beside into which the agent's own ends, which has to give way to it; NONE where there is none."""
    lane = atlas.lanes[car.lane]
    if lane.zone >= 0 or route[1] < 0 or car.goal < 0:
        return NONE
    after = atlas.lanes[route[1]]
    if after.zone < 0 or lane.stop < lane.stop_end or after.stop < after.stop_end:
        return NONE
    gives_way = False
    for c in range(after.conflict, after.conflict_end):
        gives_way = gives_way or (atlas.conflicts[c].merge == 1 and atlas.conflicts[c].priority < 0)
    if gives_way:
        for other in (lane.left, lane.right):
            if other != NONE and atlas.lanes[other].zone < 0:
                if distance_of(atlas, car.goal, other) < distance_of(atlas, car.goal, car.lane) + EQUAL:
                    return int(other)
    return NONE


@compiled
def blend(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, me: int, plan: int, wanted: float) -> float:
    """The acceleration on a lane that ends: late brakes before its end, and a speed that fits a gap beside it.

    Args:
        world: of the agent.
        cars: its agents.
        keys: its list.
        atlas: all maps.
        routes: of the agents.
        me: the agent.
        plan: the lane that it changes into already, or NONE.
        wanted: its driver's acceleration, m/s2.
    """
    car = cars[me]
    target = merging(atlas, car, routes[me])
    if target == NONE:
        return wanted
    if car.next_zone >= 0 and car.v * car.v < 2.0 * LATE_BRAKE * (car.line - JAM_GAP):
        allowed = scan(car, routes[me], atlas.lanes, atlas.stops)
        wanted = free(car.v, allowed, car.accel)
        if car.leader >= 0:
            speed = cars[car.leader].v
            wanted = min(wanted, idm(car.v, speed, car.gap, max(allowed, car.v), car.headway, car.accel, car.brake))
    if plan != NONE or welcome(world, cars, keys, atlas, me, target):
        return wanted
    _, s, _ = beside(atlas, car, target)
    half = 0.5 * car.length
    tail, back = trailing(cars, keys, world.listed, atlas, target, s, me)
    lead, gap = first_on(cars, keys, world.listed, target, s, me, NONE, -s - half)
    stuck = lead >= 0 and gap < CLOSE + 0.6 * car.v
    if tail >= 0 and car.v > SLOWEST and (stuck or cars[tail].v > car.v + 2.0 and back - half < CLOSE + car.v):
        wanted = min(wanted, YIELDING)
    return wanted
