"""What an agent sees, as a vector in [-1, 1]: itself, its route, lane bounds, rules, neighbours; and its weights.

Lengths ahead, to the left and so on are in its own frame: x forward, y to the left.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, uniform
from ..maps.graph import SIGNAL, STOP_SIGN
from ..vehicle import clip
from .atlas import Atlas
from .episode import Episode
from .places import find_point
from .reward import STEP_DT
from .sight import colour
from .state import ABSENT, BICYCLE, BUSY, MOST_AGENTS, NONE, PERSON, Agent, Agents, World

OWN = (
    "speed / 20",
    "(speed - limit) / 10",
    "limit / 30",
    "acceleration / 5",
    "steering angle / 0.5",
    "yaw rate / 1",
    "lateral acceleration / 5",
    "heading relative to the lane / (pi / 2)",
    "offset from the middle of the lane / half its width",
    "distance to the left edge of the lane / 4",
    "distance to the right edge of the lane / 4",
    "a lane to the left",
    "a lane to the right",
    "share of the route left",
    "metres of the route left / 200",
    "share of the time left",
    "speed needed to be in time / limit",
    "time across a marking / 3",
    "lane change of a manoeuvre: 1 to the left, -1 to the right",
    "(wanted speed of a manoeuvre - speed) / 10",
    "seconds of standing / 30",
)
"""The first entries; those of manoeuvres are 0 with other actions."""
AHEAD = (4.0, 8.0, 14.0, 22.0, 32.0, 44.0, 60.0, 80.0)
"""Where the route is looked at, m along it."""
WAYPOINT = ("x / 80", "y / 40", "heading / pi", "half the lane's width / 4", "limit / 30")
"""Entries of each; beyond the end of the route the last point again."""
RULES = (
    "distance to the next stop line of the route / 80 (1: none within 80 m)",
    "it has a signal",
    "it has a stop sign",
    "it says give way",
    "the signal is red",
    "amber",
    "green",
    "it has stopped at the sign",
    "distance to the next crossing of the route / 80 (1: none within 80 m)",
    "somebody is on it",
    "gap to the vehicle ahead / 80 (1: nobody)",
    "its relative speed / 15",
)
NEIGHBOURS = 16
"""Road users that are observed: the nearest."""
SIGHT = 80.0
"""m within which they are seen."""
NOWHERE = np.float32(1e9)
NEIGHBOUR = (
    "there is one",
    "x / 80",
    "y / 80",
    "cosine of its relative heading",
    "sine of its relative heading",
    "relative velocity along x / 20",
    "relative velocity along y / 20",
    "length / 10",
    "width / 3",
    "kind: -1 a pedestrian, 0 a bicycle, 1 a motor vehicle",
)
"""Entries of each, nearest first; all 0 where there is none."""
SIZE = len(OWN) + len(AHEAD) * len(WAYPOINT) + len(RULES) + NEIGHBOURS * len(NEIGHBOUR)
HALF_PI = 0.5 * math.pi
PER_80, PER_30, PER_20, PER_PI = 1.0 / 80.0, 1.0 / 30.0, 1.0 / 20.0, 1.0 / math.pi
LOWEST, HIGHEST = np.float32(-1.0), np.float32(1.0)


class Scratch(NamedTuple):
    """What one who looks at worlds writes into again and again."""

    around: Any  # [5, MOST_AGENTS] float32 of the world looked at: see survey
    found: Any  # [NEIGHBOURS] whom an agent sees
    apart: Any  # [NEIGHBOURS] how far away they are, squared
    stream: Any  # [1] of the noise


@compiled
def sensing() -> Scratch:
    """Room for one who looks."""
    around = np.empty((5, MOST_AGENTS), np.float32)
    return Scratch(around, np.empty(NEIGHBOURS, np.int64), np.empty(NEIGHBOURS), np.empty(1, np.uint64))


@compiled
def wrapped(angle: float) -> float:
    """An angle in [-pi, pi)."""
    return angle - 2.0 * math.pi * math.floor(0.5 * PER_PI * angle + 0.5)


@compiled
def blocks(x: float, y: float, other: Agent, me: Agent) -> bool:
    """Whether a body hides the point (x, y) from ``me``: the line of sight crosses it (slab test)."""
    cos, sin = math.cos(other.heading), math.sin(other.heading)
    ax, ay = me.x - other.x, me.y - other.y
    bx, by = x - other.x, y - other.y
    u0, v0 = ax * cos + ay * sin, ay * cos - ax * sin
    u1, v1 = bx * cos + by * sin, by * cos - bx * sin
    enter, leave = 0.0, 1.0
    for start, stop, half in ((u0, u1, 0.5 * other.length), (v0, v1, 0.5 * other.width)):
        step = stop - start
        if abs(step) < 1e-9:
            if abs(start) > half:
                return False
        else:
            one, two = (-half - start) / step, (half - start) / step
            enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
    return enter < leave


@compiled
def hidden(world: World, agents: Agents, me: int, k: int) -> bool:
    """Whether the middle of agent ``k`` is hidden from ``me`` by a third body that is higher than a bicycle."""
    for j in range(world.agents):
        other = agents[j]
        if j != me and j != k and other.controller != ABSENT and other.kind < BICYCLE:
            if blocks(agents[k].x, agents[k].y, other, agents[me]):
                return True
    return False


@compiled
def survey(world: World, agents: Agents, me: int, around: Any) -> None:
    """Writes into ``around`` ``[5, A]`` where everyone is, and the cosines and sines of their headings.

    Its last row is left for :func:`nearest`. What is looked at once for each who looks lies side by side there.

    Args:
        world: its record.
        agents: its records.
        me: the only one who looks, who needs no headings of those out of SIGHT; NONE: several do.
        around: scratch.
    """
    for k in range(world.agents):
        one = agents[k]
        there = one.controller != ABSENT
        x, y = one.x if there else NOWHERE, one.y if there else NOWHERE
        around[0, k], around[1, k] = x, y
        if me != NONE:
            dx, dy = x - agents[me].x, y - agents[me].y
            if dx * dx + dy * dy > SIGHT * SIGHT:
                continue
        around[2, k], around[3, k] = math.cos(one.heading), math.sin(one.heading)


@compiled
def nearest(world: World, agents: Agents, me: int, occlusion: bool, around: Any, found: Any, apart: Any) -> int:
    """Writes into ``found`` ``[NEIGHBOURS]`` who is nearest, by distance; returns how many there are.

    Args:
        world: its record.
        agents: its records.
        me: who looks.
        occlusion: who is hidden behind a body is not seen.
        around: as :func:`survey` has written it.
        found: indices.
        apart: ``[NEIGHBOURS]`` scratch.
    """
    x, y, far = around[0], around[1], around[4]
    here_x, here_y = agents[me].x, agents[me].y
    for k in range(world.agents):
        dx, dy = x[k] - here_x, y[k] - here_y
        far[k] = dx * dx + dy * dy
    far[me] = NOWHERE
    count, limit = 0, SIGHT * SIGHT
    for k in range(world.agents):
        away = far[k]
        if away > limit or (count == NEIGHBOURS and away >= apart[count - 1]):
            continue
        if occlusion and hidden(world, agents, me, k):
            continue
        at = min(count, NEIGHBOURS - 1)
        while at > 0 and apart[at - 1] > away:
            apart[at], found[at] = apart[at - 1], found[at - 1]
            at -= 1
        apart[at], found[at] = away, k
        count = min(count + 1, NEIGHBOURS)
    return count


@compiled
def see_neighbour(own: Agent, other: Agent, around: Any, me: int, k: int, error: float, out: Any) -> None:
    """Writes the entries of :data:`NEIGHBOUR`; ``error`` scales what is measured (distance and speed).

    Agent ``me`` is ``own`` and ``k`` the other; ``around`` is as :func:`survey` has written it.
    """
    cos, sin = around[2, me], around[3, me]
    dx, dy = (other.x - own.x) * (1.0 + error), (other.y - own.y) * (1.0 + error)
    v = other.v * (1.0 + error)
    out[0] = 1.0
    out[1] = (dx * cos + dy * sin) * PER_80
    out[2] = (dy * cos - dx * sin) * PER_80
    out[3] = around[2, k] * cos + around[3, k] * sin
    out[4] = around[3, k] * cos - around[2, k] * sin
    out[5] = (v * out[3] - own.v) * PER_20
    out[6] = v * out[4] * PER_20
    out[7] = other.length * 0.1
    out[8] = other.width * (1.0 / 3.0)
    out[9] = -1.0 if other.kind == PERSON else 0.0 if other.kind == BICYCLE else 1.0


@compiled
def see_route(atlas: Atlas, route: Any, own: Agent, cos: float, sin: float, out: Any) -> None:
    """Writes the entries of :data:`WAYPOINT` at :data:`AHEAD` along a route of lanes, from the agent's place on.

    ``cos`` and ``sin`` are those of its heading.
    """
    index, lane, at = 0, atlas.lanes[route[0]], 0
    point, dense = own.point, (lane.final - lane.point) / lane.length
    base = reached = own.s
    for distance in AHEAD:
        s = base + distance
        while s > lane.length and index + 1 < len(route) and route[index + 1] != NONE:
            base -= lane.length
            s = base + distance
            index += 1
            lane = atlas.lanes[route[index]]
            point, reached, dense = lane.point, 0.0, (lane.final - lane.point) / lane.length
        point = find_point(atlas.along, lane, point + int((s - reached) * dense), s)
        reached = s
        one, two = atlas.points[point], atlas.points[point + 1]
        share = clip((s - one.s) * one.per_metre, 0.0, 1.0)
        dx = one.x + share * (two.x - one.x) - own.x
        dy = one.y + share * (two.y - one.y) - own.y
        out[at] = (dx * cos + dy * sin) * PER_80
        out[at + 1] = (dy * cos - dx * sin) * (2.0 * PER_80)
        out[at + 2] = wrapped(one.heading - own.heading) * PER_PI
        out[at + 3] = 0.125 * one.width
        out[at + 4] = lane.limit * PER_30
        at += 5


@compiled
def see_rules(atlas: Atlas, world: World, on_crossing: Any, route: Any, own: Agent, leader_v: float, out: Any) -> None:
    """Writes the entries of :data:`RULES`: the first stop line and the first crossing before the agent's front."""
    for i in range(len(RULES)):
        out[i] = 0.0
    out[0] = out[8] = 1.0
    front = own.s + 0.5 * own.length
    line = strip = False
    base = 0.0
    for index in range(len(route)):
        if route[index] == NONE or base - front > SIGHT:
            break
        lane = atlas.lanes[route[index]]
        for k in range(lane.stop, lane.stop_end):
            away = base + atlas.stops[k].s - front
            if not line and 0.0 <= away < SIGHT:
                line = True
                out[0] = away / SIGHT
                if atlas.stops[k].kind == SIGNAL:
                    out[1] = 1.0
                    out[4 + colour(atlas.signals, atlas.phases, world, atlas.stops[k].signal)] = 1.0
                else:
                    out[2 if atlas.stops[k].kind == STOP_SIGN else 3] = 1.0
        for k in range(lane.strip, lane.strip_end):
            away = base + atlas.strips[k].begin - front
            if not strip and base + atlas.strips[k].end > front - own.length and away < SIGHT:
                strip = True
                out[8] = max(away, 0.0) / SIGHT
                first = atlas.maps[world.map].crossing
                out[9] = 1.0 if on_crossing[atlas.strips[k].crossing - first] > 0 else 0.0
        if line and strip:
            break
        base += lane.length
    out[7] = float(own.halted)
    out[10] = min(own.gap / 80.0, 1.0)
    out[11] = (leader_v - own.v) / 15.0 if own.leader != NONE else 0.0


