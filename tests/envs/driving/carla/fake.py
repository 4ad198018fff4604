"""A CARLA server at the boundary of its Python client: the parts of the module ``carla`` that we call, with a world.

The town, in CARLA's frame (y to the right), lanes 3.5 m wide:

    lane +1 of road 1, y = -1.75, from x = 200 back to 0
    lane -1 of road 1, y = 1.75, from x = 0 to 200; on through junction 9 (20 m) to road 2, x = 220 to 420
    lane -2 of road 1, y = 5.25, beside it; turns right in junction 8 to road 3, x = 215, y = 20 to 220

Vehicles on autopilot keep a speed of their own and stop behind who is ahead. The ego is a kinematic bicycle. A server
that is dead, or was started again since, raises ``RuntimeError`` whatever is asked of it, as the client does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, degrees, hypot, pi, radians, sin, tan
from types import SimpleNamespace
from typing import Any

import numpy as np

from tiltyard.envs.driving.metrics.geometry import overlap

TIMEOUT = "time-out of 20000ms while waiting for the simulator, make sure the simulator is ready and connected"


@dataclass
class Location:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass
class Rotation:
    pitch: float = 0.0
    yaw: float = 0.0
    roll: float = 0.0


@dataclass
class Transform:
    location: Location = field(default_factory=Location)
    rotation: Rotation = field(default_factory=Rotation)


@dataclass
class VehicleControl:
    throttle: float = 0.0
    steer: float = 0.0
    brake: float = 0.0


class WeatherParameters(SimpleNamespace):
    pass


@dataclass
class Lane:
    road: int
    lane: int
    points: np.ndarray  # [n, 2]
    next: tuple[int, ...] = ()
    left: int | None = None
    right: int | None = None
    change: str = "NONE"
    junction: bool = False

    def __post_init__(self) -> None:
        self.s = np.r_[0.0, np.cumsum(np.hypot(*np.diff(self.points, axis=0).T))]

    def at(self, s: float) -> tuple[float, float, float]:
        k = min(max(int(np.searchsorted(self.s, s, side="right")) - 1, 0), len(self.s) - 2)
        a, b = self.points[k], self.points[k + 1]
        share = (s - self.s[k]) / (self.s[k + 1] - self.s[k])
        return (*(a + share * (b - a)).tolist(), degrees(np.arctan2(b[1] - a[1], b[0] - a[0])))


@dataclass
class Waypoint:
    town: "Map"
    index: int
    s: float
    lane_width: float = 3.5
    section_id: int = 0
    lane_type: str = "Driving"

    def __post_init__(self) -> None:
        lane = self.town.lanes[self.index]
        self.road_id, self.lane_id, self.is_junction = lane.road, lane.lane, lane.junction
        self.lane_change = lane.change
        x, y, yaw = lane.at(self.s)
        self.transform = Transform(Location(x, y), Rotation(yaw=yaw))

    def next(self, distance: float) -> list["Waypoint"]:
        lane, s = self.town.lanes[self.index], self.s + distance
        if s <= lane.s[-1]:
            return [Waypoint(self.town, self.index, s)]
        return [Waypoint(self.town, other, min(s - lane.s[-1], self.town.lanes[other].s[-1])) for other in lane.next]

    def _beside(self, other: int | None) -> "Waypoint | None":
        lane = self.town.lanes[self.index]
        if other is None:
            return None
        against = self.town.lanes[other].lane * lane.lane < 0
        return Waypoint(self.town, other, lane.s[-1] - self.s if against else self.s)

    def get_left_lane(self) -> "Waypoint | None":
        return self._beside(self.town.lanes[self.index].left)

    def get_right_lane(self) -> "Waypoint | None":
        return self._beside(self.town.lanes[self.index].right)


class Map:
    name = "Carla/Maps/FakeTown"

    def __init__(self) -> None:
        def line(*ends: tuple[float, float]) -> np.ndarray:
            (ax, ay), (bx, by) = ends
            n = max(int(hypot(bx - ax, by - ay) / 2.0), 1) + 1
            return np.stack([np.linspace(ax, bx, n), np.linspace(ay, by, n)], axis=1)

        angle = np.linspace(0.0, pi / 2, 12)
        turn = np.stack([200.25 + 14.75 * np.sin(angle), 20.0 - 14.75 * np.cos(angle)], axis=1)
        turn = np.r_[[[200.0, 5.25]], turn]
        self.lanes = [
            Lane(1, -1, line((0, 1.75), (200, 1.75)), (3,), left=2, right=1, change="Right"),
            Lane(1, -2, line((0, 5.25), (200, 5.25)), (4,), left=0, change="Left"),
            Lane(1, 1, line((200, -1.75), (0, -1.75)), (), left=0),
            Lane(9, -1, line((200, 1.75), (220, 1.75)), (5,), junction=True),
            Lane(8, -1, turn, (6,), junction=True),
            Lane(2, -1, line((220, 1.75), (420, 1.75))),
            Lane(3, -1, line((215, 20), (215, 220))),
        ]

    def get_spawn_points(self) -> list[Transform]:
        places = [(0, s) for s in (5.0, 35.0, 65.0)] + [(1, s) for s in (5.0, 50.0, 95.0)] + [(2, 20.0), (2, 90.0)]
        return [Waypoint(self, lane, s).transform for lane, s in places]

    def get_waypoint(self, location: Any) -> Waypoint:
        best, found = np.inf, (0, 0.0)
        for index, lane in enumerate(self.lanes):
            a, b = lane.points[:-1], lane.points[1:]
            d = b - a
            share = np.clip((([location.x, location.y] - a) * d).sum(1) / (d * d).sum(1), 0.0, 1.0)
            far = np.hypot(*(a + share[:, None] * d - [location.x, location.y]).T)
            k = int(np.argmin(far))
            if far[k] < best - 1e-9:
                best, found = float(far[k]), (index, float(lane.s[k] + share[k] * (lane.s[k + 1] - lane.s[k])))
        return Waypoint(self, *found)


class Blueprint(SimpleNamespace):
    def set_attribute(self, name: str, value: str) -> None:
        self.attributes[name] = value


class Library:
    kinds = (
        "vehicle.tesla.model3",
        "vehicle.audi.tt",
        "vehicle.bh.crossbike",
        "walker.pedestrian.0001",
        "sensor.other.collision",
        "controller.ai.walker",
    )

    def find(self, name: str) -> Blueprint:
        return Blueprint(id=self.kinds[self.kinds.index(name)], attributes={})

    def filter(self, pattern: str) -> list[Blueprint]:
        return [self.find(kind) for kind in self.kinds if kind.startswith(pattern.rstrip("*"))]


class Actors(list[Any]):
    def filter(self, pattern: str) -> "Actors":
        return Actors(one for one in self if one.type_id.startswith(pattern.rstrip("*")))


class Actor:
    def __init__(self, world: "World", number: int, blueprint: Blueprint, transform: Transform, parent: Any) -> None:
        self.world, self.id, self.type_id, self.parent = world, number, blueprint.id, parent
        self.attributes = dict(blueprint.attributes)
        self.x, self.y, self.z = transform.location.x, transform.location.y, transform.location.z
        self.yaw, self.v, self.a, self.turn = radians(transform.rotation.yaw), 0.0, 0.0, 0.0
        long = {"walker": (0.4, 0.4), "vehicle": (2.4, 0.95)}.get(self.type_id.split(".")[0], (0.1, 0.1))
        self.bounding_box = SimpleNamespace(
            location=Location(), extent=Location(*(long if "crossbike" not in self.type_id else (0.9, 0.3)), 0.8)
        )
        self.control, self.autopilot, self.cruise = VehicleControl(), False, 0.0
        self.listener: Callable[[Any], None] | None = None

    def get_transform(self) -> Any:
        self.world.answer()
        make = self.world.server.module
        return make.Transform(make.Location(self.x, self.y, self.z), make.Rotation(0.0, degrees(self.yaw), 0.0))

    def get_velocity(self) -> Location:
        return Location(self.v * cos(self.yaw), self.v * sin(self.yaw))

    def get_acceleration(self) -> Location:
        across = self.v * self.turn
        return Location(
            self.a * cos(self.yaw) - across * sin(self.yaw), self.a * sin(self.yaw) + across * cos(self.yaw)
        )

    def get_angular_velocity(self) -> Location:
        return Location(z=degrees(self.turn))

    def get_speed_limit(self) -> float:
        return 50.0

    def apply_control(self, control: Any) -> None:
        self.world.answer()
        self.control = control

    def set_autopilot(self, on: bool, port: int) -> None:
        self.world.answer()
        self.autopilot, self.cruise = on, self.world.server.traffic.rng.uniform(4.0, 9.0)

    def listen(self, listener: Callable[[Any], None]) -> None:
        self.listener = listener

    def start(self) -> None:
        self.cruise = 1.2

    def go_to_location(self, goal: Location) -> None:
        assert self.parent is not None
        self.parent.yaw, self.parent.cruise = np.arctan2(goal.y - self.parent.y, goal.x - self.parent.x), 1.2

    def stop(self) -> None:
        self.world.answer()
        self.listener = None

    def destroy(self) -> None:
        self.world.answer()
        if self not in self.world.actors:
            raise RuntimeError(f"trying to operate on a destroyed actor; an actor's function was called: {self.id}")
        self.world.actors.remove(self)

    @property
    def box(self) -> list[float]:
        extent = self.bounding_box.extent
        return [self.x, self.y, self.yaw, 2 * extent.x, 2 * extent.y]

    def drive(self, dt: float) -> None:
        before = self.v
        if self.type_id.startswith("walker."):
            self.v = self.cruise
        elif self.autopilot:
            self._follow(dt)
        else:
            push = 3.0 * self.control.throttle - 8.0 * self.control.brake - 0.3
            self.v = max(0.0, self.v + push * dt)
            self.turn = self.v * tan(self.control.steer * 1.2217) / 2.8 if self.v > 0 else 0.0
        self.yaw += self.turn * dt
        self.x, self.y = self.x + self.v * cos(self.yaw) * dt, self.y + self.v * sin(self.yaw) * dt
        self.a = (self.v - before) / dt

    def _follow(self, dt: float) -> None:
        ahead = self.world.map.get_waypoint(Location(self.x, self.y)).next(4.0)
        gaps = [self._gap(other) for other in self.world.actors if other is not self]
        wanted = self.cruise if ahead and min(gaps, default=99.0) > 4.0 + self.v else 0.0
        self.v = max(0.0, self.v + min(max(wanted - self.v, -6.0 * dt), 2.0 * dt))
        if ahead:
            goal = ahead[0].transform.location
            error = (np.arctan2(goal.y - self.y, goal.x - self.x) - self.yaw + pi) % (2 * pi) - pi
            self.turn = min(max(2.0 * error, -0.5), 0.5)

    def _gap(self, other: "Actor") -> float:
        if other.type_id.split(".")[0] not in ("vehicle", "walker"):
            return 99.0
        dx, dy = other.x - self.x, other.y - self.y
        along, across = dx * cos(self.yaw) + dy * sin(self.yaw), dy * cos(self.yaw) - dx * sin(self.yaw)
        return along - 4.8 if along > 0 and abs(across) < 2.0 else 99.0


class Light:
    """Of road 1's lane -1, x = 195: 6 s red, 4 s green, 1 s yellow, over and over."""

    def __init__(self, world: "World") -> None:
        self.world, self.id, self.type_id, self.parent, self.attributes = world, 1, "traffic.traffic_light", None, {}
        self.always = ""

    def get_state(self) -> str:
        self.world.answer()
        at = (self.world.clock - self.world.lights_began) % 11.0
        return self.always or ("Red" if at < 6.0 else "Green" if at < 10.0 else "Yellow")

    def get_stop_waypoints(self) -> list[Any]:
        make = self.world.server.module
        return [
            SimpleNamespace(transform=make.Transform(make.Location(195.0, 1.75, 0.0), make.Rotation(0.0, 0.0, 0.0)))
        ]


