import numpy as np
import pytest

from tiltyard.envs.driving.metrics.harm import courtesy, harm, imposed_braking

from .logs import log


@pytest.mark.parametrize(
    ("accel_with", "accel_without", "braking"),
    [(-5.0, 1.0, 5.0), (-5.0, -3.0, 2.0), (-3.0, -3.0, 0.0), (0.2, 1.0, 0.0), (-1.0, -4.0, 0.0)],
)
def test_only_braking_that_would_not_be_is_imposed(accel_with: float, accel_without: float, braking: float) -> None:
    assert imposed_braking(accel_with, accel_without) == braking


@pytest.mark.parametrize(
    ("imposed", "factor"), [(0.0, 1.0), (2.0, 1.0), (3.0, 0.75), (4.0, 0.5), (6.0, 0.0), (9.0, 0.0)]
)
def test_courtesy_fades_with_imposed_braking(imposed: float, factor: float) -> None:
    assert courtesy(imposed) == pytest.approx(factor)


def test_harm_of_episodes() -> None:
    accel, without = np.full(101, np.nan), np.full(101, np.nan)
    accel[10:20], without[10:20] = -5.0, 0.5  # 5 m/s2 for a second: 5 m/s taken, hard
    accel[30:35], without[30:35] = -3.0, -1.0  # 2 m/s2 for half a second: 1 m/s
    found = harm([log(follower_accel=accel, follower_without=without), log()])  # 200 m in 200 steps
    assert found.hardest == 5.0
    assert found.hard_share == pytest.approx(10 / 200)
    assert found.taken_per_km == pytest.approx(6.0 / 0.2)
    with pytest.raises(ValueError, match="at least one"):
        harm([])
