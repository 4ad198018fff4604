"""Who may enter a junction: signals, stop signs, rank, and reservations of conflict zones.

A *zone* is a connected set of lanes that share area, such as a junction. A rule-following driver enters one only with a
reservation of all lanes of its way through it (its *passage*), which it gets, and keeps until its rear is out, if

1. the signal is green; at a stop sign, if it has come to a full stop;
2. nobody is between it and the zone who does not hold a reservation itself;
3. no conflicting passage is reserved, as far as its holder has not yet left the shared area;
4. nobody with the right of way arrives before it is through: who ranks higher, and among equals who stood first;
5. there is room for it behind the zone, beside those who are on the way there;
6. no pedestrian waits to walk across its way out of the zone, where there is no signal.

As passages are taken as a whole, nobody waits inside a zone for another, so that no circle of waiting forms there. Who
has waited for long (:data:`URGENT`) goes before everyone else, the longest first, so that nobody waits for ever; where
there is no room, one of them at a time holds up those who go the same way until there is (:func:`senior`). Nobody is
held up for one who could not go anyway, because a holder stands in its way: round a roundabout such courtesy would be a
circle. For the same reason nobody enters a ring that would be full then (:func:`full`). All comparisons end with the
agents' numbers: the outcome does not depend on how worlds are batched.

At amber, who can stop at :data:`AMBER_BRAKE` gives its reservation back; at red, at :data:`RED_BRAKE`.
"""

import math
from typing import Any

from ..compiled import compiled, merged
from ..maps.graph import AMBER, GREEN, SIGNAL, STOP_SIGN
from .lists import agent_of, find, key, lane_of, s_of, taken
from .sight import colour, shown
from .state import ABSENT, DECISION_DT, NONE, ROUTE, WAITING, Agent, Agents, World

URGENT = 25.0  # s
STUCK = 35.0  # s
AMBER_BRAKE, RED_BRAKE = 2.8, 6.0  # m/s2
COMFORT = 2.0  # m/s2: deceleration in time for which a reservation is asked for
EARLY = 10.0  # m before that
MARGIN = 1.0  # s between leaving and the next one's arrival
LAUNCH = 1.2  # m/s2: acceleration that drivers reckon with
SLACK = 0.4  # m behind a rear that has left a shared area
QUEUE = 2.5  # m between vehicles that stand
STANDING = 0.5  # m/s
FEWEST_ARCS = 3  # of a ring
WAY_OUT = 8.0  # m behind a zone: a crossing there is on the way out of it
ROOM, JAMMED, STALLED = 0, 1, 2  # of Agent.jammed: no room behind the zone; a holder stands in the way
HALT_SPEED, HALT_DISTANCE = 0.3, 3.0  # a full stop at a stop sign
NEVER, FIRST, EQUAL, LAST = 2, 1, 0, -1  # how two passages conflict, from the view of the first


@compiled
def passage_end(route: Any, lanes: Any, begin: int) -> int:
    """Index in the route of the last lane of the zone that begins at ``begin``."""
    zone = lanes[route[begin]].zone
    j = begin
    while j + 1 < ROUTE and route[j + 1] >= 0 and lanes[route[j + 1]].zone == zone:
        j += 1
    return j


@compiled
def clash(
    lanes: Any,
    conflicts: Any,
    route: Any,
    begin: int,
    end: int,
    other: Agent,
    other_route: Any,
    other_begin: int,
    other_end: int,
) -> tuple[int, float]:
    """Whether the passage ``route[begin:end + 1]`` shares area with what is left of another's.

    Returns:
        The lowest rank of the first over all shared areas (FIRST, EQUAL, LAST), or NEVER if there is none; and how far
        into its lane the last of them ends, m from the beginning of the passage.
    """
    rank, through, base = NEVER, 0.0, 0.0
    rear = other.s - 0.5 * other.length - SLACK
    for i in range(begin, end + 1):
        lane = lanes[route[i]]
        for c in range(lane.conflict, lane.conflict_end):
            one = conflicts[c]
            shared = other.before == one.lane and rear < 0.0
            if shared:
                shared = rear + lanes[one.lane].length < one.other_end
            for q in range(other_begin, other_end + 1):
                if other_route[q] == one.lane and (q > 0 or rear < one.other_end):
                    shared = True
            if shared:
                rank = min(rank, one.priority)
                through = max(through, base + one.end)
        base += lane.length
    return rank, through


