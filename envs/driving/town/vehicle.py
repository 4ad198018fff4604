"""Vehicles under control: a kinematic bicycle in the plane, and the trackers behind manoeuvres and waypoints.

Source of the model: Polack et al., The kinematic bicycle model (2017), eq. 1; the trackers steer by pure pursuit
(Coulter, Implementation of the pure pursuit path tracking algorithm (1992), eq. 3). Vehicles do not reverse.
"""

import math
from typing import Any

from ..compiled import compiled, inlined
from ..vehicle import FASTER, LEFT, MAX_BRAKE, MAX_THROTTLE, PEDAL_RATE, RIGHT, SLOWER, STEER_RATE, clip, drag
from .places import about, beside, find_point, wrap
from .state import CONTROLS, ROUTE, SIM_DT, WAYPOINT, Agent

AXLES = 0.58  # wheelbase as a share of the length
MAX_STEER = 0.6  # rad, at the wheels
TYRE_GRIP = 5.0  # m/s2: steering is limited to this lateral acceleration
LEVEL, LEVELS = 0.1, 11  # wanted speeds of the manoeuvres: 0, 10, ..., 110 % of the limit
LOOK, LOOK_TIME = 4.0, 0.6  # m and s: how far ahead the trackers aim
BRISK = 4.0  # m/s2: hardest braking of the trackers
KEEN = 2.2  # m/s2: their throttle
PULL = 0.9  # 1/s: their acceleration for each m/s that is lacking
WIDE = 0.7  # whose arc tangent is above MAX_STEER


@inlined
def tightest(car: Agent) -> float:
    """The tangent of the steering angle that the tyres hold at the present speed."""
    return AXLES * car.length * TYRE_GRIP / max(car.v * car.v, 1e-6)


@compiled
def steer_limit(car: Agent) -> float:
    """The largest steering angle at the present speed: the mechanical stop, or what the tyres hold."""
    held = tightest(car)
    return MAX_STEER if held > WIDE else min(MAX_STEER, math.atan(held))


@inlined
def limit_for(car: Agent, steer: float) -> float:
    """A limit that does to ``steer`` and to the wheels what :func:`steer_limit` does: a lower one if both are within.

    ``t - t^3 / 3`` is below the arc tangent of ``t > 0``, and costs far less.
    """
    held = tightest(car)
    if held > WIDE:
        return MAX_STEER
    low = 0.999 * held * (1.0 - held * held / 3.0)
    return low if abs(steer) <= low and abs(car.steer) <= low else min(MAX_STEER, math.atan(held))


@inlined
def bicycle(car: Agent, pedal: float, steer: float) -> float:
    """Advances a vehicle by one tick in the plane; returns the distance.

    Args:
        car: the vehicle.
        pedal: wanted acceleration before drag, m/s2; the pedals follow at their own rate.
        steer: wanted angle of the front wheels, rad; they follow at theirs.
    """
    limit = limit_for(car, steer)
    car.pedal += clip(clip(pedal, -MAX_BRAKE, MAX_THROTTLE) - car.pedal, -PEDAL_RATE * SIM_DT, PEDAL_RATE * SIM_DT)
    car.steer += clip(clip(steer, -limit, limit) - car.steer, -STEER_RATE * SIM_DT, STEER_RATE * SIM_DT)
    car.steer = clip(car.steer, -limit, limit)
    v = max(0.0, car.v + (car.pedal - drag(car.v)) * SIM_DT)
    middle = 0.5 * (car.v + v)
    course = math.atan(0.5 * math.tan(car.steer))
    car.yaw_rate = middle * math.sin(course) / (0.5 * AXLES * car.length)
    angle = car.heading + course + 0.5 * car.yaw_rate * SIM_DT  # midway through the tick
    car.x += middle * math.cos(angle) * SIM_DT
    car.y += middle * math.sin(angle) * SIM_DT
    car.heading = wrap(car.heading + car.yaw_rate * SIM_DT)
    car.a = (v - car.v) / SIM_DT
    car.v = v
    return middle * SIM_DT


