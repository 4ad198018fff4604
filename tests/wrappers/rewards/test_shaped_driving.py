import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.wrappers.driving import seen
from tiltyard.wrappers.rewards.shaped_driving import ShapedSum, wanted_speed

sys.path.insert(0, str(Path(__file__).parents[1]))
from scenes import observed  # noqa: E402


def paid(after, infraction="", before=None):
    terms = ShapedSum().judge(observed() if before is None else before, after, np.array([infraction]), None)
    return {name: round(float(value[0]), 6) for name, value in terms.items()}


def test_the_sum_by_hand():
    # 4 m/s where 6 are wanted: 1 - 2/6; 0.5 m off: -0.25; 0.1 rad off: -0.1; the wheels turned by 0.05 rad: -0.1
    found = paid(observed(speed=4.0, offset=0.5, heading=0.1, steer=0.05))
    assert found == {
        "speed": pytest.approx(2 / 3, abs=1e-6),
        "position": -0.25,
        "rotation": -0.1,
        "steering": -0.1,
        "terminal": 0.0,
        "reward": pytest.approx(2 / 3 - 0.45, abs=1e-5),
    }


def test_to_stand_before_a_red_light_is_worth_as_much_as_to_drive():
    assert paid(observed(line=3.0, red=True))["reward"] == pytest.approx(1.0 - 0.4 / 5, abs=1e-6)  # 3 - 2.6 m of room
    assert paid(observed(line=2.0, red=True))["reward"] == paid(observed(speed=6.0))["reward"] == 1.0
    assert paid(observed())["reward"] == 0.0  # to stand on an open road is not


def test_infractions_cost_one_and_some_of_them_the_speed():
    assert paid(observed(speed=6.0), "blocked")["terminal"] == -1.0
    assert paid(observed(speed=6.0), "red_light")["terminal"] == -7.0


@pytest.mark.parametrize(
    ("scene", "speed"),
    [
        ({}, 6.0),
        ({"gap": 5.7}, 3.0),  # (5.7 - 3.2) / 5 of 6 m/s
        ({"line": 5.1, "red": True}, 3.0),  # (5.1 - 2.6) / 5
        ({"line": 5.1}, 6.0),  # a green light
        ({"line": 19.0, "red": True}, 6.0),
        ({"crossing": 6.1}, 3.0),  # (6.1 - 3.6) / 5
        ({"gap": 1.0, "crossing": 6.1}, 0.0),
    ],
)
def test_what_is_in_the_way_lowers_the_wanted_speed(scene, speed):
    assert wanted_speed(seen(observed(**scene)))[0] == pytest.approx(speed, abs=1e-5)