@compiled
def allowed(stops: Any, signals: Any, phases: Any, world: World, car: Agent) -> bool:
    """Whether signal or stop sign let the agent go."""
    if car.stop < 0:
        return True
    stop = stops[car.stop]
    if stop.kind == SIGNAL and stop.signal >= 0:
        return colour(signals, phases, world, stop.signal) == GREEN
    return stop.kind != STOP_SIGN or car.halted == 1


@compiled
def holds(car: Agent, zone: int) -> bool:
    """Whether the agent holds a reservation of a passage through the zone."""
    return car.zone == zone or car.further == zone


@compiled
def leads(cars: Agents, car: Agent) -> bool:
    """Whether nobody but holders is between the agent and its line."""
    if car.leader < 0 or car.gap > car.line:
        return True
    return holds(cars[car.leader], car.next_zone)


@compiled
def senior(world: World, cars: Agents, zone: int) -> int:
    """Of those who have waited long at a zone without finding room behind it, the one who has waited longest; or NONE.

    One at a time: if all of them held the others up, nobody would make room for anybody.
    """
    found, longest = NONE, STUCK
    for k in range(world.agents):
        car = cars[k]
        if car.next_zone == zone and car.ready == 1 and car.jammed == JAMMED and car.waiting > longest:
            found, longest = k, car.waiting
    return found


@compiled
def before_me(cars: Agents, me: int, other: int, rank: int) -> bool:
    """Whether ``other``, who holds nothing yet, has the right of way over ``me``."""
    mine, theirs = cars[me], cars[other]
    urgent = mine.waiting > URGENT or theirs.waiting > URGENT
    if not urgent and rank != 0:
        return rank < 0
    if theirs.waiting != mine.waiting:
        return theirs.waiting > mine.waiting
    return theirs.waiting > 0.0 and other < me


@compiled
def room(cars: Agents, keys: Any, listed: int, lanes: Any, routes: Any, me: int, end: int) -> bool:
    """Whether there is room for ``me`` behind its passage, beside everybody else who is on the way there."""
    car, way = cars[me], routes[me]
    if end + 1 >= ROUTE or way[end + 1] < 0:
        return True
    after = way[end + 1]
    space, base, j = 1e9, 0.0, end + 1
    while j < ROUTE and way[j] >= 0 and base < 30.0:
        at = find(keys, listed, key(way[j], 0.0, 0)) if taken(keys, way[j]) else listed
        if at < listed and lane_of(keys[at]) == way[j] and agent_of(keys[at]) != me:
            first = cars[agent_of(keys[at])]
            space = base + s_of(keys[at]) - 0.5 * first.length
            space += max(first.v, 0.0) ** 2 / 6.0
            break
        base += lanes[way[j]].length
        j += 1
    if space > 60.0:
        return True
    for k in range(len(cars)):
        other = cars[k]
        if k != me and other.controller != ABSENT and (other.zone >= 0):
            last = other.further_last if other.further >= 0 else other.last
            if 0 <= last < ROUTE - 1 and routes[k, last + 1] == after:
                space -= other.length + QUEUE
    return space > car.length + QUEUE


@compiled
def beyond(route: Any, end: int) -> int:
    """The lane that a passage leads to, or NONE."""
    return int(route[end + 1]) if end + 1 < ROUTE else NONE


