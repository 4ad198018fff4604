"""Traffic that follows (IDM) and changes lanes (MOBIL), and reacts to the ego like to anyone else.

The vehicles live on a ring that travels with the ego: whoever falls half a ring behind reappears half a ring ahead, and
the neighbours across that seam are neighbours for the models too, so nothing ever appears in front of anybody.

Sources: Treiber, Hennecke and Helbing, Congested traffic states in empirical observations and microscopic simulations
(2000), eqs. 2-3 (IDM); Kesting, Treiber and Helbing, General lane-changing model MOBIL for car-following models (2007),
eqs. 2-3 (MOBIL, symmetric rules).
"""

import math
from typing import Any

from .compiled import compiled
from .roads import curvature
from .state import LANE_WIDTH, SIM_DT, Cars, Vehicle, World

JAM_GAP = 2.0  # s0
HARDEST_BRAKING = 9.0  # physical limit of any driver's deceleration
SAFE_BRAKING = 4.0  # b_safe: what a lane change may impose on the new follower
THRESHOLD = 0.1  # a_th: the advantage worth a lane change
LATERAL_SPEED = 1.2  # of a lane change: about three seconds
SIGHT = 150.0  # how far drivers look
THINKING = 1.0  # seconds between two thoughts about changing lane
PATIENCE = 4.0  # seconds from the beginning of a lane change to the next thought
FREE = 1e9  # the gap to nobody


@compiled
def idm(v: float, v_lead: float, gap: float, desired: float, headway: float, accel: float, brake: float) -> float:
    """The intelligent driver's acceleration in m/s2.

    ``a [1 - (v / v0)^4 - (s* / s)^2]`` with the desired gap ``s* = s0 + max(0, v T + v (v - v_lead) / (2 sqrt(a b)))``,
    and never below the hardest braking. (The maximum is Treiber and Kesting's, Traffic Flow Dynamics (2013), eq. 11.15:
    without it, a fast leader would repel.)

    Args:
        v: own speed.
        v_lead: speed of the vehicle ahead.
        gap: bumper to bumper.
        desired: v0.
        headway: T.
        accel: a.
        brake: b, positive.
    """
    wanted = JAM_GAP + max(0.0, v * headway + v * (v - v_lead) / (2.0 * math.sqrt(accel * brake)))
    ratio = wanted / max(gap, 0.1)
    return max(accel * (1.0 - (v / desired) ** 4 - ratio * ratio), -HARDEST_BRAKING)


@compiled
def mobil(
    own: float, new_own: float, follower: float, new_follower: float, old: float, new_old: float, politeness: float
) -> float:
    """MOBIL's verdict on one lane change: how far its incentive exceeds the threshold (m/s2); change if positive.

    ``(a~_c - a_c) + p [(a~_n - a_n) + (a~_o - a_o)] - a_th``, or minus infinity when the change would be unsafe:
    the new follower, or the changer itself, would have to brake harder than b_safe.

    Args:
        own: acceleration now (a_c).
        new_own: acceleration after the change.
        follower: acceleration of the new follower now (a_n).
        new_follower: the same after the change.
        old: acceleration of the follower left behind now (a_o).
        new_old: the same after the change.
        politeness: p; 0 is an egoist.
    """
    if new_follower < -SAFE_BRAKING or new_own < -SAFE_BRAKING:
        return -math.inf
    return new_own - own + politeness * (new_follower - follower + new_old - old) - THRESHOLD


@compiled
def behind(car: Vehicle, v_lead: float, gap: float) -> float:
    """:func:`idm` with ``car``'s own parameters."""
    return idm(car.v, v_lead, gap, car.desired, car.headway, car.accel, car.brake)


@compiled
def takes(car: Vehicle, lane: int) -> bool:
    """Whether ``car`` takes up ``lane`` (a vehicle that changes lane takes up both)."""
    return min(car.lane, car.target) <= lane <= max(car.lane, car.target)


@compiled
def sort(world: World, cars: Cars, order: Any) -> None:
    """Moves far vehicles across the seam and restores ``order`` (by s; an insertion sort of nearly sorted indices)."""
    for k in range(1, world.vehicles):
        away = cars[k].s - cars[0].s
        if away > 0.5 * world.ring:
            cars[k].s -= world.ring
        elif away < -0.5 * world.ring:
            cars[k].s += world.ring
    for i in range(1, world.vehicles):
        k, j = order[i], i - 1
        while j >= 0 and cars[order[j]].s > cars[k].s:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = k
    for i in range(world.vehicles):
        if order[i] == 0:
            world.rank = i


