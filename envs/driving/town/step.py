"""A tick of a world, and of all worlds of a batch."""

from typing import Any

import numpy as np

from ..compiled import compiled, merged, uniform
from .atlas import Atlas
from .collisions import collide
from .driver import drive, think
from .jaywalkers import jaywalk
from .lists import enlist, enlist_new
from .manners import attend
from .motion import move, replay, steer_on, vanish
from .scripts import play, scripted
from .spawn import come_in, forget, start
from .state import (
    ABSENT,
    BUSY,
    CONTROLS,
    DECISION_DT,
    DRIVER,
    MANOEUVRES,
    MOST_AGENTS,
    NONE,
    REPLAY,
    SCRIPTED,
    SUBSTEPS,
    WALKER,
    WAYPOINT,
    Agent,
    Batch,
)
from .vehicle import choose
from .walkers import start_walker, walk


@compiled
def guided(car: Agent) -> bool:
    """Whether a policy, a log or a situation's script moves an agent."""
    return CONTROLS <= car.controller <= WAYPOINT or car.controller == REPLAY or scripted(car)


@compiled
def decide(batch: Batch, atlas: Atlas, w: int) -> None:
    """All drivers of world ``w`` look and decide, in the order of their numbers."""
    world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
    events, crossings = batch.events[w], batch.crossings[w]
    unruly = 0
    enlist(world, cars, keys)
    for k in range(world.agents):
        cars[k].follower = NONE
    for k in range(world.agents):
        car = cars[k]
        if car.controller == DRIVER:
            if car.beside < 0:
                car.patience -= DECISION_DT
                if car.patience <= 0.0 and car.zone < 0 and think(world, cars, keys, atlas, k):
                    enlist_new(world, cars, keys)
            drive(world, cars, keys, events, atlas, routes, crossings, k)
            unruly += car.careless
        elif guided(car):
            attend(world, cars, keys, atlas, routes, k)
            unruly += 1
    world.unruly = unruly


@compiled
def watch(batch: Batch, atlas: Atlas, w: int) -> None:
    """Attends to the vehicles of policies and logs in a tick in which drivers do not decide."""
    world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
    if world.unruly > 0:
        enlist(world, cars, keys)
        for k in range(world.agents):
            if guided(cars[k]):
                attend(world, cars, keys, atlas, routes, k)


@merged
def go_on(batch: Batch, atlas: Atlas, w: int, stream: Any, k: int) -> bool:
    """One agent that is no driver moves on by a tick; returns False when it is not there any more."""
    world, cars, routes, events = batch.worlds[w], batch.agents[w], batch.routes[w], batch.events[w]
    controller = cars[k].controller
    if CONTROLS <= controller <= WAYPOINT:
        return steer_on(world, cars, events, atlas, stream, routes, batch.controls[w, k], k)
    if controller == REPLAY:
        return replay(world, cars, events, atlas, stream, routes, batch.logs[cars[k].log], k)
    if controller == SCRIPTED:
        return play(world, cars, events, atlas, stream, routes, batch.scripts[w], k)
    if controller == WALKER:
        if cars[k].target == NONE:
            jaywalk(world, cars, batch.keys[w], atlas, stream, k)
        else:
            walk(world, cars, batch.keys[w], atlas, batch.crossings[w], stream, k)
    return True


@compiled
def act(batch: Batch, atlas: Atlas, w: int, stream: Any) -> None:
    """Everyone moves on by a tick; of those who leave, drivers come in again later."""
    world, cars, routes, events = batch.worlds[w], batch.agents[w], batch.routes[w], batch.events[w]
    walkers = False
    for k in range(world.agents):
        car = cars[k]
        if car.controller == DRIVER:
            if not move(world, cars, events, atlas, stream, routes, k):
                vanish(car)
        elif car.controller != ABSENT:
            walkers = walkers or car.controller == WALKER
            if not go_on(batch, atlas, w, stream, k):
                car.length = 0.0
                vanish(car)
    if walkers:
        world.walking = 0
        for i in range(batch.crossings.shape[2]):
            world.walking += batch.crossings[w, BUSY, i]


@compiled
def refill(batch: Batch, atlas: Atlas, w: int, stream: Any) -> None:
    """Drivers who have left the map come in again where there is room."""
    world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
    listed = False
    for k in range(world.agents):
        if cars[k].controller == ABSENT and cars[k].length > 0.0:
            if not listed:
                enlist(world, cars, keys)
                listed = True
            come_in(world, cars, keys, atlas, routes, stream, k)


@merged
def tick_world(batch: Batch, atlas: Atlas, w: int, stream: Any, sweep: Any) -> None:
    """One tick of world ``w``; drivers decide every :data:`SUBSTEPS` ticks.

    Args:
        batch: all worlds.
        atlas: all maps.
        w: the world.
        stream: ``[1]`` its randomness.
        sweep: ``[3, A]`` scratch of :func:`.collisions.collide`.
    """
    if batch.worlds[w].tick % SUBSTEPS == 0:
        decide(batch, atlas, w)
    else:
        watch(batch, atlas, w)
    act(batch, atlas, w, stream)
    batch.worlds[w].tick += 1
    there = collide(batch.worlds[w], batch.agents[w], batch.order[w], batch.events[w], sweep)
    if there < batch.worlds[w].agents:
        refill(batch, atlas, w, stream)


@compiled
def step_worlds(batch: Batch, atlas: Atlas, active: Any, ticks: int, first: int, last: int) -> None:
    """``ticks`` ticks of the active worlds among ``first <= w < last``."""
    stream, sweep = np.empty(1, np.uint64), np.empty((3, MOST_AGENTS), np.float32)
    for w in range(first, last):
        if active[w]:
            stream[0] = batch.worlds[w].stream
            for k in range(batch.worlds[w].agents):
                if batch.agents[w, k].controller == MANOEUVRES:
                    choose(atlas.lanes, batch.agents[w, k], int(batch.controls[w, k, 0]))
            for _ in range(ticks):
                tick_world(batch, atlas, w, stream, sweep)
            batch.worlds[w].stream = stream[0]


@compiled
def begin_worlds(batch: Batch, atlas: Atlas, which: Any, seeds: Any, maps: Any, mix: Any) -> None:
    """Begins the worlds ``which`` ``[n]`` anew.

    Args:
        batch: all worlds.
        atlas: all maps.
        which: ``[n]`` worlds.
        seeds: ``[n]`` uint64: start states of their randomness.
        maps: ``[n]`` int32 of the atlas.
        mix: ``[4]`` how many vehicles there are (fewer where there is no room) and how many pedestrians (none where
            there is no crossing), the share of lorries, and the share of careless drivers.
    """
    stream = np.empty(1, np.uint64)
    for i in range(len(which)):
        w = which[i]
        world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
        stream[0] = seeds[i]
        world.map, world.tick, world.events, world.listed, world.unruly, world.walking = maps[i], 0, 0, 0, 0, 0
        world.agents = len(cars)
        world.first_tick = int(uniform(stream, 0.0, 1000.0))
        batch.crossings[w] = 0
        vehicles = min(int(mix[0]), len(cars))
        for k in range(len(cars)):
            forget(cars[k])
            batch.order[w, k] = k
        for k in range(vehicles):
            if start(world, cars, keys, atlas, routes, stream, k, mix[2]):
                cars[k].careless = int(uniform(stream, 0.0, 1.0) < mix[3])
            else:
                cars[k].length = 0.0
        for k in range(vehicles, min(vehicles + int(mix[1]), len(cars))):
            start_walker(world, cars, atlas, stream, k)
        enlist_new(world, cars, keys)
        world.stream = stream[0]
