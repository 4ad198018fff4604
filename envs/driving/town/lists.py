"""Who is in which lane: one sorted list of a world's agents by lane, then s.

An entry is one integer: the lane, s in millimetres, whether the agent is there as ``beside`` (it takes up two lanes),
and the agent. An agent has two places in the list; those that are not used stand at its end. The list is nearly sorted
from one time to the next, so that an insertion sort keeps it in order; a lane's agents are found by bisection, unless
the last :data:`~.state.MARKS` words say that there is none.
"""

from typing import Any

import numpy as np

from ..compiled import compiled, inlined
from .state import ABSENT, MARKS, Agents, World

SECOND = 128  # an agent's entry for the lane beside
AGENT_BITS, S_BITS = 8, 24
FARTHEST = 16_000.0  # m that S_BITS can tell


@inlined
def key(lane: int, s: float, agent: int) -> int:
    """The entry of an agent (or of no agent: 0, which stands before all at that place)."""
    mm = int(min(max(s, 0.0), FARTHEST) * 1000.0)
    return int((np.int64(lane) << (AGENT_BITS + S_BITS)) | (np.int64(mm) << AGENT_BITS) | np.int64(agent))


@compiled
def lane_of(entry: int) -> int:
    """The lane of an entry."""
    return entry >> (AGENT_BITS + S_BITS)


@compiled
def agent_of(entry: int) -> int:
    """The agent of an entry."""
    return entry & (SECOND - 1)


@compiled
def s_of(entry: int) -> float:
    """The place of an entry along its lane, m."""
    return ((entry >> AGENT_BITS) & ((1 << S_BITS) - 1)) * 0.001


@inlined
def taken(keys: Any, lane: int) -> bool:
    """False if nobody is on a lane; True if somebody is on it, or on one of the same mark."""
    return bool((keys[len(keys) - MARKS + ((lane >> 6) & (MARKS - 1))] >> (lane & 63)) & 1)


@compiled
def put(keys: Any, used: int, entry: int) -> None:
    """Inserts an entry into the ``used`` sorted ones, and marks its lane."""
    lane = lane_of(entry)
    keys[len(keys) - MARKS + ((lane >> 6) & (MARKS - 1))] |= np.int64(1) << (lane & 63)
    j = used - 1
    while j >= 0 and keys[j] > entry:
        keys[j + 1] = keys[j]
        j -= 1
    keys[j + 1] = entry


@compiled
def enlist_new(world: World, cars: Agents, keys: Any) -> None:
    """Makes the list from nothing."""
    used = 0
    keys[len(keys) - MARKS :] = 0
    for k in range(world.agents):
        car = cars[k]
        if car.controller != ABSENT and car.lane >= 0:
            put(keys, used, key(car.lane, car.s, k))
            used += 1
        if car.controller != ABSENT and car.beside >= 0:
            put(keys, used, key(car.beside, car.beside_s, k + SECOND))
            used += 1
    world.listed = used


@compiled
def enlist(world: World, cars: Agents, keys: Any) -> None:
    """Brings the list up to date."""
    used = wanted = 0
    keys[len(keys) - MARKS :] = 0
    for i in range(world.listed):
        slot = keys[i] & (2 * SECOND - 1)
        car = cars[slot & (SECOND - 1)]
        lane = car.beside if slot >= SECOND else car.lane
        s = car.beside_s if slot >= SECOND else car.s
        if lane >= 0 and car.controller != ABSENT:
            put(keys, used, key(lane, s, slot))
            used += 1
    for k in range(world.agents):
        if cars[k].controller != ABSENT:
            wanted += int(cars[k].lane >= 0) + int(cars[k].beside >= 0)
    world.listed = used
    if used != wanted:
        enlist_new(world, cars, keys)


@inlined
def find(keys: Any, listed: int, entry: int) -> int:
    """The first place in the list that is not before ``entry``; a bisection without branches."""
    low, left = 0, listed
    while left > 1:
        half = left >> 1
        low += half * int(keys[low + half - 1] < entry)
        left -= half
    return low + int(left == 1 and keys[low] < entry)