class Sign:
    """A stop sign of road 1's lane -2, x = 190; it stands 3 m beside its lane."""

    def __init__(self, world: "World") -> None:
        self.world, self.id, self.type_id, self.parent, self.attributes = world, 2, "traffic.stop", None, {}
        self.trigger_volume = SimpleNamespace(location=Location(0.0, -4.0))

    def get_transform(self) -> Any:
        make = self.world.server.module
        return make.Transform(make.Location(190.0, 9.25, 0.0), make.Rotation(0.0, 0.0, 0.0))


class World:
    def __init__(self, server: "Server", town: Any) -> None:
        self.server, self.generation, self.map = server, server.generation, town
        self.settings = SimpleNamespace(synchronous_mode=False, fixed_delta_seconds=None)
        self.clock, self.lights_began, self.ids = 0.0, 0.0, 100
        self.light = Light(self)
        self.actors: Actors = Actors([self.light, Sign(self)])
        self.weather: Any = None
        self.walks = np.random.default_rng(0)
        self._touching: set[tuple[int, int]] = set()

    def answer(self) -> None:
        if not self.server.alive or self.generation != self.server.generation:
            raise RuntimeError(TIMEOUT)

    def get_map(self) -> Any:
        self.answer()
        return self.map

    def get_settings(self) -> Any:
        self.answer()
        return SimpleNamespace(**vars(self.settings))

    def apply_settings(self, settings: Any) -> None:
        self.answer()
        self.settings = SimpleNamespace(**vars(settings))

    def get_blueprint_library(self) -> Library:
        return Library()

    def get_actors(self) -> Actors:
        self.answer()
        return Actors(self.actors)

    def set_pedestrians_seed(self, seed: int) -> None:
        self.walks = np.random.default_rng(seed)

    def set_weather(self, weather: Any) -> None:
        self.weather = weather

    def reset_all_traffic_lights(self) -> None:
        self.lights_began = self.clock

    def get_random_location_from_navigation(self) -> Location:
        return Location(float(self.walks.uniform(0, 200)), float(self.walks.uniform(8, 11)))

    def try_spawn_actor(self, blueprint: Blueprint, transform: Any, attach_to: Any = None) -> Actor | None:
        self.answer()
        self.ids += 1
        actor = Actor(self, self.ids, blueprint, transform, attach_to)
        if attach_to is None and any(self._overlap(actor, other) for other in self._bodies()):
            return None
        self.actors.append(actor)
        return actor

    def spawn_actor(self, blueprint: Blueprint, transform: Any, attach_to: Any = None) -> Actor:
        actor = self.try_spawn_actor(blueprint, transform, attach_to)
        if actor is None:
            raise RuntimeError("Spawn failed because of collision at spawn position")
        return actor

    def _bodies(self) -> list[Actor]:
        return [one for one in self.actors if one.type_id.split(".")[0] in ("vehicle", "walker")]

    @staticmethod
    def _overlap(one: Actor, other: Actor) -> bool:
        return bool(overlap(np.array(one.box), np.array([other.box]))[0])

    def tick(self) -> None:
        self.answer()
        if not self.settings.synchronous_mode:
            raise RuntimeError("tick() of a world that runs by itself")
        self.server.ticks += 1
        if self.server.ticks == self.server.dies_at:
            self.server.alive = False
            self.answer()
        for one in self._bodies():
            one.drive(self.settings.fixed_delta_seconds)
        self.clock += self.settings.fixed_delta_seconds
        for sensor in [one for one in self.actors if one.listener_of_collisions]:
            for other in self._bodies():
                pair = (sensor.parent.id, other.id)
                if other is sensor.parent or not self._overlap(sensor.parent, other):
                    self._touching.discard(pair)
                elif sensor.listener is not None:  # the server tells of it at each tick for which it lasts
                    sensor.listener(SimpleNamespace(other_actor=other, actor=sensor.parent))


