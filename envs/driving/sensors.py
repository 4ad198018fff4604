"""What the ego sees: a vector in [-1, 1] of its own state, the road, the rules, and its nearest neighbours by lane."""

from typing import Any

from .compiled import compiled
from .roads import curvature, nearest_lane
from .state import LANE_WIDTH, STEP_DT, Cars, Vehicle, World
from .traffic import neighbour
from .vehicle import LEVEL, clip, steer_limit

OWN = (
    "speed / 40",
    "(speed - limit) / 10",
    "limit / 40",
    "offset from the middle of the lane / half a lane",
    "heading relative to the road / 0.2",
    "steering angle / its present limit",
    "acceleration / 5",
    "lateral acceleration / 5",
    "lateral acceleration the road asks for here / 2",
    "and one second ahead / 2",
    "a lane to the left",
    "a lane to the right",
    "share of the route left",
    "share of the time left",
    "pace needed to be in time / limit",
    "time across a marking / 3",
    "goal lane of the meta-actions - this lane",
    "(target speed of the meta-actions - speed) / 10",
)
"""The first 18 entries, each clipped to [-1, 1]; the last two are 0 with ``action="box"``."""
DEPTH = 2
"""Vehicles observed in each lane and direction."""
NEIGHBOUR = ("gap / 100 (1: nobody; -1: no such lane)", "relative speed / 15", "lateral speed / 1.5")
"""Entries per neighbour, in the order: left, own, right lane; ahead then behind; nearest first."""
SIZE = len(OWN) + 3 * 2 * DEPTH * len(NEIGHBOUR)


@compiled
def sense_own(world: World, ego: Vehicle, lane: int, discrete: bool, out: Any) -> None:
    """Writes the entries of :data:`OWN`."""
    left = max(world.length - world.best, 0.0)
    time = max(world.budget - world.clock, STEP_DT)
    out[0] = ego.v / 40.0
    out[1] = (ego.v - world.limit) / 10.0
    out[2] = world.limit / 40.0
    out[3] = (ego.d - lane * LANE_WIDTH) / (0.5 * LANE_WIDTH)
    out[4] = world.heading / 0.2
    out[5] = world.steer / steer_limit(ego.v)
    out[6] = ego.a / 5.0
    out[7] = ego.v * world.yaw_rate / 5.0
    out[8] = ego.v * ego.v * curvature(world, ego.s) / 2.0
    out[9] = ego.v * ego.v * curvature(world, ego.s + ego.v) / 2.0
    out[10] = 1.0 if lane + 1 < world.lanes else 0.0
    out[11] = 1.0 if lane > 0 else 0.0
    out[12] = left / world.length
    out[13] = time / world.budget
    out[14] = left / time / world.limit
    out[15] = world.straddle / 3.0
    out[16] = float(world.goal_lane - lane) if discrete else 0.0
    out[17] = (LEVEL * world.level * world.limit - ego.v) / 10.0 if discrete else 0.0


@compiled
def sense(world: World, cars: Cars, order: Any, discrete: bool, out: Any) -> None:
    """Writes one world's observation into ``out`` ``[SIZE]`` float32."""
    ego = cars[0]
    lane = nearest_lane(world, ego.d)
    sense_own(world, ego, lane, discrete, out)
    at = 18
    for side in (1, 0, -1):
        exists = 0 <= lane + side < world.lanes
        for way in (1, -1):
            for nth in range(1, DEPTH + 1):
                out[at], out[at + 1], out[at + 2] = (1.0 if exists else -1.0), 0.0, 0.0
                if exists:
                    k, gap = neighbour(world, cars, order, world.rank, lane + side, way, nth)
                    if k >= 0:
                        out[at] = min(gap / 100.0, 0.99)
                        out[at + 1] = (cars[k].v - ego.v) / 15.0
                        out[at + 2] = cars[k].slip / 1.5
                at += 3
    for i in range(SIZE):
        out[i] = clip(out[i], -1.0, 1.0)
