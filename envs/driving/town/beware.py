"""How the scripted expert deals with those who do what nobody does by the rules: scripted road users that play.

It foresees them as going straight on for a few seconds, and brakes where its own way and theirs would meet; it goes
round what stands in its lane for good, and makes way for who rushes up behind. What waits to play, it does not foresee.
"""

import math
from typing import Any

from ..compiled import compiled
from ..traffic import FREE
from .places import beside, project
from .scripts import PLAYING, RUSH, STAND
from .state import LORRY, NONE, SCRIPTED, Agent, Agents, Batch

FORESIGHT, STEP = 3.0, 0.25  # s
LANES = 5  # of the route that are looked at
SIDE = 0.2  # m left between two bodies
SPARE = 2.0  # m before the place of a conflict at which it stops
NEAR = 1.5  # m and m/s: what may come out differently
MILD = 0.5  # m/s2 that may wait
PASSING = 9.0  # m before a body that stands, from which a car can still go round it
SEEN = 45.0  # m from which it goes round
RUSHING = 60.0  # m behind


@compiled
def ahead_of(atlas: Any, car: Agent, route: Any, x: float, y: float) -> tuple[float, float, float]:
    """Where a point is along the route: m from the agent's middle, m to the left, and the lane's heading there.

    ``(FREE, FREE, 0)`` where the route is not beside it.
    """
    base, best, least, heading = -car.s, FREE, FREE, 0.0
    for j in range(LANES):
        if route[j] < 0:
            break
        lane = atlas.lanes[route[j]]
        at, s, d = project(atlas.points, lane, lane.point, x, y)
        if -1.0 <= s <= lane.length + 1.0 and abs(d) < abs(least):
            best, least, heading = base + s, d, float(atlas.points[at].heading)
        base += lane.length
    return best, least, heading


@compiled
def meeting(atlas: Any, car: Agent, route: Any, other: Agent) -> float:
    """The deceleration that keeps out of another's way, m/s2; 0: they do not meet."""
    along, d, heading = ahead_of(atlas, car, route, other.x, other.y)
    turn = other.heading - heading
    cos, sin = abs(math.cos(turn)), abs(math.sin(turn))
    half = 0.5 * (car.length + other.length * cos + other.width * sin)
    aside = 0.5 * (car.width + other.width * cos + other.length * sin) + SIDE
    if along < 0.0 and abs(d) < aside:
        return 0.0  # it is behind
    vx, vy = other.v * math.cos(other.heading), other.v * math.sin(other.heading)
    t = 0.0
    while t <= FORESIGHT:
        along, d, _ = ahead_of(atlas, car, route, other.x + vx * t, other.y + vy * t)
        if abs(d) < aside and along - half - NEAR < (car.v + NEAR) * t and car.v * t < along + half + NEAR:
            space = max(along - half - SPARE, 0.2)
            over = max(car.v - max(other.v * math.cos(turn), 0.0), 0.0)
            return max(over * over / (2.0 * space), 2.0 * MILD if space < SPARE else 0.0)
        t += STEP
    return 0.0


@compiled
def beware(atlas: Any, batch: Batch, w: int, me: int, wanted: float) -> float:
    """The acceleration with an eye on scripted road users, m/s2."""
    cars, scripts = batch.agents[w], batch.scripts[w]
    car = cars[me]
    for i in range(len(scripts)):
        k = scripts[i].agent
        if scripts[i].phase == PLAYING and cars[k].controller == SCRIPTED:
            other = cars[k]
            follows = other.lane == car.lane and abs(other.turn) < 0.3 and other.beside < 0
            if not follows:
                needed = meeting(atlas, car, batch.routes[w, me], other)
                if needed > MILD:
                    wanted = min(wanted, -1.1 * needed)
    return wanted


@compiled
def stands(cars: Agents, scripts: Any, car: Agent) -> bool:
    """Whether who is ahead stands there for good."""
    if car.leader < 0 or car.gap > SEEN or cars[car.leader].controller != SCRIPTED:
        return False
    script = scripts[cars[car.leader].log]
    return bool(script.then == STAND and script.seconds <= 0.0)


@compiled
def blocked(atlas: Any, batch: Batch, w: int, me: int, lane: int) -> bool:
    """Whether somebody stands for good on a neighbouring lane, near ahead or just beside."""
    cars, scripts = batch.agents[w], batch.scripts[w]
    _, s, _ = beside(atlas, cars[me], lane)
    for i in range(len(scripts)):
        if scripts[i].phase != 0 and scripts[i].then == STAND and scripts[i].seconds <= 0.0:
            other = cars[scripts[i].agent]
            if other.lane == lane and -PASSING < other.s - s < SEEN:
                return True
    return False


@compiled
def way_out(atlas: Any, batch: Batch, w: int, me: int) -> int:
    """The lane beside to go to, round what stands ahead or out of the way of who rushes up behind; or NONE."""
    cars, scripts = batch.agents[w], batch.scripts[w]
    car = cars[me]
    lane = atlas.lanes[car.lane]
    if stands(cars, scripts, car):
        return int(lane.left if lane.left != NONE else lane.right)
    for i in range(len(scripts)):
        k = scripts[i].agent
        if scripts[i].phase == PLAYING and scripts[i].then == RUSH and cars[k].kind == LORRY:
            if cars[k].lane == car.lane and 0.0 < car.s - cars[k].s < RUSHING:
                return int(lane.right)
    return NONE
