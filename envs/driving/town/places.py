"""Where agents are on the map: poses from places on lanes, places from poses, and the lanes of a route."""

import math
from typing import Any

from ..compiled import compiled, inlined, uniform
from .state import NONE, ROUTE, Agent, World

TWO_PI = 2.0 * math.pi


@inlined
def wrap(angle: float) -> float:
    """The angle in [-pi, pi)."""
    if -math.pi <= angle < math.pi:
        return angle
    return angle - TWO_PI * math.floor((angle + math.pi) / TWO_PI)


@inlined
def find_point(along: Any, lane: Any, hint: int, s: float) -> int:
    """The point at which the segment of the lane begins that ``s`` is on, from ``hint`` on (in ``Atlas.along``)."""
    at = min(max(hint, lane.point), lane.final - 1)
    while at < lane.final - 1 and along[at + 1] <= s:
        at += 1
    while at > lane.point and along[at] > s:
        at -= 1
    return int(at)


@inlined
def about(lane: Any, s: float) -> int:
    """A hint for :func:`find_point`: the point at ``s`` were all segments of the lane equally long."""
    return int(lane.point + s / lane.length * (lane.final - lane.point))


@inlined
def direction(points: Any, lane: Any, at: int, s: float) -> float:
    """Heading of a lane at ``s``: that of its segments in their middles, and between them in between."""
    one = points[at]
    share = (s - one.s) * one.per_metre - 0.5
    if share < 0.0 and at > lane.point:
        return float(one.heading + min(-share, 0.5) * wrap(points[at - 1].heading - one.heading))
    if share > 0.0 and at + 1 < lane.final:
        return float(one.heading + min(share, 0.5) * wrap(points[at + 1].heading - one.heading))
    return float(one.heading)


@inlined
def put_on_lane(atlas: Any, lane: Any, car: Agent) -> None:
    """Fills in ``x, y, heading, point`` from ``lane, s, d, turn``."""
    car.point = find_point(atlas.along, lane, car.point, car.s)
    points = atlas.points
    one = points[car.point]
    along = car.s - one.s
    car.x = one.x + along * one.cos - car.d * one.sin
    car.y = one.y + along * one.sin + car.d * one.cos
    car.heading = wrap(direction(points, lane, car.point, car.s) + car.turn)


@compiled
def project(points: Any, lane: Any, hint: int, x: float, y: float) -> tuple[int, float, float]:
    """The nearest place of a lane near ``hint``: its point, s (beyond the ends if it is) and d."""
    at = min(max(hint, lane.point), lane.final - 1)
    came = 0
    while True:
        one = points[at]
        along = (x - one.x) * one.cos + (y - one.y) * one.sin
        if along < 0.0 and at > lane.point and came <= 0:
            at, came = at - 1, -1
        elif along > points[at + 1].s - one.s and at < lane.final - 1 and came >= 0:
            at, came = at + 1, 1
        else:
            return at, one.s + along, (y - one.y) * one.cos - (x - one.x) * one.sin


@compiled
def beside(atlas: Any, car: Agent, lane: int) -> tuple[int, float, float]:
    """The agent's place on a neighbouring lane: point, s, d."""
    mine, other = atlas.lanes[car.lane], atlas.lanes[lane]
    share = (car.point - mine.point) / max(mine.final - mine.point, 1)
    hint = other.point + int(share * (other.final - other.point))
    hint = find_point(atlas.along, other, hint, car.s * other.length / mine.length)
    return project(atlas.points, other, hint, car.x, car.y)


@compiled
def choose_next(world: World, stream: Any, atlas: Any, lane: int, goal: int) -> int:
    """The lane that follows ``lane``: on the shortest way to a goal, or drawn; NONE at the end."""
    one = atlas.lanes[lane]
    count = one.next_end - one.next
    if count <= 0:
        return NONE
    if goal < 0:
        if count == 1:
            return int(atlas.next_lane[one.next])
        return int(atlas.next_lane[one.next + int(uniform(stream, 0.0, count))])
    if atlas.goal_lane[goal] == lane:
        return int(atlas.next_lane[one.next])
    row = atlas.goal_first[goal] - atlas.maps[world.map].lane
    best = atlas.next_lane[one.next]
    for i in range(one.next + 1, one.next_end):
        if atlas.goal_distance[row + atlas.next_lane[i]] < atlas.goal_distance[row + best]:
            best = atlas.next_lane[i]
    return int(best)


@compiled
def lay_out(world: World, stream: Any, atlas: Any, route: Any, begin: int, goal: int) -> None:
    """Fills in a route from its entry ``begin`` on (all before it are there)."""
    for j in range(begin, ROUTE):
        before = route[j - 1]
        route[j] = choose_next(world, stream, atlas, before, goal) if before >= 0 else NONE


@compiled
def advance_route(world: World, stream: Any, atlas: Any, car: Agent, route: Any) -> None:
    """The agent has passed into the next lane of its route, of which there is one."""
    car.before = car.lane
    car.s -= atlas.lanes[car.lane].length
    for j in range(ROUTE - 1):
        route[j] = route[j + 1]
    lay_out(world, stream, atlas, route, ROUTE - 1, car.goal)
    car.lane = route[0]
    car.point = atlas.lanes[car.lane].point
    car.last -= 1
    car.further_last -= 1
