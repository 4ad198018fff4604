"""The scripted expert: IDM behind the leader, in the lane that gets it furthest among those it can enter safely."""

import math
from typing import Any

from .compiled import compiled
from .roads import nearest_lane
from .state import LANE_WIDTH, STEP_DT, Cars, World
from .traffic import JAM_GAP, behind, idm, neighbour
from .vehicle import (
    FASTER,
    KEEP,
    LEFT,
    LEVEL,
    MAX_BRAKE,
    MAX_THROTTLE,
    RIGHT,
    SLOWER,
    clip,
    drag,
    lane_steer,
    steer_limit,
)

HORIZON = 8.0  # s of lookahead
HEADWAY = 1.3  # s, a little more than the reward asks for
CRUISE = 0.99  # of the limit
KEENNESS = 1.3  # v0 of its IDM as a share of the limit: without it IDM would only creep up to the limit
WORTH = 6.0  # m further within the horizon that justify a lane change
HARMLESS = 1.5  # m/s2 of braking that a lane change may cost the expert or its new follower


@compiled
def car_following(world: World, cars: Cars, order: Any, lane: int) -> float:
    """The acceleration with which the expert follows its leader in ``lane``."""
    k, gap = neighbour(world, cars, order, world.rank, lane, 1, 1)
    v = cars[0].v
    following = idm(v, cars[k].v if k >= 0 else v, gap, KEENNESS * world.limit, HEADWAY, 2.4, 2.5)
    return min(following, 0.9 * (CRUISE * world.limit - v))


@compiled
def reach(world: World, cars: Cars, order: Any, lane: int) -> float:
    """How far the expert could get in ``lane`` within the horizon, if the next two vehicles there keep their speeds."""
    furthest = CRUISE * world.limit * HORIZON
    for nth in (1, 2):
        k, gap = neighbour(world, cars, order, world.rank, lane, 1, nth)
        if k >= 0:
            furthest = min(furthest, gap - JAM_GAP + cars[k].v * (HORIZON - HEADWAY))
    return furthest


@compiled
def harmless(world: World, cars: Cars, order: Any, lane: int) -> bool:
    """Whether entering ``lane`` now would make neither the expert nor the next driver there brake noticeably."""
    ego = cars[0]
    lead, gap = neighbour(world, cars, order, world.rank, lane, 1, 1)
    tail, room = neighbour(world, cars, order, world.rank, lane, -1, 1)
    if lead >= 0 and (gap < 4.0 + 0.5 * ego.v or car_following(world, cars, order, lane) < -HARMLESS):
        return False
    return tail < 0 or (room > 4.0 + 0.5 * cars[tail].v and behind(cars[tail], ego.v, room) > -HARMLESS)


@compiled
def plan_lane(world: World, cars: Cars, order: Any) -> int:
    """The lane to be in: goes on with a change once begun unless it has become unsafe, else picks the best one."""
    ego = cars[0]
    here = nearest_lane(world, ego.d)
    if world.plan != here and abs(world.plan - here) == 1:
        tail, room = neighbour(world, cars, order, world.rank, world.plan, -1, 1)
        lead, gap = neighbour(world, cars, order, world.rank, world.plan, 1, 1)
        return world.plan if min(gap, room) > JAM_GAP + 0.1 * ego.v else here
    best, goal = reach(world, cars, order, here), here
    if abs(ego.d - here * LANE_WIDTH) < 0.4:
        for lane in (here - 1, here + 1):
            if 0 <= lane < world.lanes and harmless(world, cars, order, lane):
                gain = reach(world, cars, order, lane) - WORTH
                if gain > best:
                    best, goal = gain, lane
    return goal


@compiled
def plan_accel(world: World, cars: Cars, order: Any) -> float:
    """The most cautious car-following acceleration over all lanes that the ego takes up or is heading for."""
    ego = cars[0]
    lowest = min(min(ego.lane, ego.target), world.plan)
    highest = max(max(ego.lane, ego.target), world.plan)
    accel = math.inf
    for lane in range(lowest, highest + 1):
        accel = min(accel, car_following(world, cars, order, lane))
    return accel


@compiled
def expert_box(world: World, cars: Cars, order: Any, out: Any) -> None:
    """Writes pedal and steering in [-1, 1] for ``action="box"``."""
    world.plan = plan_lane(world, cars, order)
    ego = cars[0]
    accel = clip(plan_accel(world, cars, order), -MAX_BRAKE, 2.2) + drag(ego.v)
    jerk = 3.5 * STEP_DT  # comfortable when speeding up; braking for somebody comes first
    accel = min(accel, world.pedal + jerk)
    if accel > -4.0:
        accel = max(accel, world.pedal - jerk)
    out[0] = clip(accel / (MAX_THROTTLE if accel > 0.0 else MAX_BRAKE), -1.0, 1.0)
    out[1] = clip(lane_steer(world, ego, world.plan) / steer_limit(ego.v), -1.0, 1.0)


@compiled
def expert_discrete(world: World, cars: Cars, order: Any) -> int:
    """The meta-action for ``action="discrete"``: the lane first, then one level towards the wanted speed."""
    world.plan = plan_lane(world, cars, order)
    if world.plan > world.goal_lane:
        return LEFT
    if world.plan < world.goal_lane:
        return RIGHT
    accel, v = plan_accel(world, cars, order), cars[0].v
    target = LEVEL * world.level * world.limit
    pulling = 0.9 * (target - v)  # what the tracker does about the present target
    if accel < min(pulling, 0.0) - 0.4:
        return SLOWER
    if accel > pulling + 0.3 and v < (1.0 - 0.5 * LEVEL) * world.limit and accel > 0.1:
        return FASTER
    return KEEP
