"""What an episode amounts to, kept tick by tick: the CARLA driving score, faults, infractions, braking imposed, metres.

These totals equal those of the log of the same episode (:mod:`..metrics`), which costs far more: they are sums over its
states and events. Formulas and sources: :mod:`..metrics.leaderboard` (version 2.1), :mod:`..metrics.harm`.
"""

import math
from typing import Any

from ..compiled import compiled
from ..metrics.rules import SAFE, imposed_braking
from ..traffic import idm
from .atlas import Atlas
from .driver import free, hold_back, pedestrians
from .episode import Episode
from .junctions import COMFORT, EARLY
from .problem import ARRIVED, metres_left
from .sight import leader, wished
from .state import (
    ABSENT,
    COLLISION,
    DRIVER,
    EVENTS,
    NONE,
    PARKED,
    PERSON,
    RED_LIGHT,
    SIM_DT,
    STOP_SIGN,
    SUBSTEPS,
    Agent,
    Agents,
    Batch,
    World,
)

SCORES = (
    "driving_score",
    "completion",
    "km",
    "collisions",
    "at_fault_collisions",
    "red_lights",
    "stop_signs",
    "imposed_braking",
    "hard_braking_share",
)
"""Totals of an episode: CARLA's driving score 2.1 (0 to 100), share of the route, km driven, collisions with somebody
new and those at fault, lights and signs run, the hardest braking imposed (m/s2), the share of time it was over 4."""
PERSON_COST, VEHICLE_COST, RED_COST, STOP_COST, SLOW_COST = 1.0, 0.7, 0.4, 0.25, 0.4
SLOWEST = 0.1  # m/s below which CARLA counts no collision
QUARTERS = 4
NEARLY = 0.95  # of the route, from which on the last quarter counts
CAUSE = 0.25  # m/s2 by which a follower's braking may exceed what the ego asks for and still be because of it

imposed_by = compiled(imposed_braking)


@compiled
def note_speeds(world: World, cars: Agents, lookers: int, speeds: Any) -> None:
    """Writes into ``speeds`` the mean speed of the motor vehicles and cyclists that are driven, for each who looks.

    Args:
        world: its record.
        cars: its records.
        lookers: the first so many agents look; of the mean of each its own speed is left out.
        speeds: ``[A]``; NaN where there are no others.
    """
    for me in range(lookers):
        speeds[me] = 0.0
    count = 0
    for k in range(world.agents):
        car = cars[k]
        if car.controller != ABSENT and car.controller != PARKED and car.kind != PERSON:
            count += 1
            v, before = float(abs(car.v)), speeds[k]
            if lookers == 1:
                speeds[0] += v
            else:
                for me in range(lookers):  # all sums at once, which processors do many at a time
                    speeds[me] += v
            speeds[k] = before
    for me in range(lookers):
        car = cars[me]
        driven = car.controller != ABSENT and car.controller != PARKED and car.kind != PERSON
        others = count - int(driven)
        speeds[me] = speeds[me] / others if others > 0 else math.nan


@compiled
def along(car: Agent, v: float) -> float:
    """The part of a speed that takes a vehicle along its lane."""
    return v if abs(car.turn) < 0.5 else v * math.cos(car.turn)


@compiled
def kept_back(car: Agent, v_lead: float, gap: float, limit: float) -> float:
    """The acceleration of a driver behind a leader, as :func:`.driver.react` has it."""
    return idm(car.v, v_lead, gap, max(limit, car.v), car.headway, car.accel, car.brake)


@compiled
def follower(
    world: World, cars: Agents, keys: Any, atlas: Atlas, routes: Any, crossings: Any, me: int
) -> tuple[float, float]:
    """The acceleration of the driver behind ``me``, and what it would be were ``me`` not there; NaN: there is none.

    To be asked after the tick in which drivers have decided, by speeds and places before it: those of the two are
    therefore put back meanwhile. Harm is not the ego's by default: a driver who brakes harder than the ego asks for has
    another reason, and lines, crossings and leaders beyond the ego count as if the ego were not there. Why the ego is
    slow, or stands, does not matter otherwise: what its follower would not have had to brake for, it imposed.
    """
    k = cars[me].follower
    if k < 0 or cars[k].controller != DRIVER or cars[k].lane < 0 or cars[k].leader != me:
        return math.nan, math.nan
    car, ego = cars[k], cars[me]
    after_v, after_s = car.v, car.s
    car.v = after_v - car.a * SIM_DT
    car.s = after_s - 0.5 * (after_v + car.v) * SIM_DT
    limit = wished(car, atlas.lanes[car.lane].limit)
    asked = kept_back(car, along(ego, max(ego.v - ego.a * SIM_DT, 0.0)), car.gap, limit)
    without = float(car.a)
    if car.a < 0.0 and asked <= car.a + CAUSE:
        a = free(car.v, limit, car.accel)
        other, gap = leader(cars, keys, world.listed, atlas.lanes, atlas.siblings, routes[k], k, me)
        if other >= 0:
            a = min(a, kept_back(car, along(cars[other], cars[other].v), gap, limit))
        if car.line < EARLY + car.v * (1.0 + car.v / (2.0 * COMFORT)):
            a = min(a, hold_back(car, car.line))
        if world.walking > 0:
            first = atlas.maps[world.map].crossing
            a = min(a, hold_back(car, pedestrians(crossings, car, routes[k], atlas.lanes, atlas.strips, first)))
        without = max(a, without)
    car.v, car.s = after_v, after_s
    return float(car.a), without


