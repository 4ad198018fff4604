"""Long vehicles keep out of the lanes beside them, in tight bends and when they change lane slowly."""

import math

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.driver import keep_in
from tiltyard.envs.driving.town.state import COLLISION, allocate
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds


@pytest.fixture(scope="module")
def circle():
    """A circle of radius 8 m in four lanes."""
    lanes = []
    for i in range(4):
        angles = np.linspace(0.5 * math.pi * i, 0.5 * math.pi * (i + 1), 120)
        points = np.stack([8.0 * np.cos(angles), 8.0 * np.sin(angles)], axis=1)
        lanes.append(Lane(str(i), points, 3.5, 8.0, [str((i + 1) % 4)], "", "", road=str(i)))
    return build("circle", lanes)


def corner(car):
    """How far the outer front corner is from the middle of the circle."""
    along, aside = 0.5 * car["length"], -0.5 * car["width"]
    cos, sin = math.cos(car["heading"]), math.sin(car["heading"])
    return math.hypot(car["x"] + along * cos - aside * sin, car["y"] + along * sin + aside * cos)


def test_a_lorry_takes_a_bend_with_both_axles_over_its_middle(circle, place, run):
    """Axles 5.8 m apart on a circle of 8 m: its middle is at sqrt(64 - 2.9^2) = 7.456 m, and its outer front corner
    at hypot(7.456 + 1.2, 5) = 9.997 m, within 2 m of the lane's middle; tangent to it, at hypot(9.2, 5) = 10.47 m."""
    batch, maps = place(circle, (0, 6.0, 2.0))
    lorry = batch.agents[0][0]
    lorry["length"], lorry["width"] = 10.0, 2.4
    assert corner(lorry) == pytest.approx(10.47, abs=0.02)
    for _ in range(60):  # round the circle, across the seams of its lanes
        run(batch, maps, 1)
        assert math.hypot(lorry["x"], lorry["y"]) == pytest.approx(7.456, abs=0.05)
        assert corner(lorry) == pytest.approx(9.997, abs=0.08)
    assert lorry["lane"] != 0


def test_a_car_does_not(circle, place, run):
    batch, maps = place(circle, (0, 6.0, 2.0))
    run(batch, maps, 1)
    assert math.hypot(batch.agents["x"][0, 0], batch.agents["y"][0, 0]) == pytest.approx(8.0, abs=0.01)


@pytest.mark.parametrize(("d", "most"), [(0.0, 0.55), (0.5, 1.05)])
def test_a_slow_change_of_lane_does_not_swing_an_end_into_a_third(road, place, d, most):
    """A lane of 3.5 m and a lorry of 2.4 m leave 0.55 m on either side: 5 m of half its length may turn by that."""
    batch, maps = place(road, (0, 50.0, 1.0))
    lorry = batch.agents[0][0]
    lorry["length"], lorry["width"], lorry["d"] = 10.0, 2.4, d
    for turn in (0.4, -0.4):
        lorry["turn"] = turn
        keep_in(maps, lorry)
        assert lorry["turn"] == pytest.approx(math.copysign(math.asin(most / 5.0), turn), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "seed", "world", "seconds"),
    [("town", 0, 0, 40), ("intersection", 2, 2, 45), ("stop-intersection", 0, 3, 70), ("merge", 0, 2, 290)],
)
def test_no_lorry_touches_anybody(name, seed, world, seconds):
    """Worlds in which one did, three vehicles in ten being lorries."""
    graph = make(name, seed)
    maps, batch = atlas([graph]), allocate(1, 24, crossings=len(graph.columns.crossing))
    keys = np.random.default_rng([7, seed]).integers(0, 2**63, 4).astype(np.uint64)
    mix = np.array([24.0, 0.0, 0.3, 0.0])
    begin_worlds(batch, maps, np.arange(1), keys[world : world + 1], np.zeros(1, np.int32), mix)
    for _ in range(seconds):
        step_worlds(batch, maps, np.ones(1, np.bool_), 10, 0, 1)
        assert COLLISION not in batch.events["kind"][0, : batch.worlds["events"][0]]
        batch.worlds["events"] = 0
    assert (batch.agents["length"] > 6.0).sum() >= 4