@compiled
def see_own(atlas: Atlas, episode: Episode, own: Agent, discrete: bool, out: Any) -> None:
    """Writes the entries of :data:`OWN`; off all lanes those of the lane are 0."""
    time = max(episode.budget - episode.clock, STEP_DT)
    for i in range(len(OWN)):
        out[i] = 0.0
    limit = episode.limit
    if own.lane != NONE:
        lane = atlas.lanes[own.lane]
        half = 0.5 * atlas.points[own.point].width
        limit = lane.limit
        out[7] = own.turn / HALF_PI
        out[8] = own.d / half
        out[9] = (half - own.d) / 4.0
        out[10] = (half + own.d) / 4.0
        out[11] = 1.0 if lane.left != NONE else 0.0
        out[12] = 1.0 if lane.right != NONE else 0.0
        if discrete and own.target != NONE and own.target != own.lane:
            out[18] = 1.0 if own.target == lane.left else -1.0
    out[0] = own.v / 20.0
    out[1] = (own.v - limit) / 10.0
    out[2] = limit / 30.0
    out[3] = own.a / 5.0
    out[4] = own.steer / 0.5
    out[5] = own.yaw_rate
    out[6] = own.v * own.yaw_rate / 5.0
    out[13] = episode.left / episode.length
    out[14] = episode.left / 200.0
    out[15] = time / episode.budget
    out[16] = episode.left / time / limit
    out[17] = episode.straddle / 3.0
    if discrete:
        out[19] = (0.1 * own.level * limit - own.v) / 10.0
    out[20] = own.still / 30.0