Actor.listener_of_collisions = property(lambda self: self.type_id == "sensor.other.collision")  # type: ignore[attr-defined]
Light.listener_of_collisions = Sign.listener_of_collisions = False  # type: ignore[attr-defined]


class Traffic:
    def __init__(self) -> None:
        self.synchronous, self.rng = False, np.random.default_rng()

    def set_synchronous_mode(self, on: bool) -> None:
        self.synchronous = on

    def set_random_device_seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)


class Server:
    """What the module speaks to.

    Args:
        town: its map; None: the one above.
        geometry: where Location, Rotation, Transform, VehicleControl and WeatherParameters come from.
    """

    def __init__(self, town: Any = None, geometry: Any = None) -> None:
        self.town, self.alive, self.generation, self.ticks, self.dies_at = town or Map(), True, 0, 0, -1
        self.traffic = Traffic()
        geometry = geometry or SimpleNamespace(
            Location=Location,
            Rotation=Rotation,
            Transform=Transform,
            VehicleControl=VehicleControl,
            WeatherParameters=WeatherParameters,
        )
        self.module: Any = SimpleNamespace(
            Client=lambda host, port: Client(self),
            Location=geometry.Location,
            Rotation=geometry.Rotation,
            Transform=geometry.Transform,
            VehicleControl=geometry.VehicleControl,
            WeatherParameters=geometry.WeatherParameters,
        )
        self.world = World(self, self.town)
        self.loads: list[str] = []

    def start(self) -> None:
        """Starts it again after it has died: a new world, nobody in it."""
        self.alive, self.dies_at, self.generation = True, -1, self.generation + 1
        self.world = World(self, self.town)

    @property
    def bodies(self) -> int:
        return sum(
            one.type_id.split(".")[0] in ("vehicle", "walker", "sensor", "controller") for one in self.world.actors
        )


class Client:
    def __init__(self, server: Server) -> None:
        self.server = server

    def set_timeout(self, seconds: float) -> None:
        pass

    def get_world(self) -> World:
        if not self.server.alive:
            raise RuntimeError(TIMEOUT)
        return self.server.world

    def load_world(self, town: str) -> World:
        self.server.world.answer()
        if town != self.server.town.name.rpartition("/")[2]:
            raise RuntimeError(f"map '{town}' not found")
        self.server.loads.append(town)
        self.server.world = World(self.server, self.server.town)
        return self.server.world

    def get_trafficmanager(self, port: int) -> Traffic:
        self.server.world.answer()
        return self.server.traffic
