"""Where drivers wait at a junction: before it, and not on the crossing in front of it."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.holding import holds


def approaches(columns):
    """Each lane of the junction, with the one lane before it."""
    for lane in np.flatnonzero(columns.junction >= 0):
        (before,) = columns.previous_lane[columns.previous_first[lane] : columns.previous_first[lane + 1]]
        yield lane, before


def test_who_waits_does_not_stand_on_a_crossing():
    columns = intersection(3, control="stop", arms=4, lanes=1).columns
    found, several = holds(columns), 0
    for lane, before in approaches(columns):
        strips = np.flatnonzero(columns.crossing_lane == before)
        first = min(columns.crossing_begin[strip] for strip in strips)
        assert found[lane] == pytest.approx(first - columns.length[before] - 0.5, abs=1e-4)
        several += 1
    assert several >= 8


def test_without_crossings_they_wait_at_the_junction():
    columns = intersection(3, control="stop", arms=4, lanes=1, crossings=False).columns
    assert {float(holds(columns)[lane]) for lane, _ in approaches(columns)} == {-0.5}
