"""How a trigger begins: the ego before its place, the road around clear of others, the actors in theirs."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiled import compiled, merged, uniform
from .lists import enlist_new
from .motion import vanish
from .places import lay_out, put_on_lane, wrap
from .problem import following, metres_left
from .scripts import DRIVE, KEEP, OVER, WAITING, away, hand_over
from .spawn import forget, put
from .state import BICYCLE, CAR, DRIVER, LORRY, NONE, PERSON, ROUTE, SCRIPTED, Batch

BODIES = ("car", "lorry", "bicycle", "person", "barrier")
BARRIER = BODIES.index("barrier")
SIZES = ((4.6, 1.8), (8.0, 2.4), (1.8, 0.6), (0.5, 0.6), (0.6, 2.2))  # m, length and width
KINDS = (CAR, LORRY, BICYCLE, PERSON, CAR)
TRIES = 200
GOALS = 12  # drawn for one place
STEPS = 40  # lanes of a way that are looked at
BEYOND = 60.0  # m of the ego's way behind the place, at least
AROUND = 40.0  # m that are clear around the ego's way to the place
OFF_LANE = 2.0  # m from a lane's middle: whose middle is further off stands beside the road
BRISK = 12.0  # m/s at which the ego begins, at most

STAGE = np.dtype(
    [("trigger", "i4"), ("lane", "i4"), ("s", "f4"), ("begin", "i4"), ("begin_s", "f4"), ("part", "i4")]
    + [("part_end", "i4")],
    align=True,
)
"""A place of a trigger: where it is on the ego's way, where the ego begins, ``Stages.part[part:part_end]``."""
PART = np.dtype(
    [("body", "i4"), ("first", "i4"), ("then", "i4"), ("chain", "i4"), ("chain_end", "i4"), ("along", "f4")]
    + [(name, "f4") for name in ("ahead", "aside", "near", "eta", "seconds", "speed", "lead", "lag")]
    + [("target", "i4"), ("swing", "f4")],
    align=True,
)
"""An actor there: fields of ``scenarios.triggers.Actor``; its lanes, and how far along them its place is."""


class Stages(NamedTuple):
    """All places of some triggers on all maps, as compiled code takes it."""

    stage: Any  # [N] STAGE, by map and trigger
    first: npt.NDArray[np.int32]  # [M T + 1] where those of a map and trigger begin
    part: Any  # [K] PART
    chain: npt.NDArray[np.int32]  # lanes of parts
    triggers: int  # T; 0: none are played


def no_stages() -> Stages:
    """Of worlds without triggers."""
    return Stages(np.zeros(1, STAGE), np.zeros(1, np.int32), np.zeros(1, PART), np.full(1, NONE, np.int32), 0)


@compiled
def leads_through(atlas: Any, goal: int, one: Any) -> bool:
    """Whether the way from a stage's beginning to a goal passes its place and goes on behind it."""
    lane, passed = one.begin, False
    for _ in range(STEPS):
        after = following(atlas, goal, lane)
        if after == NONE:
            return False
        here = atlas.lanes[lane]
        aside = after == here.left or after == here.right
        if lane == one.lane:
            return not aside and metres_left(atlas, goal, lane, one.s) > BEYOND
        if aside and not passed:
            return False
        lane = after
    return False


@compiled
def pick(atlas: Any, places: Any, stages: Any, number: int, stream: Any) -> tuple[int, int]:
    """A stage of a map and a goal whose way leads there; ``(NONE, NONE)`` where none was found."""
    for _ in range(TRIES):
        at = number * stages.triggers + int(uniform(stream, 0.0, float(stages.triggers)))
        first, last = stages.first[at], stages.first[at + 1]
        if first == last:
            continue
        chosen = first + int(uniform(stream, 0.0, float(last - first)))
        low, high = places.goal_first[number], places.goal_first[number + 1]
        for _ in range(GOALS):
            goal = low + int(uniform(stream, 0.0, float(high - low)))
            if leads_through(atlas, goal, stages.stage[chosen]):
                return chosen, goal
    return NONE, NONE


