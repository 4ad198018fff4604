"""The way to a goal: the distance from every lane, from which each next lane follows."""

import heapq

import numpy as np
import numpy.typing as npt

from ..maps.graph import DRIVING, NONE, Columns

CHANGE = 20.0  # m that a change of lane counts as


def distances(columns: Columns, goal: int) -> npt.NDArray[np.float64]:
    """Metres from the beginning of each lane to the end of lane ``goal``; infinite where no way leads there.

    A change of lane counts as :data:`CHANGE` m. Dijkstra's algorithm backwards from the goal.

    Raises:
        ValueError: there is no such lane.
    """
    if not 0 <= goal < len(columns.length):
        raise ValueError(f"lane {goal} is no goal on a map of {len(columns.length)} lanes")
    found = np.full(len(columns.length), np.inf)
    found[goal] = float(columns.length[goal])
    queue = [(found[goal], goal)]
    while queue:
        away, lane = heapq.heappop(queue)
        if away > found[lane]:
            continue
        before = columns.previous_lane[columns.previous_first[lane] : columns.previous_first[lane + 1]].tolist()
        steps = [(one, away + float(columns.length[one])) for one in before]
        steps += [(one, away + CHANGE) for one in _beside(columns, lane)]
        for one, further in steps:
            if columns.kind[one] == DRIVING and further < found[one]:
                found[one] = further
                heapq.heappush(queue, (further, one))
    return found


def _beside(columns: Columns, lane: int) -> list[int]:
    """Lanes from which a vehicle may change into ``lane``."""
    near = (int(columns.left[lane]), int(columns.right[lane]))
    return [one for one in near if one != NONE and lane in (columns.left[one], columns.right[one])]
