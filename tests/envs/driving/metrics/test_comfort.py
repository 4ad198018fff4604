import numpy as np
import pytest

from tiltyard.envs.driving.metrics.comfort import BOUNDS, quantities, within

from .logs import log


@pytest.mark.parametrize(
    ("name", "states", "good", "bad"),
    [
        # constant accelerations pass the filter as they are
        ("accel", lambda v: {"accel": np.full(101, v)}, 2.39, 2.41),
        ("accel", lambda v: {"accel": np.full(101, v)}, -4.04, -4.06),
        ("lateral_accel", lambda v: {"lateral_accel": np.full(101, v)}, -4.88, -4.90),
        ("yaw_rate", lambda v: {"heading": np.arange(101) * 0.1 * v}, 0.94, -0.96),
        ("yaw_accel", lambda v: {"heading": 0.5 * v * (np.arange(101) * 0.1 - 5.0) ** 2}, 1.92, 1.94),
    ],
)
def test_each_bound_by_itself(name: str, states: object, good: float, bad: float) -> None:
    assert callable(states)
    assert within(log(**states(good)))[name]
    assert not within(log(**states(bad)))[name]


def test_jerk_is_that_of_a_ramp() -> None:
    # a window of eight has no middle state, so that the ramp is shifted by half a state but where the fit is at an end
    time = np.arange(61) * 0.1
    middle = slice(12, -12)
    ramp = log(steps=60, accel=2.0 * time)
    np.testing.assert_allclose(quantities(ramp)[0]["lon_jerk"][middle], 2.0, atol=1e-6)
    assert within(ramp)["lon_jerk"]
    assert not within(log(steps=60, accel=4.2 * time))["lon_jerk"]
    # the magnitude of (3 t, 4 t) is 5 t: 8.4 is over the bound, though 5.04 t and 6.72 t by themselves are not
    both = log(steps=60, accel=5.04 * time, lateral_accel=6.72 * time)
    np.testing.assert_allclose(quantities(both)[0]["jerk"][middle], 8.4, atol=1e-6)
    assert not within(both)["jerk"]
    assert within(log(steps=60, accel=5.04 * time))["jerk"]


def test_a_full_turn_is_no_jump_and_a_respawn_no_motion() -> None:
    assert within(log(heading=np.where(np.arange(101) < 50, 3.1, -3.1)))["yaw_rate"]
    x = np.r_[0.0:20.0, 90.0:110.0]
    heading = np.where(np.arange(40) < 20, 0.0, 1.5)
    assert not within(log(x=x, heading=heading))["yaw_rate"]
    assert within(log(x=x, heading=heading, life=np.arange(40) // 20))["yaw_rate"]


def test_two_states_are_enough() -> None:
    assert within(log(steps=1)) == dict.fromkeys(BOUNDS, True)
    assert not within(log(steps=1, accel=[9.0, 9.0]))["accel"]
