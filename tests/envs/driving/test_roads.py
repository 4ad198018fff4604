import numpy as np
import pytest

from tiltyard.envs.driving.roads import bearing, centreline, curvature, nearest_lane


def test_a_constant_bend_of_100_m_radius_turns_round_after_half_a_circle(scene):
    world = scene((0, 0.0, 0.0)).world
    world["bend"], world["wave"], world["phase"] = 0.01, 1e9, np.pi / 2
    _, x, y, angle = centreline(world, 0.0, 100 * np.pi, step=np.pi)
    assert (x[-1], y[-1], angle[-1]) == pytest.approx((0.0, 200.0, np.pi), abs=0.02)


def test_bearing_is_the_integral_of_curvature(scene):
    world = scene((0, 0.0, 0.0)).world
    world["bend"], world["wave"], world["phase"] = 0.002, 300.0, 1.0
    s = np.linspace(0.0, 700.0, 70_001)
    k = np.array([curvature(world, at) for at in s[:-1] + 0.005])
    assert bearing(world, s[-1:])[0] == pytest.approx(k.sum() * 0.01, abs=1e-9)


@pytest.mark.parametrize(("d", "lane"), [(-9.0, 0), (1.7, 0), (1.9, 1), (7.0, 2), (30.0, 2)])
def test_nearest_lane_changes_halfway_and_stays_on_the_road(scene, d, lane):
    assert nearest_lane(scene((0, 0.0, 0.0)).world, d) == lane
