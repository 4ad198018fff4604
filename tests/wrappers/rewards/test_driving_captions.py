import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.wrappers.rewards.driving_captions import ATTRIBUTES, caption, describe, true_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from scenes import observed  # noqa: E402


@pytest.mark.parametrize(
    ("scene", "infraction", "values"),
    [
        ({}, "", [0, 0, 0, 0, 0, 0]),
        ({"gap": 20.0, "speed": 4.0}, "", [0, 1, 0, 0, 0, 1]),
        ({"gap": 3.0, "offset": -0.5, "speed": 9.0}, "collision", [1, 2, 0, 0, 1, 2]),
        ({"line": 10.0}, "late", [0, 0, 0, 1, 0, 0]),
        ({"line": 10.0, "red": True}, "struck", [1, 0, 0, 2, 0, 0]),
        ({"line": 30.0, "red": True}, "", [0, 0, 0, 0, 0, 0]),
    ],
)
def test_the_simulator_says_what_is_true(scene, infraction, values):
    assert describe(observed(**scene), np.array([infraction])).tolist() == [values]


def test_people_are_near_and_vehicles_are_no_people():
    row = observed()
    row[0, 73:76] = 1.0, 6 / 80, 6 / 80  # 8.5 m away
    for kind, people in ((-1.0, 1), (0.0, 1), (1.0, 0)):
        row[0, 82] = kind
        assert describe(row, np.array([""]))[0, 2] == people


def test_a_caption_says_what_is_told_and_no_more():
    assert caption([0, 2, 0, 0, 0, 1], [False, True, False, False, False, True]) == (
        "a vehicle is just in front of the car and the car drives slowly"
    )
    with pytest.raises(ValueError, match="says something"):
        caption([0] * 6, [False] * 6)


def test_a_caption_is_true_of_every_scene_with_those_values():
    scenes = np.array([[0, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [1, 2, 1, 0, 0, 0]])
    told = np.zeros((3, len(ATTRIBUTES)), bool)
    told[0, 1] = told[1, [1, 2]] = told[2, 2] = True
    assert true_of(scenes, scenes, told).tolist() == [[True, False, False], [True, True, True], [False, False, True]]
