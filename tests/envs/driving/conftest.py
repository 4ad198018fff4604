from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tiltyard.envs.driving.state import LANE_WIDTH, VEHICLE, WORLD
from tiltyard.envs.driving.traffic import sort
from tiltyard.envs.driving.vehicle import occupy


class Scene(NamedTuple):
    world: Any
    cars: Any
    order: Any


@pytest.fixture
def scene() -> Callable[..., Scene]:
    """Builds a straight road with cars (lane, s, v), the ego first; all drivers have v0 30, T 1.5, a 1, b 1."""

    def build(*cars: tuple[int, float, float], lanes: int = 3) -> Scene:
        world = np.zeros(1, WORLD)[0]
        world["lanes"], world["vehicles"], world["ring"], world["wave"] = lanes, len(cars), 500.0, 500.0
        world["limit"], world["length"], world["budget"] = 30.0, 1000.0, 50.0
        records = np.zeros(len(cars), VEHICLE)
        for record, (lane, s, v) in zip(records, cars, strict=True):
            record["lane"] = record["target"] = lane
            record["s"], record["d"], record["v"] = s, lane * LANE_WIDTH, v
        records["length"], records["width"] = 4.8, 1.9
        records["desired"], records["headway"], records["accel"], records["brake"] = 30.0, 1.5, 1.0, 1.0
        records["patience"] = 1e9
        world["goal_lane"] = world["plan"] = cars[0][0]
        order = np.arange(len(cars))
        worlds = world.reshape(1)
        sort(worlds[0], records, order)
        occupy(worlds[0], records[0])
        return Scene(worlds[0], records, order)

    return build