@compiled
def make_room(atlas: Any, cars: Any, one: Any, policies: int) -> None:
    """Takes everybody away who is near the ego's way to the place; drivers come in again at the map's edges."""
    begin, end = atlas.points[atlas.lanes[one.begin].point], atlas.points[atlas.lanes[one.lane].point]
    ax, ay = begin.x + one.begin_s * begin.cos, begin.y + one.begin_s * begin.sin
    bx, by = end.x + one.s * end.cos, end.y + one.s * end.sin
    mx, my, radius = 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * math.hypot(bx - ax, by - ay) + AROUND
    for k in range(policies, len(cars)):
        car = cars[k]
        if car.controller == DRIVER and math.hypot(car.x - mx, car.y - my) < radius:
            vanish(car)


@merged
def act_in(atlas: Any, stages: Any, batch: Batch, w: int, number: int, one: Any, stream: Any) -> None:
    """Puts the actor ``number`` of a stage where it begins; the last agents of a world are actors."""
    part, k = stages.part[one.part + number], batch.agents.shape[1] - 1 - number
    world, car, script = batch.worlds[w], batch.agents[w, k], batch.scripts[w, number]
    ego, route = batch.agents[w, 0], batch.routes[w, k]
    forget(car)
    car.length, car.width = SIZES[part.body][0], SIZES[part.body][1]
    car.kind, car.controller, car.log = KINDS[part.body], SCRIPTED, number
    script.agent, script.trigger, script.phase = k, one.trigger, WAITING
    script.first, script.then, script.lane, script.s = part.first, part.then, one.lane, one.s
    script.near, script.eta, script.seconds, script.clock = part.near, part.eta, part.seconds, 0.0
    script.speed, script.lead, script.lag, script.target = part.speed, part.lead, part.lag, part.target
    script.swing = part.swing
    p = part.ahead
    if part.first == KEEP:
        p = part.lead + part.lag * ego.v - away(atlas, batch.routes[w, 0], ego, one.lane, one.s)
    p = max(p, 4.0 + 0.5 * car.length - part.along)
    s, j = part.along + p, part.chain
    while j + 1 < part.chain_end and s > atlas.lanes[stages.chain[j]].length:
        s -= atlas.lanes[stages.chain[j]].length
        j += 1
    put(world, stream, atlas, car, route, stages.chain[j], min(s, atlas.lanes[stages.chain[j]].length - 1.0))
    count = min(part.chain_end - j, ROUTE)
    for i in range(count):
        route[i] = stages.chain[j + i]
    if count < ROUTE:
        lay_out(world, stream, atlas, route, count, car.goal)
    car.d, script.p, script.home = part.aside, p, car.lane
    put_on_lane(atlas, atlas.lanes[car.lane], car)
    if car.kind == PERSON:
        car.heading = wrap(car.heading + 0.5 * math.pi)
        script.p = 0.0
    if abs(part.aside) > OFF_LANE:
        car.lane = NONE
    if part.first == KEEP:
        car.v = ego.v
    elif part.then == DRIVE:
        car.v = 0.5 * part.speed
        hand_over(car, script)
        script.phase = OVER


@merged
def stage(atlas: Any, places: Any, batch: Batch, w: int, policies: int, stream: Any) -> None:
    """Draws a trigger and its place and puts the ego and the actors there; without a place nothing changes."""
    world, cars, keys, stages = batch.worlds[w], batch.agents[w], batch.keys[w], places.stages
    for i in range(batch.scripts.shape[1]):
        batch.scripts[w, i].agent, batch.scripts[w, i].trigger, batch.scripts[w, i].phase = NONE, NONE, 0
    if stages.triggers == 0:
        return
    chosen, goal = pick(atlas, places, stages, world.map, stream)
    if chosen == NONE:
        return
    one, ego = stages.stage[chosen], cars[0]
    make_room(atlas, cars, one, policies)
    ego.goal = goal
    put(world, stream, atlas, ego, batch.routes[w, 0], one.begin, one.begin_s)
    ego.v = min(0.6 * atlas.lanes[one.begin].limit, BRISK)
    for i in range(one.part_end - one.part):
        act_in(atlas, stages, batch, w, i, one, stream)
    enlist_new(world, cars, keys)


def staged(scripts: Any) -> npt.NDArray[np.int64]:
    """The trigger of each world, NONE where there is none, ``[W]``; of ``Batch.scripts``."""
    return np.asarray(np.where(scripts["phase"][:, 0] > 0, scripts["trigger"][:, 0], NONE), np.int64)


def fired(scripts: Any) -> npt.NDArray[np.bool_]:
    """Whether the ego has come near enough for the trigger of its world, ``[W]``."""
    return np.asarray((scripts["phase"] > WAITING).any(axis=1))
