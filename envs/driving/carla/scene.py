"""What is about, read from the actors of a world and turned into our frame: y to the left, angles counter-clockwise."""

from dataclasses import dataclass
from math import cos, hypot, pi, radians, sin
from typing import Any

import numpy as np
import numpy.typing as npt

BICYCLES = ("crossbike", "omafiets", "century")
"""Parts of the names of CARLA's bicycles, which it calls vehicles; those with an engine stay vehicles."""


def wrapped(angle: float) -> float:
    """An angle in [-pi, pi)."""
    return (angle + pi) % (2.0 * pi) - pi


@dataclass(frozen=True)
class Body:
    """A road user: the middle of its box, and how it moves.

    Attributes:
        id: of the actor.
        kind: "vehicle", "cyclist" or "pedestrian".
        x, y: m.
        z: m, the height of the actor's origin.
        heading: rad.
        v: m/s along the heading, negative in reverse.
        accel, lateral_accel: m/s2.
        yaw_rate: rad/s.
        length, width: m.
    """

    id: int
    kind: str
    x: float
    y: float
    z: float
    heading: float
    v: float
    accel: float
    lateral_accel: float
    yaw_rate: float
    length: float
    width: float

    @property
    def box(self) -> tuple[float, float, float, float, float]:
        """x, y, heading, length, width."""
        return self.x, self.y, self.heading, self.length, self.width

    def to(self, x: float, y: float) -> tuple[float, float]:
        """A point in this body's frame: forward, left."""
        dx, dy = x - self.x, y - self.y
        c, s = cos(self.heading), sin(self.heading)
        return dx * c + dy * s, dy * c - dx * s

    def corners(self) -> npt.NDArray[np.float64]:
        """``[4, 2]``."""
        c, s = cos(self.heading), sin(self.heading)
        signs = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * (0.5 * self.length, 0.5 * self.width)
        return np.asarray(np.array([self.x, self.y]) + signs @ np.array([[c, s], [-s, c]]), np.float64)


def kind_of(type_id: str) -> str:
    """The kind of an actor by CARLA's name of its type; "static" for what is no road user."""
    if type_id.startswith("walker."):
        return "pedestrian"
    if type_id.startswith("vehicle."):
        return "cyclist" if any(name in type_id for name in BICYCLES) else "vehicle"
    return "static"


def body(actor: Any) -> Body:
    """Of a vehicle or a pedestrian."""
    transform, velocity = actor.get_transform(), actor.get_velocity()
    push, turn, box = actor.get_acceleration(), actor.get_angular_velocity(), actor.bounding_box
    heading = -radians(transform.rotation.yaw)
    c, s = cos(heading), sin(heading)
    x = transform.location.x + box.location.x * c - -box.location.y * s
    y = -transform.location.y + box.location.x * s + -box.location.y * c
    return Body(
        id=int(actor.id),
        kind=kind_of(actor.type_id),
        x=x,
        y=y,
        z=transform.location.z,
        heading=wrapped(heading),
        v=velocity.x * c - velocity.y * s,
        accel=push.x * c - push.y * s,
        lateral_accel=-push.x * s - push.y * c,
        yaw_rate=-radians(turn.z),
        length=2.0 * box.extent.x,
        width=2.0 * box.extent.y,
    )


@dataclass(frozen=True)
class Place:
    """Where the ego is in its lane.

    Attributes:
        turn: rad, its heading relative to the lane.
        offset: m to the left of the lane's middle.
        width: m, of the lane.
        over: m by which the body reaches over the lane's marking; negative: it is inside.
        outside: m by which the farthest corner is outside all driving lanes; 0: inside.
        left, right: whether a lane of this direction is beside it.
        junction: whether it is in one.
        off_lanes: whether its middle is more than half a metre outside all lanes.
        wrong_way: whether it points against its lane, outside junctions.
    """

    turn: float
    offset: float
    width: float
    over: float
    outside: float
    left: bool
    right: bool
    junction: bool
    off_lanes: bool
    wrong_way: bool


def place(carla: Any, world_map: Any, ego: Body) -> Place:
    """Asks the map where the ego is."""
    here = world_map.get_waypoint(carla.Location(ego.x, -ego.y, ego.z))
    centre, heading = here.transform.location, -radians(here.transform.rotation.yaw)
    c, s = cos(heading), sin(heading)

    def left_of(x: float, y: float) -> float:
        return float((y + centre.y) * c - (x - centre.x) * s)

    offset, half = left_of(ego.x, ego.y), 0.5 * here.lane_width
    corners = ego.corners().tolist()
    turn = wrapped(ego.heading - heading)
    away = hypot(ego.x - centre.x, ego.y + centre.y)
    return Place(
        turn=turn,
        offset=offset,
        width=here.lane_width,
        over=max(abs(left_of(x, y)) for x, y in corners) - half,
        outside=max(_outside(carla, world_map, x, y, ego.z) for x, y in corners),
        left=_beside(here, here.get_left_lane()),
        right=_beside(here, here.get_right_lane()),
        junction=bool(here.is_junction),
        off_lanes=away > half + 0.5,
        wrong_way=abs(turn) > 0.5 * pi and not here.is_junction,
    )


def _outside(carla: Any, world_map: Any, x: float, y: float, z: float) -> float:
    near = world_map.get_waypoint(carla.Location(x, -y, z))
    centre = near.transform.location
    return float(max(0.0, hypot(x - centre.x, y + centre.y) - 0.5 * near.lane_width))


def _beside(here: Any, other: Any) -> bool:
    return other is not None and other.lane_id * here.lane_id > 0 and str(other.lane_type) == "Driving"


@dataclass(frozen=True)
class Scene:
    """A state of the world, as the ego meets it."""

    ego: Body
    others: tuple[Body, ...]  # nearest first
    place: Place
    limit: float  # m/s
    steer: float  # rad, at the wheels, positive to the left
    s: float  # m along the way
    aside: float  # m to the left of the way

    def leader(self) -> tuple[Body | None, float]:
        """Who is ahead in its lane, and the gap in m between the bumpers (1e9: none)."""
        return _next(self, ahead=True)

    def follower(self) -> tuple[Body | None, float]:
        """Who is behind in its lane, and the gap."""
        return _next(self, ahead=False)


def _next(scene: Scene, *, ahead: bool) -> tuple[Body | None, float]:
    ego, best, gap = scene.ego, None, 1e9
    for other in scene.others:
        along, left = ego.to(other.x, other.y)
        reach = 0.5 * (ego.length + other.length)
        near = abs(left) < 0.5 * (ego.width + other.width) + 0.2
        if near and (along > 0) == ahead and other.kind != "pedestrian" and abs(along) - reach < min(gap, 80.0):
            if abs(wrapped(other.heading - ego.heading)) < 0.25 * pi:
                best, gap = other, max(abs(along) - reach, 0.0)
    return best, gap