@compiled
def full(world: World, cars: Agents, lanes: Any, routes: Any, me: int, begin: int, end: int) -> bool:
    """Whether ``me`` would be one too many in the ring that it wants to enter.

    A ring whose arcs all have somebody on them cannot turn: one arc fewer may be taken, by those who are on one and by
    those who hold a passage to one. Who has waited long enters before those who have waited less.
    """
    car, zone = cars[me], cars[me].next_zone
    arcs = lanes[routes[me, begin]].arcs
    if arcs < FEWEST_ARCS or lanes[car.lane].arc == zone or not to_arc(lanes, routes[me], end, zone):
        return False
    count = 0
    for k in range(world.agents):
        other = cars[k]
        if k == me or other.controller == ABSENT or other.lane < 0:
            continue
        if holds(other, zone):
            count += int(to_arc(lanes, routes[k], other.further_last if other.further >= 0 else other.last, zone))
        elif lanes[other.lane].arc == zone:
            count += 1
        elif other.next_zone == zone and other.ready == 1 and other.waiting > max(car.waiting, URGENT):
            return True
    return bool(count >= arcs - 1)


@compiled
def space(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, me: int, begin: int, end: int) -> int:
    """What :attr:`Agent.jammed` is to be for ``me``, whom no other passage hinders."""
    if full(world, cars, atlas.lanes, routes, me, begin, end):
        return STALLED
    return ROOM if room(cars, keys, world.listed, atlas.lanes, routes, me, end) else JAMMED


@compiled
def to_arc(lanes: Any, route: Any, end: int, zone: int) -> bool:
    """Whether a passage leads to an arc of a ring."""
    after = beyond(route, end)
    return after >= 0 and lanes[after].arc == zone


@compiled
def in_time(car: Agent, other: Agent, through: float) -> bool:
    """Whether ``other``, who holds nothing yet, arrives before the agent, who starts now, is ``through`` m in."""
    return arrives(car, other, other.line, through)


@compiled
def arrives(car: Agent, other: Agent, away: float, through: float) -> bool:
    """:func:`in_time` of one whose line is ``away`` m ahead."""
    way = max(car.line, 0.0) + through + car.length
    mine = (math.sqrt(car.v * car.v + 2.0 * LAUNCH * way) - car.v) / LAUNCH
    return max(away, 0.0) < max(other.v, 3.0) * (mine + MARGIN)


@compiled
def goes_first(cars: Agents, lanes: Any, conflicts: Any, routes: Any, me: int, begin: int, end: int, k: int) -> bool:
    """Whether ``me`` has to let ``k`` go first, who is ready and wants into the same zone."""
    other = cars[k]
    last = passage_end(routes[k], lanes, other.next_at)
    if other.jammed == JAMMED and beyond(routes[k], last) != beyond(routes[me], end):
        return False  # it waits for room that me does not take away
    rank, through = clash(lanes, conflicts, routes[me], begin, end, other, routes[k], other.next_at, last)
    return rank != NEVER and before_me(cars, me, k, rank) and in_time(cars[me], other, through)


@compiled
def awaited(world: World, atlas: Any, route: Any, crossings: Any, begin: int, end: int) -> bool:
    """Whether a pedestrian waits at a crossing of the passage, or of the first metres behind it."""
    if world.walking == 0:
        return False
    first = atlas.maps[world.map].crossing
    for j in range(begin, min(end + 2, ROUTE)):
        if route[j] < 0:
            break
        lane = atlas.lanes[route[j]]
        for i in range(lane.strip, lane.strip_end):
            strip = atlas.strips[i]
            if crossings[WAITING, strip.crossing - first] > 0 and (j <= end or strip.begin < WAY_OUT):
                return True
    return False


