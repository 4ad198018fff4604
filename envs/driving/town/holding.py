"""Where drivers wait who may not enter a junction yet."""

import numpy as np
import numpy.typing as npt

from ..maps.graph import Columns

GAP = 0.5  # m before a junction or a crossing
CLEAR = 6.0  # m between a crossing and a junction in which a vehicle that waits does not stand on the crossing
CONFLICT = 1.5  # m before the first conflict of a lane that lies in no junction


def holds(columns: Columns) -> npt.NDArray[np.float64]:
    """The s, of each lane of a conflict zone, at which the front of a vehicle without a reservation stops at latest.

    That is before the junction, which is a negative s, or before the first conflict of a lane that lies in none. Where
    vehicles would wait on a crossing, it is before the crossing: pedestrians could not go, and who waits for them
    neither.
    """
    found = np.full(len(columns.length), -GAP)
    for lane in np.flatnonzero(columns.junction >= 0):
        before = columns.previous_lane[columns.previous_first[lane] : columns.previous_first[lane + 1]]
        for strip in np.flatnonzero(np.isin(columns.crossing_lane, before)):
            left = columns.length[columns.crossing_lane[strip]] - columns.crossing_end[strip]
            if left < CLEAR:
                wide = columns.crossing_end[strip] - columns.crossing_begin[strip]
                found[lane] = min(found[lane], -left - wide - GAP)
    for lane in np.flatnonzero((columns.junction < 0) & (np.diff(columns.conflict_first) > 0)):
        begins = columns.conflict_begin[columns.conflict_first[lane] : columns.conflict_first[lane + 1]]
        found[lane] = begins.min() - CONFLICT
    return found