@inlined
def pursue(car: Agent, x: float, y: float) -> float:
    """The steering angle of the arc through the rear axle and a point ``x`` m ahead and ``y`` m left of the middle."""
    ahead = x + 0.5 * AXLES * car.length
    return math.atan(AXLES * car.length * 2.0 * y / max(ahead * ahead + y * y, 0.25))


@inlined
def hold_speed(car: Agent, v: float) -> float:
    """The pedal that brings the vehicle to speed ``v``."""
    return clip(PULL * (v - car.v), -BRISK, KEEN) + drag(car.v)


@inlined
def aim(atlas: Any, car: Agent, route: Any, lane: int, s: float) -> tuple[float, float]:
    """The point of ``lane`` (or of the lanes that follow) at ``s``, in the vehicle's frame: m ahead, m to the left."""
    lanes, at = atlas.lanes, lane
    if lane == route[0]:
        for j in range(ROUTE - 1):
            if s <= lanes[at].length or route[j + 1] < 0:
                break
            s -= lanes[at].length
            at = route[j + 1]
    one = lanes[at]
    point = atlas.points[find_point(atlas.along, one, car.point if at == car.lane else about(one, s), s)]
    dx = point.x + (s - point.s) * point.cos - car.x
    dy = point.y + (s - point.s) * point.sin - car.y
    cos, sin = math.cos(car.heading), math.sin(car.heading)
    return dx * cos + dy * sin, dy * cos - dx * sin


@compiled
def choose(lanes: Any, car: Agent, action: int) -> None:
    """Takes a manoeuvre: sets the lane to be in, or the wanted speed a level above or two below the present one."""
    if car.lane < 0:
        return
    here = lanes[car.lane]
    level = int(math.floor(car.v / (LEVEL * here.limit) + 0.5))
    if action == LEFT and here.left >= 0:
        car.target = here.left
    elif action == RIGHT and here.right >= 0:
        car.target = here.right
    elif action == FASTER:
        car.level = min(level + 1, LEVELS)
    elif action == SLOWER:
        car.level = max(level - 2, 0)


@inlined
def follow_lane(atlas: Any, car: Agent, route: Any) -> float:
    """The steering angle of the manoeuvres: towards their lane, or along the route."""
    if car.lane < 0:
        return 0.0
    here = atlas.lanes[car.lane]
    if car.target != here.left and car.target != here.right:
        car.target = car.lane
    lane, s = car.lane, car.s
    if car.target != car.lane:
        lane = car.target
        _, s, _ = beside(atlas, car, lane)
        s = min(s + 2.0 * car.v, atlas.lanes[lane].length) if s < atlas.lanes[lane].length else s
        x, y = aim(atlas, car, route, lane, s + LOOK)
    else:
        x, y = aim(atlas, car, route, lane, s + LOOK + LOOK_TIME * car.v)
    return pursue(car, x, y)


@compiled
def control(atlas: Any, car: Agent, route: Any, command: Any) -> float:
    """One tick of a vehicle under a policy; returns the distance that it moves.

    Args:
        atlas: all maps.
        car: the vehicle; its controller says what ``command`` means.
        route: lanes ahead.
        command: ``[3]``: pedal and steering in [-1, 1]; or nothing (manoeuvres are taken by :func:`choose`); or a
            waypoint in m ahead and to the left of the vehicle, and the speed to be driven there in m/s.
    """
    if car.controller == CONTROLS:
        pedal = command[0] * (MAX_THROTTLE if command[0] > 0.0 else MAX_BRAKE)
        return bicycle(car, pedal, command[1] * steer_limit(car))
    if car.controller == WAYPOINT:
        return bicycle(car, hold_speed(car, max(command[2], 0.0)), pursue(car, max(command[0], 0.5), command[1]))
    limit = atlas.lanes[car.lane].limit if car.lane >= 0 else 8.0
    return bicycle(car, hold_speed(car, LEVEL * car.level * limit), follow_lane(atlas, car, route))