@compiled
def open_account(atlas: Atlas, batch: Batch, episode: Episode, speeds: Any) -> None:
    """Begins the totals, at the episode's first state; ``speeds`` as :func:`note_speeds` writes them."""
    w, me = episode.world, episode.agent
    car = batch.agents[w, me]
    episode.begun = batch.worlds[w].tick
    episode.ticks = episode.noted = 0
    episode.at_x, episode.at_y = car.x, car.y
    episode.progress = episode.furthest = episode.driven = episode.gained = episode.strayed = 0.0
    episode.quarter = episode.own_speed = episode.their_speed = episode.lacking = 0.0
    episode.hits = episode.guilty = episode.lights = episode.signs = episode.hard = episode.counted = 0
    episode.charged = episode.hardest = episode.ahead = episode.slowed = 0.0
    episode.follower_accel = episode.follower_without = math.nan
    left = metres_left(atlas, car.goal, car.lane, car.s)
    if left >= 0.0:
        episode.progress = episode.length - left + ARRIVED
    episode.furthest = episode.progress
    _pace(batch, episode, speeds)


@compiled
def _pace(batch: Batch, episode: Episode, speeds: Any) -> None:
    """Takes a state into the mean speeds of the present quarter of the route; closes a quarter that is over."""
    w, me = episode.world, episode.agent
    if episode.furthest - episode.quarter > episode.length / QUARTERS:
        episode.lacking += slowness(episode.own_speed, episode.their_speed)
        episode.quarter = episode.furthest
        episode.own_speed = episode.their_speed = 0.0
    episode.traffic = speeds[me]
    if not math.isnan(episode.traffic):
        episode.own_speed += abs(batch.agents[w, me].v)
        episode.their_speed += episode.traffic


@compiled
def slowness(own: float, others: float) -> float:
    """What is lacking in one's mean speed as a share of the traffic's, at least 0; of sums over the same states."""
    if others <= 0.0:
        return 0.0
    return max(0.0, 1.0 - round(100.0 * own / others, 2) / 100.0)


@compiled
def enter(atlas: Atlas, batch: Batch, episode: Episode, speeds: Any) -> None:
    """Takes a tick that has just passed into the totals; ``speeds`` as :func:`note_speeds` writes them."""
    w, me = episode.world, episode.agent
    car = batch.agents[w, me]
    x, y = float(car.x), float(car.y)
    episode.ticks += 1
    episode.driven += math.hypot(x - episode.at_x, y - episode.at_y)
    episode.ahead = car.v * math.cos(car.turn) * SIM_DT if car.lane != NONE else 0.0
    episode.at_x, episode.at_y = x, y
    left = metres_left(atlas, car.goal, car.lane, car.s)
    if left >= 0.0:
        episode.progress = episode.length - left + ARRIVED
    gained = max(episode.progress - episode.furthest, 0.0)
    episode.furthest += gained
    episode.gained += gained
    episode.strayed += gained if car.astray != 0 or car.lane == NONE else 0.0
    _pace(batch, episode, speeds)
    if batch.worlds[w].tick % SUBSTEPS == 1:  # what drivers have decided holds until they decide again
        episode.follower_accel, episode.follower_without = follower(
            batch.worlds[w], batch.agents[w], batch.keys[w], atlas, batch.routes[w], batch.crossings[w], me
        )
    imposed = 0.0
    if not math.isnan(episode.follower_accel):
        imposed = imposed_by(episode.follower_accel, episode.follower_without)
    episode.slowed = max(episode.slowed, imposed)
    episode.hardest = max(episode.hardest, imposed)
    episode.hard += int(imposed > SAFE)
    _charge(batch, episode)


@compiled
def _charge(batch: Batch, episode: Episode) -> None:
    """Takes the events since the last tick into the totals.

    The policy step of a collision is the last of an episode, and shorter than the 5 m and 5 s within which CARLA counts
    no second one.
    """
    w, me = episode.world, episode.agent
    world, cars, events = batch.worlds[w], batch.agents[w], batch.events[w]
    for i in range(episode.noted, min(world.events, EVENTS)):
        event = events[i]
        if event.agent != me:
            continue
        if event.kind == RED_LIGHT:
            episode.lights += 1
            episode.charged += RED_COST
        elif event.kind == STOP_SIGN:
            episode.signs += 1
            episode.charged += STOP_COST
        elif event.kind == COLLISION:
            episode.hits += 1
            episode.guilty += event.fault
            if episode.counted == 0 and abs(event.v) >= SLOWEST:
                episode.counted = 1
                episode.charged += PERSON_COST if cars[event.other].kind == PERSON else VEHICLE_COST
    episode.noted = world.events