@compiled
def neighbour(world: World, cars: Cars, order: Any, rank: int, lane: int, way: int, nth: int) -> tuple[int, float]:
    """The nth vehicle in ``lane`` ahead of (``way`` 1) or behind (-1) the one at ``order[rank]``.

    Returns:
        Its index and the bumper-to-bumper gap (negative alongside); ``(-1, FREE)`` if nobody is in sight.
    """
    me = order[rank]
    found = 0
    for step in range(1, world.vehicles):
        at = rank + way * step
        wraps = 1 if at >= world.vehicles else (-1 if at < 0 else 0)
        k = order[at - wraps * world.vehicles]
        distance = way * (cars[k].s + wraps * world.ring - cars[me].s)
        if distance > SIGHT:
            break
        if takes(cars[k], lane):
            found += 1
            if found == nth:
                return k, distance - 0.5 * (cars[k].length + cars[me].length)
    return -1, FREE


@compiled
def follow(world: World, cars: Cars, order: Any, rank: int, lane: int) -> float:
    """IDM acceleration of the vehicle at ``order[rank]`` behind its leader in ``lane``."""
    k, gap = neighbour(world, cars, order, rank, lane, 1, 1)
    me = cars[order[rank]]
    return behind(me, cars[k].v if k >= 0 else me.v, gap)


@compiled
def leaving(world: World, cars: Cars, order: Any, rank: int) -> tuple[float, float, float]:
    """What MOBIL needs to know of the present lane of the vehicle at ``order[rank]``: a_c, a_o and a~_o."""
    me = cars[order[rank]]
    lead, gap = neighbour(world, cars, order, rank, me.lane, 1, 1)
    v_lead = cars[lead].v if lead >= 0 else FREE
    own = behind(me, v_lead, gap)
    old, room = neighbour(world, cars, order, rank, me.lane, -1, 1)
    if old < 0:
        return own, 0.0, 0.0
    return own, behind(cars[old], me.v, room), behind(cars[old], v_lead, room + me.length + gap)


@compiled
def verdict(
    world: World, cars: Cars, order: Any, rank: int, lane: int, own: float, old: float, new_old: float
) -> float:
    """:func:`mobil` for the vehicle at ``order[rank]`` moving into ``lane``, given what it is :func:`leaving`."""
    me = cars[order[rank]]
    lead, gap = neighbour(world, cars, order, rank, lane, 1, 1)
    tail, room = neighbour(world, cars, order, rank, lane, -1, 1)
    if gap < JAM_GAP or room < JAM_GAP:
        return -math.inf
    v_lead = cars[lead].v if lead >= 0 else FREE
    new_own = behind(me, v_lead, gap)
    tail_now = tail_then = 0.0
    if tail >= 0:
        tail_now = behind(cars[tail], v_lead, gap + room + me.length)
        tail_then = behind(cars[tail], me.v, room)
    return mobil(own, new_own, tail_now, tail_then, old, new_old, me.politeness)


@compiled
def choose_lane(world: World, cars: Cars, order: Any, rank: int) -> None:
    """One driver's thought: begins the better of the two lane changes if MOBIL favours it."""
    me = cars[order[rank]]
    own, old, new_old = leaving(world, cars, order, rank)
    best = 0.0
    goal = me.lane
    for lane in (me.lane - 1, me.lane + 1):
        if 0 <= lane < world.lanes:
            gain = verdict(world, cars, order, rank, lane, own, old, new_old)
            if gain > best:
                best, goal = gain, lane
    me.patience = THINKING
    if goal != me.lane:
        me.target = goal
        me.patience = PATIENCE


@compiled
def move(world: World, car: Vehicle) -> None:
    """Advances one vehicle by one simulation step: ballistic along the road, a bounded drift across it."""
    v = max(0.0, car.v + car.a * SIM_DT)
    car.s += 0.5 * (car.v + v) * SIM_DT / (1.0 - curvature(world, car.s) * car.d)
    car.v = v
    off = car.target * LANE_WIDTH - car.d
    if car.lane != car.target or abs(off) > 1e-9:
        car.slip = math.copysign(min(LATERAL_SPEED, 0.2 + abs(off), abs(off) / SIM_DT), off)
        car.d += car.slip * SIM_DT
        if abs(car.target * LANE_WIDTH - car.d) < 0.05:
            car.d = car.target * LANE_WIDTH
            car.lane = car.target
            car.slip = 0.0


@compiled
def drive_traffic(world: World, cars: Cars, order: Any) -> None:
    """One simulation step of everyone but the ego; ``order`` must be sorted. The ego's record is only read."""
    for rank in range(world.vehicles):
        me = cars[order[rank]]
        if order[rank] > 0 and me.lane == me.target:
            me.patience -= SIM_DT
            if me.patience <= 0.0:
                choose_lane(world, cars, order, rank)
    for rank in range(world.vehicles):
        me = cars[order[rank]]
        if order[rank] > 0:
            me.a = follow(world, cars, order, rank, me.lane)
            if me.target != me.lane:
                me.a = min(me.a, follow(world, cars, order, rank, me.target))
    for k in range(1, world.vehicles):
        move(world, cars[k])
