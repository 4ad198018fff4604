"""The ego: a kinematic bicycle with real pedals and steering, the tracker behind the meta-actions, and collisions.

Source of the model: Polack et al., The kinematic bicycle model (2017), eq. 1, here in road coordinates (the heading is
relative to the road, which turns under the car with its curvature).
"""

import math

from .compiled import compiled
from .roads import curvature, nearest_lane
from .state import LANE_WIDTH, SIM_DT, Cars, Vehicle, World

LENGTH, WIDTH = 4.8, 1.9
WHEELBASE = 2.8
MAX_STEER = 0.5  # rad, at the wheels
STEER_RATE = 0.6  # rad/s
TYRE_GRIP = 5.0  # m/s2: steering is limited to this lateral acceleration
MAX_THROTTLE = 3.0  # m/s2
MAX_BRAKE = 8.0  # m/s2
PEDAL_RATE = 12.0  # m/s3
LEVEL, LEVELS = 0.1, 11  # target speeds of the meta-actions: 0, 10, ..., 110 % of the limit
KEEP, LEFT, RIGHT, FASTER, SLOWER = 0, 1, 2, 3, 4
GENTLE_JERK = 3.5  # m/s3 of the tracker, within the comfort limit of 4.13
GENTLE_SWAY = 6.0  # m/s3 of lateral acceleration, likewise


@compiled
def clip(x: float, low: float, high: float) -> float:
    """``x`` limited to ``[low, high]``."""
    return min(max(x, low), high)


@compiled
def drag(v: float) -> float:
    """Deceleration with the foot off both pedals in m/s2: rolling, the engine, and air growing with the square of v."""
    return 0.3 + 0.00035 * v * v


@compiled
def steer_limit(v: float) -> float:
    """The largest steering angle at speed ``v``: the mechanical stop, or what the tyres hold."""
    return min(MAX_STEER, math.atan(WHEELBASE * TYRE_GRIP / max(v * v, 1e-6)))


@compiled
def yaw_rate(v: float, steer: float) -> float:
    """Turning rate with the centre of mass midway between the axles: ``v sin(b) / l_r``, ``tan b = tan(steer) / 2``."""
    return v * math.sin(math.atan(0.5 * math.tan(steer))) / (0.5 * WHEELBASE)


@compiled
def bicycle(world: World, ego: Vehicle, pedal: float, steer: float) -> None:
    """Advances the ego by one simulation step.

    Args:
        world: its WORLD record.
        ego: its VEHICLE record.
        pedal: wanted acceleration in m/s2 before drag; the pedals follow at their own rate.
        steer: wanted steering angle in rad; the wheels follow at theirs, within :func:`steer_limit`.
    """
    limit = steer_limit(ego.v)
    world.pedal += clip(clip(pedal, -MAX_BRAKE, MAX_THROTTLE) - world.pedal, -PEDAL_RATE * SIM_DT, PEDAL_RATE * SIM_DT)
    world.steer += clip(clip(steer, -limit, limit) - world.steer, -STEER_RATE * SIM_DT, STEER_RATE * SIM_DT)
    world.steer = clip(world.steer, -limit, limit)
    v = max(0.0, ego.v + (world.pedal - drag(ego.v)) * SIM_DT)
    ego.a = (v - ego.v) / SIM_DT
    middle = 0.5 * (ego.v + v)
    course = math.atan(0.5 * math.tan(world.steer))
    world.yaw_rate = yaw_rate(middle, world.steer)
    bend = curvature(world, ego.s)
    stretch = 1.0 / (1.0 - bend * ego.d)
    turn = world.yaw_rate - bend * middle * math.cos(world.heading + course) * stretch
    angle = world.heading + course + 0.5 * turn * SIM_DT  # midway through the step
    ego.s += middle * math.cos(angle) * stretch * SIM_DT
    ego.slip = middle * math.sin(angle)
    ego.d += ego.slip * SIM_DT
    world.heading += turn * SIM_DT
    ego.v = v
    occupy(world, ego)


@compiled
def occupy(world: World, ego: Vehicle) -> None:
    """Notes the lanes that the ego's body touches, or will within a second: what other drivers see of it."""
    ahead = ego.d + clip(ego.slip, -LANE_WIDTH, LANE_WIDTH)
    reach = 0.5 * ego.width
    ego.lane = nearest_lane(world, min(ego.d, ahead) - reach + 0.2)
    ego.target = nearest_lane(world, max(ego.d, ahead) + reach - 0.2)


@compiled
def lane_steer(world: World, ego: Vehicle, lane: int) -> float:
    """The steering angle that brings the ego to the middle of ``lane`` without a jolt."""
    v = max(ego.v, 3.0)
    drift = clip(0.7 * (lane * LANE_WIDTH - ego.d), -1.5, 1.5)
    course = world.heading + math.atan(0.5 * math.tan(world.steer))
    turn = curvature(world, ego.s) * v + 1.6 * (math.asin(clip(drift / v, -0.3, 0.3)) - course)
    sway = GENTLE_SWAY * WHEELBASE / (v * v) * SIM_DT
    return world.steer + clip(math.atan(WHEELBASE * turn / v) - world.steer, -sway, sway)


@compiled
def speed_pedal(world: World, ego: Vehicle, v: float) -> float:
    """The pedal that brings the ego to speed ``v`` within the limits of comfort."""
    wanted = clip(0.9 * (v - ego.v), -4.0, 2.2) + drag(ego.v)
    return world.pedal + clip(wanted - world.pedal, -2.0 * GENTLE_JERK * SIM_DT, GENTLE_JERK * SIM_DT)


@compiled
def choose(world: World, ego: Vehicle, action: int) -> None:
    """Takes a meta-action: sets the goal lane, or the target speed one level above or two below the present speed."""
    level = int(math.floor(ego.v / (LEVEL * world.limit) + 0.5))
    here = nearest_lane(world, ego.d)
    if action == LEFT:
        world.goal_lane = min(max(world.goal_lane, here) + 1, here + 1, world.lanes - 1)
    elif action == RIGHT:
        world.goal_lane = max(min(world.goal_lane, here) - 1, here - 1, 0)
    elif action == FASTER:
        world.level = min(level + 1, LEVELS)
    elif action == SLOWER:
        world.level = max(level - 2, 0)


@compiled
def overlap(ego: Vehicle, heading: float, car: Vehicle) -> bool:
    """Whether the two bodies, as oriented rectangles, touch (separating axis theorem)."""
    ds, dd = car.s - ego.s, car.d - ego.d
    if abs(ds) > 12.0:
        return False
    other = math.atan2(car.slip, max(car.v, 1.0))
    a, b = 0.5 * ego.length, 0.5 * ego.width
    c, e = 0.5 * car.length, 0.5 * car.width
    twist = other - heading
    cos, sin = abs(math.cos(twist)), abs(math.sin(twist))
    along = abs(ds * math.cos(heading) + dd * math.sin(heading))
    across = abs(dd * math.cos(heading) - ds * math.sin(heading))
    if along > a + c * cos + e * sin or across > b + c * sin + e * cos:
        return False
    along = abs(ds * math.cos(other) + dd * math.sin(other))
    across = abs(dd * math.cos(other) - ds * math.sin(other))
    return along <= c + a * cos + b * sin and across <= e + a * sin + b * cos


@compiled
def crashed(world: World, cars: Cars) -> bool:
    """Whether the ego touches anyone."""
    for k in range(1, world.vehicles):
        if overlap(cars[0], world.heading, cars[k]):
            return True
    return False
