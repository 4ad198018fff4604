"""The way to a server: connecting, synchronous mode, seeds, actors and their removal.

Everything that a server is asked for goes through the Python client, a module that is handed in, so that anything that
speaks like it will do. The client tells of all that goes wrong by ``RuntimeError``; here it becomes
:class:`~.errors.NoServer` before a server has answered, and :class:`~.errors.ServerLost` after.

One tick is 0.1 s. Reproducible are, as far as CARLA promises it: synchronous mode with a fixed step, a traffic manager
that is synchronous and seeded, seeded pedestrians, signals put back to their beginning. Loading the map anew for each
episode (``reload``) leaves least of the one before.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from .errors import NoServer, ServerLost

TICK = 0.1  # s
WAIT = 1.0  # s between two tries to connect
EGO = "vehicle.tesla.model3"
HERO, OTHERS = "hero", "tiltyard"
"""Roles by which actors are known again that an earlier connection left behind."""


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Turns what the client raises into :class:`ServerLost`."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, ServerLost):
            raise
        raise ServerLost(f"the CARLA server was lost while {what}: {error}") from error


@dataclass(frozen=True)
class Address:
    """Where a server listens, and how long it is waited for.

    Attributes:
        host, port: of the server.
        traffic_port: of the traffic manager.
        timeout: s that one call may take.
        patience: s for which connecting is tried again.
    """

    host: str = "127.0.0.1"
    port: int = 2000
    traffic_port: int = 8000
    timeout: float = 20.0
    patience: float = 60.0


class Server:
    """A connection that may be lost and made again, and the actors that were put into the world through it."""

    def __init__(self, carla: Any, address: Address, sleep: Callable[[float], None] = time.sleep) -> None:
        self.carla, self.address, self._sleep = carla, address, sleep
        self._client: Any = None
        self.world: Any = None
        self._traffic: Any = None
        self._actors: list[Any] = []
        self._sensors: list[Any] = []
        self._before: Any = None
        self.touched: SimpleQueue[Any] = SimpleQueue()
        """Collision events since the last look."""

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._client is not None

    def connect(self) -> None:
        """Connects, trying for ``patience`` seconds.

        Raises:
            NoServer: nothing answered.
        """
        tries = max(1, int(self.address.patience / WAIT))
        for number in range(tries):
            try:
                client = self.carla.Client(self.address.host, self.address.port)
                client.set_timeout(self.address.timeout)
                self.world = client.get_world()
                self._client = client
                return
            except RuntimeError as error:
                if number == tries - 1:
                    raise NoServer(self.address.host, self.address.port, error) from error
                self._sleep(WAIT)

    def open(self, town: str, seed: int, *, reload: bool = False) -> None:
        """Loads a map (``""``: the one that is there), and makes world and traffic manager synchronous and seeded.

        Raises:
            ServerLost: the server died, or does not know the map.
        """
        self.clear()
        with asking(f"loading {town or 'its map'}"):
            here = self.world.get_map().name.rpartition("/")[2]
            if reload or (town and here != town):
                self.world = self._client.load_world(town or here)
                self._before = None
            if self._before is None:
                self._before = self.world.get_settings()
            settings = self.world.get_settings()
            settings.synchronous_mode, settings.fixed_delta_seconds = True, TICK
            self.world.apply_settings(settings)
            self._traffic = self._client.get_trafficmanager(self.address.traffic_port)
            self._traffic.set_synchronous_mode(True)
            self._traffic.set_random_device_seed(seed)
            self.world.set_pedestrians_seed(seed)
            self.world.reset_all_traffic_lights()
            self._sweep()

    def _sweep(self) -> None:
        """Removes what an earlier connection, or a process that was killed, has left in the world."""
        ours = [one for one in self.world.get_actors() if one.attributes.get("role_name") in (HERO, OTHERS)]
        known = {one.id for one in ours}
        attached = [one for one in self.world.get_actors() if one.parent is not None and one.parent.id in known]
        for one in [*attached, *(one for one in ours if one not in attached)]:
            one.destroy()

    def spawn_ego(self, transform: Any) -> Any:
        """Puts the ego into the world, with a sensor of collisions.

        Raises:
            ServerLost: the server died, or something stands there.
        """
        with asking("putting the ego into the world"):
            library = self.world.get_blueprint_library()
            blueprint = library.find(EGO)
            blueprint.set_attribute("role_name", HERO)
            ego = self.world.spawn_actor(blueprint, transform)
            self._actors.append(ego)
            still = self.carla.Transform(self.carla.Location(0.0, 0.0, 0.0), self.carla.Rotation(0.0, 0.0, 0.0))
            sensor = self.world.spawn_actor(library.find("sensor.other.collision"), still, attach_to=ego)
            self._sensors.append(sensor)
            queue = self.touched = SimpleQueue()
            sensor.listen(queue.put)
            return ego

    def spawn_traffic(self, vehicles: int, pedestrians: int, rng: np.random.Generator) -> tuple[int, int]:
        """Puts others into the world, at most as many as find a place; returns how many vehicles and pedestrians."""
        with asking("putting traffic into the world"):
            library = self.world.get_blueprint_library()
            kinds = sorted(library.filter("vehicle.*"), key=lambda one: one.id)
            places = self.world.get_map().get_spawn_points()
            spawned = 0
            for place in rng.permutation(len(places)).tolist():
                if spawned == vehicles:
                    break
                blueprint = kinds[int(rng.integers(len(kinds)))]
                blueprint.set_attribute("role_name", OTHERS)
                actor = self.world.try_spawn_actor(blueprint, places[place])
                if actor is not None:
                    self._actors.append(actor)
                    actor.set_autopilot(True, self.address.traffic_port)
                    spawned += 1
            return spawned, self._spawn_pedestrians(pedestrians, rng)

    def _spawn_pedestrians(self, wanted: int, rng: np.random.Generator) -> int:
        library, spawned = self.world.get_blueprint_library(), 0
        kinds = sorted(library.filter("walker.pedestrian.*"), key=lambda one: one.id)
        for _ in range(wanted):
            place = self.world.get_random_location_from_navigation()
            if place is None:
                continue
            blueprint = kinds[int(rng.integers(len(kinds)))]
            blueprint.set_attribute("role_name", OTHERS)
            upright = self.carla.Transform(place, self.carla.Rotation(0.0, 0.0, 0.0))
            walker = self.world.try_spawn_actor(blueprint, upright)
            if walker is None:
                continue
            self._actors.append(walker)
            mind = self.world.spawn_actor(library.find("controller.ai.walker"), upright, attach_to=walker)
            self._sensors.append(mind)
            self.world.tick()
            mind.start()
            goal = self.world.get_random_location_from_navigation()
            if goal is not None:
                mind.go_to_location(goal)
            spawned += 1
        return spawned

    def tick(self) -> None:
        """Advances the world by 0.1 s."""
        with asking("advancing the world"):
            self.world.tick()

    def collisions(self) -> list[Any]:
        """Collision events since the last look, in the order in which they came."""
        found = []
        while True:
            try:
                found.append(self.touched.get_nowait())
            except Empty:
                return found

    def clear(self) -> None:
        """Removes all actors that were put into the world here: sensors and controllers first, the ego last.

        Raises:
            ServerLost: the server died; its actors died with it, and are forgotten.
        """
        sensors, actors = self._sensors[::-1], self._actors[::-1]
        self._sensors, self._actors = [], []
        with asking("removing actors"):
            for one in sensors:
                one.stop()
                one.destroy()
            for one in actors:
                one.destroy()

    def drop(self) -> None:
        """Forgets a connection that was lost, and what stood behind it."""
        self._client = self.world = self._traffic = self._before = None
        self._sensors, self._actors = [], []

    def close(self) -> None:
        """Removes the actors and gives the world back to its own time; a server that is gone needs neither."""
        if not self.connected:
            return
        try:
            self.clear()
            with asking("giving the world back"):
                if self._traffic is not None:
                    self._traffic.set_synchronous_mode(False)
                if self._before is not None:
                    self.world.apply_settings(self._before)
        except ServerLost:
            pass  # a dead server holds no actors
        self.drop()
