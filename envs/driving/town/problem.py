"""How a problem's route is drawn, and how much time there is for it."""

import math
from typing import Any

from ..compiled import compiled, uniform
from .atlas import Atlas
from .state import NONE

TRIES = 48
ARRIVED = 8.0  # m before the end of the route, which is then complete
MOST_LANES = 400  # of a route
SLOWEST = 3.0  # m/s that no bend asks to go below


@compiled
def distance_of(atlas: Atlas, goal: int, lane: int) -> float:
    """Metres from the beginning of a lane to the end of a goal's lane; infinite where no way leads there."""
    first = atlas.maps[atlas.lanes[lane].map].lane
    away: float = atlas.goal_distance[atlas.goal_first[goal] + lane - first]
    return away


@compiled
def metres_left(atlas: Atlas, goal: int, lane: int, s: float) -> float:
    """From a place to the end of a goal's road, on any of its lanes; -1 where no way leads there, or off all lanes."""
    if lane == NONE:
        return -1.0
    here = atlas.lanes[lane]
    if here.road == atlas.lanes[atlas.goal_lane[goal]].road:
        return float(max(here.length - s, 0.0))
    away = distance_of(atlas, goal, lane)
    return max(away - s, 0.0) if away < math.inf else -1.0


@compiled
def draw_route(
    atlas: Atlas, begins: Any, first: int, last: int, low: float, high: float, stream: Any
) -> tuple[int, int]:
    """A lane and a goal whose distance lies between ``low`` and ``high`` m, or is the nearest to that of 48 tries.

    Args:
        atlas: all maps.
        begins: lanes on which a route may begin.
        first: goals ``first <= goal < last``.
        last: see there.
        low: m.
        high: m.
        stream: SplitMix64.

    Returns:
        The lane and the goal; ``(NONE, NONE)`` where no way was found.
    """
    lane, goal, least = NONE, NONE, math.inf
    for _ in range(TRIES):
        one = begins[int(uniform(stream, 0.0, float(len(begins))))]
        target = first + int(uniform(stream, 0.0, float(last - first)))
        away = distance_of(atlas, target, one)
        missed = max(max(low - away, away - high), 0.0)
        if away < math.inf and missed < least and atlas.goal_lane[target] != one:
            lane, goal, least = one, target, missed
        if least == 0.0:
            break
    return lane, goal


@compiled
def following(atlas: Atlas, goal: int, lane: int) -> int:
    """The lane after (or beside) ``lane`` on the way to a goal; NONE at its end."""
    if lane == atlas.goal_lane[goal]:
        return NONE
    best, after = math.inf, NONE
    one = atlas.lanes[lane]
    for i in range(one.next, one.next_end):
        away = distance_of(atlas, goal, atlas.next_lane[i])
        if away < best:
            best, after = away, atlas.next_lane[i]
    if distance_of(atlas, goal, lane) < best + one.length - 1.0:  # a change of lane is part of the shortest way
        best = math.inf
        for beside in (one.left, one.right):
            if beside != NONE and distance_of(atlas, goal, beside) < best:
                best, after = distance_of(atlas, goal, beside), beside
    return after


@compiled
def free_time(atlas: Atlas, goal: int, lane: int, s: float) -> tuple[float, float]:
    """The time of a way at the speeds that limits and bends allow.

    Returns:
        Seconds from a place to the end of the goal's lane, and the highest limit on the way, m/s.
    """
    seconds, highest = 0.0, 0.0
    for _ in range(MOST_LANES):
        one = atlas.lanes[lane]
        highest = max(highest, one.limit)
        after = following(atlas, goal, lane)
        beside = after != NONE and (after == one.left or after == one.right)
        if not beside:
            seconds += max(one.length - s, 0.0) / max(min(one.limit, one.bend), SLOWEST)
            s = 0.0
        if after == NONE:
            break
        lane = after
    return seconds, highest
