"""What is ours against the real client's maps and classes; a server is not needed."""

from math import pi
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tiltyard.envs.driving.carla.env import CarlaEnv
from tiltyard.envs.driving.carla.planning import connect, way
from tiltyard.envs.driving.carla.scene import place

from .fake import Server
from .scenes import car

pytestmark = pytest.mark.carla

ROAD = (Path(__file__).parent / "bend.xodr").read_text()
"""200 m straight east, then a quarter of a circle of 50 m to the left (north), two lanes there and one back."""


class Town:
    """The client's map, and places to start from, which it has none of without a server."""

    name = "Carla/Maps/FakeTown"

    def __init__(self, carla: Any) -> None:
        self._map, self._carla = carla.Map("FakeTown", ROAD), carla

    def get_waypoint(self, location: Any) -> Any:
        return self._map.get_waypoint(self._carla.Location(location.x, location.y, location.z))

    def get_spawn_points(self) -> list[Any]:
        places = [(5.0, 1.75), (40.0, 1.75), (60.0, 5.25), (150.0, -1.75)]
        return [self.get_waypoint(self._carla.Location(x, y, 0.0)).transform for x, y in places]


def client() -> Any:
    import carla

    return carla


def test_a_way_on_the_clients_map() -> None:
    carla = client()
    town = Town(carla)
    # the middles of its lanes are 1.75 m and 5.25 m outside the circle of 50 m; it changes from one to the other
    along = way(connect(town, [carla.Location(10.0, 1.75, 0.0), carla.Location(255.25, -50.0, 0.0)]))
    assert 190 + 51.75 * pi / 2 < along.length < 190 + 55.25 * pi / 2
    assert along.at(1e9)[:2] == pytest.approx((255.25, 50.0), abs=0.2)
    assert along.heading[-1] == pytest.approx(pi / 2, abs=0.05)  # north, to the left
    assert (along.y[0], along.width[0]) == pytest.approx((-1.75, 3.5), abs=1e-3)


def test_the_egos_place_on_the_clients_map() -> None:
    carla = client()
    town = Town(carla)
    found = place(carla, town, car(x=50.0, y=-1.25, heading=0.1, length=4.8, width=1.9))
    assert (found.turn, found.offset, found.width) == pytest.approx((0.1, 0.5, 3.5), abs=1e-3)
    assert (found.left, found.right, found.junction, found.off_lanes, found.wrong_way) == (False, True, *[False] * 3)
    assert place(carla, town, car(x=50.0, y=-1.75, heading=pi)).wrong_way
    assert place(carla, town, car(x=50.0, y=-8.0)).off_lanes
    assert place(carla, town, car(x=50.0, y=-6.5)).outside == pytest.approx(0.5, abs=1e-3)  # 7.5 of 7 m


def test_an_episode_with_the_clients_classes(tmp_path: Path) -> None:
    carla = client()
    server = Server(town=Town(carla), geometry=carla)
    file = tmp_path / "routes.xml"
    file.write_text(
        '<routes><route id="0" town="FakeTown"><weathers><weather route_percentage="0" cloudiness="5.0"/></weathers>'
        '<waypoints><position x="10" y="1.75" z="0"/><position x="255.25" y="-50" z="0"/></waypoints></route></routes>'
    )
    env = CarlaEnv(client=server.module, vehicles=2, routes=file, rules="leaderboard")
    observation, info = env.reset(seed=0)
    server.world.light.always = "Green"
    for _ in range(1500):
        observation, _, terminated, truncated, info = env.step(env.expert().predict(observation)[0])
        if terminated or truncated:
            break
    assert env.log().ended == "completed"
    assert isinstance(server.world.weather, carla.WeatherParameters)
    assert server.world.weather.cloudiness == 5.0
    env.close()
    assert server.bodies == 0


def test_without_a_server_the_client_says_what_we_understand() -> None:
    carla = client()
    from tiltyard.envs.driving.carla.errors import NoServer
    from tiltyard.envs.driving.carla.server import Address
    from tiltyard.envs.driving.carla.server import Server as Connection

    with pytest.raises(NoServer, match="127.0.0.1:2999 .*time-out"):
        Connection(carla, Address(port=2999, timeout=0.5, patience=1.0)).connect()
    assert SimpleNamespace(carla=carla).carla.VehicleControl(throttle=0.5, steer=-0.1, brake=0.0).throttle == 0.5


def test_the_client_has_all_that_we_call() -> None:
    carla = client()
    wanted = {
        "Client": "set_timeout get_world load_world get_trafficmanager",
        "World": "get_map get_settings apply_settings tick get_blueprint_library spawn_actor try_spawn_actor "
        "get_actors set_weather set_pedestrians_seed reset_all_traffic_lights get_random_location_from_navigation",
        "WorldSettings": "synchronous_mode fixed_delta_seconds",
        "TrafficManager": "set_synchronous_mode set_random_device_seed",
        "Map": "name get_spawn_points get_waypoint",
        "Waypoint": "transform lane_width road_id section_id lane_id s is_junction lane_change lane_type next "
        "get_left_lane get_right_lane",
        "Vehicle": "get_transform get_velocity get_acceleration get_angular_velocity get_speed_limit apply_control "
        "set_autopilot destroy id type_id attributes parent bounding_box",
        "Walker": "bounding_box get_transform destroy",
        "WalkerAIController": "start stop go_to_location",
        "ServerSideSensor": "listen stop destroy",
        "CollisionEvent": "other_actor",
        "TrafficLight": "get_state get_stop_waypoints",
        "TrafficSign": "trigger_volume get_transform",
        "BlueprintLibrary": "find filter",
        "ActorBlueprint": "set_attribute id",
        "ActorList": "filter",
        "BoundingBox": "location extent",
    }
    missing = [
        f"{c}.{name}" for c, names in wanted.items() for name in names.split() if not hasattr(getattr(carla, c), name)
    ]
    assert not missing
