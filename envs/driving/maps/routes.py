"""Shortest ways over lanes, compiled: Dijkstra's algorithm from the goal backwards, with changes of lane."""

import heapq
import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .graph import DRIVING, F32, I32, NONE, Columns

CHANGE = 25.0  # m that a change of lane is worth
ROOM = 30.0  # m: shorter lanes are too short to change from


@compiled
def to_goal(columns: Columns, goal: int) -> F32:
    """From the beginning of each lane to the end of ``goal``, in m, ``[L]``; infinity where no way leads there.

    A change to a neighbour costs 25 m, and takes a lane of 30 m or more. Only lanes for vehicles count.
    """
    count = len(columns.length)
    cost = np.full(count, np.inf, np.float32)
    cost[goal] = columns.length[goal]
    heap: list[tuple[float, Any]] = [(float(cost[goal]), np.int64(goal))]
    while len(heap) > 0:
        so_far, lane = heapq.heappop(heap)
        if so_far > cost[lane]:
            continue
        for item in range(columns.previous_first[lane], columns.previous_first[lane + 1]):
            before = columns.previous_lane[item]
            new = np.float32(cost[lane] + columns.length[before])
            if new < cost[before] and columns.kind[before] == DRIVING:
                cost[before] = new
                heapq.heappush(heap, (float(new), np.int64(before)))
        for beside in (columns.left[lane], columns.right[lane]):
            if beside == NONE or columns.length[beside] < ROOM or columns.kind[beside] != DRIVING:
                continue
            if columns.left[beside] != lane and columns.right[beside] != lane:
                continue
            new = np.float32(cost[lane] + np.float32(CHANGE))
            if new < cost[beside]:
                cost[beside] = new
                heapq.heappush(heap, (float(new), np.int64(beside)))
    return cost


@compiled
def onward(columns: Columns, cost: F32, lane: int) -> int:
    """The next lane from ``lane`` on the way whose costs are ``cost``: a successor or a neighbour; NONE at its end."""
    best, least = NONE, math.inf
    for item in range(columns.next_first[lane], columns.next_first[lane + 1]):
        after = columns.next_lane[item]
        if cost[after] + columns.length[lane] < least:
            best, least = after, cost[after] + columns.length[lane]
    if columns.length[lane] >= np.float32(ROOM):
        for beside in (columns.left[lane], columns.right[lane]):
            if beside != NONE and cost[beside] + np.float32(CHANGE) < least:
                best, least = beside, cost[beside] + np.float32(CHANGE)
    return best if math.isfinite(least) else NONE


@compiled
def route(columns: Columns, begin: int, goal: int) -> I32:
    """The lanes of the shortest way from ``begin`` to ``goal``, both included; empty where there is none."""
    cost = to_goal(columns, goal)
    if not math.isfinite(cost[begin]):
        return np.empty(0, np.int32)
    lanes = [begin]
    while lanes[-1] != goal:
        lanes.append(onward(columns, cost, lanes[-1]))
    found = np.empty(len(lanes), np.int32)
    for i, lane in enumerate(lanes):
        found[i] = lane
    return found