@merged
def grant(world: World, cars: Agents, keys: Any, atlas: Any, routes: Any, crossings: Any, me: int) -> bool:
    """Whether ``me`` gets a reservation of the zone ahead now."""
    car = cars[me]
    begin = car.next_at
    end = passage_end(routes[me], atlas.lanes, begin)
    if awaited(world, atlas, routes[me], crossings, begin, end):
        car.jammed = STALLED if car.waiting < URGENT else ROOM
        return False
    oldest = senior(world, cars, car.next_zone)
    if car.jammed == STALLED:
        car.jammed = ROOM
    for k in range(world.agents):
        other = cars[k]
        if k == me or other.controller == ABSENT:
            continue
        if holds(other, car.next_zone):
            last = other.further_last if other.further >= 0 else other.last
            if clash(atlas.lanes, atlas.conflicts, routes[me], begin, end, other, routes[k], 0, last)[0] != NEVER:
                if other.v < STANDING:
                    car.jammed = STALLED
                return False
        elif other.next_zone == car.next_zone and other.ready == 1 and (other.jammed == ROOM or k == oldest):
            if goes_first(cars, atlas.lanes, atlas.conflicts, routes, me, begin, end, k):
                return False
    car.jammed = space(world, cars, keys, atlas, routes, me, begin, end)
    return car.jammed == ROOM


@compiled
def take(car: Agent, route: Any, lanes: Any) -> None:
    """Notes the reservation of the zone ahead."""
    end = passage_end(route, lanes, car.next_at)
    if car.zone < 0:
        car.zone, car.last = car.next_zone, end
    else:
        car.further, car.further_last = car.next_zone, end
    car.entry, car.light = car.line, car.stop
    car.next_zone = NONE
    car.jammed = car.ready = 0
    car.waiting = 0.0


@compiled
def give_back(car: Agent) -> None:
    """Drops the reservation of the zone furthest ahead."""
    if car.further >= 0:
        car.further = NONE
    else:
        car.zone = NONE
    car.entry = 0.0


@compiled
def swap_lanes(car: Agent) -> None:
    """Drops what a vehicle has reserved and not entered when it swaps lanes: its way and its signal are others now."""
    if car.last >= 0 and (car.further >= 0 or car.entry > 0.0):
        car.zone = NONE
    car.further, car.ready, car.entry = NONE, 0, min(car.entry, 0.0)


@compiled
def leave(car: Agent) -> None:
    """Ends a reservation once the rear is out of the zone."""
    if car.zone >= 0 and car.last < 0 and car.s - 0.5 * car.length > SLACK:
        car.zone, car.last = car.further, car.further_last
        car.further = NONE
        car.against = 0


@compiled
def stops_at(cars: Agents, car: Agent, shown: int, left: float, away: float) -> bool:
    """Whether a driver stops at a signal's line ``away`` m ahead that is ``shown`` for ``left`` more seconds.

    At amber, who can stop gently, or who would not pass before red if it can stop at all.
    """
    if shown == GREEN or away <= 0.0:
        return False
    needed = car.v * car.v / (2.0 * away)
    if shown == AMBER and needed > AMBER_BRAKE:
        v = car.v
        if car.leader >= 0 and car.gap < 25.0:
            v = min(v, max(cars[car.leader].v, 0.0))
        return needed < RED_BRAKE and away > v * max(left - 0.5, 0.0)
    return needed < RED_BRAKE


@compiled
def yield_to_signal(stops: Any, signals: Any, phases: Any, world: World, cars: Agents, car: Agent) -> None:
    """At amber and red, gives a reservation back whose line is still far enough ahead to stop."""
    stop = stops[car.light]
    if stop.kind == SIGNAL and stop.signal >= 0:
        colour, left = shown(signals, phases, world, stop.signal)
        if stops_at(cars, car, colour, left, car.entry):
            give_back(car)


@compiled
def wait(car: Agent) -> None:
    """Counts how long the agent has stood at its line, and whether it has come to a full stop there."""
    if car.line < 12.0 and (car.v < 1.0 or car.waiting > 0.0):
        car.waiting += DECISION_DT
    elif car.line > 15.0:
        car.waiting = 0.0
        car.halted = 0
        car.jammed = 0
    if car.line < HALT_DISTANCE and car.v < HALT_SPEED:
        car.halted = 1
