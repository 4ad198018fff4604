import math
from collections.abc import Callable

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.graph import LaneGraph
from tiltyard.envs.driving.town.atlas import Atlas, atlas
from tiltyard.envs.driving.town.spawn import put
from tiltyard.envs.driving.town.state import CAR, DRIVER, Batch, allocate
from tiltyard.envs.driving.town.step import step_worlds


def arc(radius: float, begin: float, end: float) -> np.ndarray:
    angles = np.linspace(begin, end, max(8, int(abs(end - begin) * radius / 2.0)))
    return np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=1)


@pytest.fixture(scope="session")
def road() -> LaneGraph:
    """Two lanes side by side, 300 m, right and left, each followed by one of 100 m."""
    lanes = []
    for name, y in (("right", 0.0), ("left", 3.5)):
        lanes.append(Lane(name, [[0.0, y], [300.0, y]], 3.5, 20.0, [f"{name}-end"], road="first"))
        lanes.append(Lane(f"{name}-end", [[300.0, y], [400.0, y]], 3.5, 20.0, road="second"))
    return build("road", lanes)


@pytest.fixture(scope="session")
def ring() -> LaneGraph:
    """A circle of radius 200 m in four lanes, one after the other."""
    quarter = 0.5 * math.pi
    lanes = [
        Lane(str(i), arc(200.0, i * quarter, (i + 1) * quarter), 3.5, 15.0, [str((i + 1) % 4)], "", "", road=str(i))
        for i in range(4)
    ]
    return build("ring", lanes)


@pytest.fixture
def place() -> Callable[..., tuple[Batch, Atlas]]:
    """One world on a map with drivers (lane, s, v), identical but for that: v0 30 m/s, T 1.5 s, a 1.5, b 2 m/s2."""

    def build_world(graph: LaneGraph, *cars: tuple[int, float, float], room: int = 0) -> tuple[Batch, Atlas]:
        maps = atlas([graph])
        batch = allocate(1, max(room, len(cars)))
        stream = np.ones(1, np.uint64)
        batch.worlds["agents"] = len(cars)
        for k, (lane, s, v) in enumerate(cars):
            car = batch.agents[0][k]
            car["kind"], car["controller"], car["length"], car["width"] = CAR, DRIVER, 4.8, 1.9
            car["pace"], car["desired"], car["headway"], car["accel"], car["brake"] = 1.0, 30.0, 1.5, 1.5, 2.0
            put(batch.worlds[0], stream, maps, car, batch.routes[0, k], lane, s)
            car["v"], car["patience"] = v, 1e9
        return batch, maps

    return build_world


@pytest.fixture
def run() -> Callable[..., None]:
    """Steps all worlds of a batch."""

    def step(batch: Batch, maps: Atlas, ticks: int) -> None:
        count = len(batch.worlds)
        step_worlds(batch, maps, np.ones(count, np.bool_), ticks, 0, count)

    return step
