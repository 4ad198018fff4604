"""One episode in a world of a server."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..vehicle import steer_limit
from .errors import ServerLost
from .expert import act
from .judging import Judge, Rules
from .observe import Clocks, observe
from .planning import Way, connect, wander, way
from .recording import Recorder
from .routes import Route
from .rules import Stop, crossed, stops
from .scene import Scene, body, kind_of, place
from .server import Server, asking

TICKS = 2  # of a policy step
SETTLE = 10  # ticks for which the ego stands and the traffic begins to drive
FULL_LOCK = 1.2217  # rad, 70 degrees at the wheels: CARLA's steering of 1 on most cars
START = 20  # places that are tried before a map is given up
SHARE = 0.35  # of the limit that the time budget asks for


@dataclass(frozen=True)
class Problem:
    """What an episode is about; see :class:`~.env.BatchedCarla`."""

    route: Route | None
    route_length: float
    vehicles: int
    pedestrians: int
    rules: Rules


class Session:
    """An episode: the ego is in the world when this has been made.

    Args:
        server: connected, its map open.
        problem: what it is about.
        rng: decides what is drawn.

    Raises:
        ServerLost: the server died, or has no place for the ego.
        Unreachable: the route leads nowhere.
    """

    def __init__(self, server: Server, problem: Problem, rng: np.random.Generator) -> None:
        self._server, self._carla, self.problem = server, server.carla, problem
        with asking("reading the map"):
            self._map = server.world.get_map()
            self.way = self._given(problem.route) if problem.route is not None else self._drawn(rng)
            self.lines: list[Stop] = stops(server.world, self.way)
        if problem.route is not None and problem.route.weather:
            with asking("setting the weather"):
                server.world.set_weather(self._carla.WeatherParameters(**problem.route.weather))
        self.ego = server.spawn_ego(self._start())
        self.crowd = server.spawn_traffic(problem.vehicles, problem.pedestrians, rng)
        self._limit, self._s, self._steer = 0.0, 0.0, 0.0
        self._settle()
        self.scene = self._look()
        self._limit = max(self.scene.limit, 1.0)
        self.judge = Judge(problem.rules, self.way.length, self.way.length / (SHARE * self._limit) + 60.0)
        self.recorder = Recorder(self.way.length, self.problem_names())
        server.collisions()
        self.recorder.see(self.scene, ())

    def _given(self, route: Route) -> Way:
        return way(connect(self._map, [self._carla.Location(*point) for point in route.keypoints], route.where))

    def _drawn(self, rng: np.random.Generator) -> Way:
        places = self._map.get_spawn_points()
        if not places:
            raise ServerLost(f"the map {self._map.name} has no places to start from")
        longest: list[Any] = []
        for number in rng.permutation(len(places))[:START].tolist():
            begin = self._map.get_waypoint(places[number].location)
            found = wander(begin, self.problem.route_length, lambda n: int(rng.integers(n)))
            longest = max(longest, found, key=len)
            if (len(longest) - 1) * 2.0 >= self.problem.route_length:
                break
        return way(longest)

    def _start(self) -> Any:
        x, y, heading, _ = self.way.at(0.0)
        turned = self._carla.Rotation(0.0, -float(np.degrees(heading)), 0.0)  # pitch, yaw, roll
        return self._carla.Transform(self._carla.Location(x, -y, self.way.z + 0.5), turned)

    def _settle(self) -> None:
        with asking("letting the traffic begin"):
            self.ego.apply_control(self._carla.VehicleControl(throttle=0.0, steer=0.0, brake=1.0))
        for _ in range(SETTLE):
            self._server.tick()

    def step(self, pedal: float, steering: float) -> None:
        """Drives for a policy step.

        Raises:
            ServerLost: the server died.
        """
        happened: list[str] = []
        for _ in range(TICKS):
            self._control(pedal, steering)
            self._server.tick()
            self.scene = self._look()
            faults = self.recorder.see(self.scene, self._server.collisions())
            happened += ["collision" if own else "struck" for own in faults]
            front = self._s + 0.5 * self.scene.ego.length
            for kind in crossed(self.lines, front, self.scene.ego.v):
                self.recorder.happened(kind)
                happened.append(kind)
        for kind, now in (("off_road", self.scene.place.off_lanes), ("wrong_way", self.scene.place.wrong_way)):
            if now:
                happened.append(kind)
        self.judge.step(self.scene, happened, self.recorder.imposed(), self.recorder.ttc)
        names = {"off_route": "deviation", "late": "timeout"}
        if self.judge.infraction in ("off_route", "late", "blocked", "off_road", "wrong_way"):
            self.recorder.happened(names.get(self.judge.infraction, self.judge.infraction))

    def _control(self, pedal: float, steering: float) -> None:
        self._steer = steering * steer_limit(max(self.scene.ego.v, 0.0))
        control = self._carla.VehicleControl(
            throttle=max(pedal, 0.0), steer=-self._steer / FULL_LOCK, brake=max(-pedal, 0.0)
        )
        with asking("steering"):
            self.ego.apply_control(control)

    def _look(self) -> Scene:
        with asking("looking around"):
            own = body(self.ego)
            about = [one for one in self._server.world.get_actors() if kind_of(one.type_id) != "static"]
            others = [body(one) for one in about if one.id != self.ego.id]
            limit = self.ego.get_speed_limit() / 3.6
            at = place(self._carla, self._map, own)
        others.sort(key=lambda one: ((one.x - own.x) ** 2 + (one.y - own.y) ** 2, one.id))
        self._s, aside = self.way.project(own.x, own.y, self._s)
        return Scene(own, tuple(others), at, limit if limit > 0 else self._limit or 13.9, self._steer, self._s, aside)

    def observe(self) -> npt.NDArray[np.float32]:
        """``[233]``."""
        judge = self.judge
        left = judge.length - judge.best
        clocks = Clocks(judge.length, left, judge.budget, judge.clock, judge.straddle, judge.still)
        return observe(self.scene, self.way, self.lines, clocks)

    def expert(self) -> tuple[float, float]:
        """The scripted driver's pedal and steering."""
        with asking("looking at the signals"):
            return act(self.scene, self.way, self.lines)

    def problem_names(self) -> dict[str, str | int | float]:
        """What names the problem."""
        return {
            "map": str(self._map.name).rpartition("/")[2],
            "route": self.problem.route.id if self.problem.route is not None else "",
            "route_length": self.way.length,
            "time_budget": self.judge.budget,
            "vehicles": self.crowd[0],
            "pedestrians": self.crowd[1],
        }