@compiled
def normal(state: Any) -> float:
    """About a standard normal deviate (the sum of four uniform ones) of a SplitMix64 stream."""
    total = 0.0
    for _ in range(4):
        total += uniform(state, -1.0, 1.0)
    return total * 0.8660254037844386


@compiled
def sense(
    atlas: Atlas,
    batch: Any,
    episode: Episode,
    weights: Any,
    discrete: bool,
    noise: float,
    occlusion: bool,
    scratch: Scratch,
    out: Any,
) -> None:
    """Writes the observation of an episode's agent into ``out``: ``[SIZE]`` float32, or with weights ``[SIZE + 7]``.

    Args:
        atlas: all maps.
        batch: of the worlds.
        episode: of the agent.
        weights: ``[7]`` of its reward.
        discrete: it acts by manoeuvres.
        noise: see :func:`see_neighbour`; decided by the episode's key and the time: looking twice shows the same.
        occlusion: see :func:`nearest`.
        scratch: of which :func:`survey` has been written for the agent's world.
        out: see above.
    """
    w, me = episode.world, episode.agent
    world, agents, route = batch.worlds[w], batch.agents[w], batch.routes[w, me]
    own = agents[me]
    see_own(atlas, episode, own, discrete, out)
    at = len(OWN)
    if route[0] != NONE:
        see_route(atlas, route, own, scratch.around[2, me], scratch.around[3, me], out[at:])
    else:
        out[at : at + len(AHEAD) * len(WAYPOINT)] = 0.0
    at += len(AHEAD) * len(WAYPOINT)
    leader_v = agents[own.leader].v if own.leader != NONE else own.v
    see_rules(atlas, world, batch.crossings[w, BUSY], route, own, leader_v, out[at:])
    at += len(RULES)
    count = nearest(world, agents, me, occlusion, scratch.around, scratch.found, scratch.apart)
    state = scratch.stream
    state[0] = np.uint64(episode.noise) + np.uint64(world.tick) * np.uint64(0x9E3779B9)
    for i in range(count):
        k, error = scratch.found[i], noise * normal(state) if noise > 0.0 else 0.0
        see_neighbour(own, agents[k], scratch.around, me, k, error, out[at:])
        at += len(NEIGHBOUR)
    out[at:] = 0.0
    for i in range(SIZE):  # in the numbers' own kind, so that processors compare many at once
        out[i] = min(max(out[i], LOWEST), HIGHEST)
    for i in range(SIZE, len(out)):
        out[i] = weights[i - SIZE]
