"""Observations of driving scenes, made by hand."""

import numpy as np

from tiltyard.envs.driving.town.observe import HALF_PI, SIZE

HALF_LANE = 1.75  # m


def observed(
    *, speed=0.0, limit=15.0, steer=0.0, heading=0.0, offset=0.0, line=None, red=False, crossing=None, gap=None
):
    """One row ``[1, 233]``: a lane of 3.5 m, and nothing in sight but what is named."""
    row = np.zeros((1, SIZE), np.float32)
    row[0, [0, 2, 4, 7, 8]] = speed / 20, limit / 30, steer / 0.5, heading / HALF_PI, offset / HALF_LANE
    row[0, 24] = HALF_LANE / 4
    row[0, [61, 69, 71]] = 1.0 if line is None else line / 80, 1.0, 1.0 if gap is None else gap / 80
    row[0, [62, 65]] = float(line is not None), float(red)
    if crossing is not None:
        row[0, [69, 70]] = crossing / 80, 1.0
    return row
