"""A tick of a world, and of all worlds of a batch."""

from typing import Any

import numpy as np

from ..compiled import compiled, uniform
from .atlas import Atlas
from .collisions import collide
from .driver import drive, think
from .lists import enlist, enlist_new
from .motion import move, vanish
from .spawn import come_in, start
from .state import ABSENT, DRIVER, NONE, SIM_DT, Batch


@compiled
def tick_world(batch: Batch, atlas: Atlas, w: int, stream: Any) -> None:
    """One tick of world ``w``; ``stream`` is its randomness, ``[1]``."""
    world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
    events, crossings = batch.events[w], batch.crossings[w]
    enlist(world, cars, keys)
    for k in range(world.agents):
        car = cars[k]
        if car.controller == DRIVER:
            if car.beside < 0:
                car.patience -= SIM_DT
                if car.patience <= 0.0 and car.zone < 0 and think(world, cars, keys, atlas, k):
                    enlist_new(world, cars, keys)
            drive(world, cars, keys, atlas, routes, crossings, k)
    for k in range(world.agents):
        if cars[k].controller == DRIVER and not move(world, cars, events, atlas, stream, routes[k], k):
            vanish(cars[k])
    world.tick += 1
    collide(world, cars, batch.order[w], events)
    listed = False
    for k in range(world.agents):
        if cars[k].controller == ABSENT and cars[k].length > 0.0:
            if not listed:
                enlist(world, cars, keys)
                listed = True
            come_in(world, cars, keys, atlas, routes, stream, k)


@compiled
def step_worlds(batch: Batch, atlas: Atlas, active: Any, ticks: int, first: int, last: int) -> None:
    """``ticks`` ticks of the active worlds among ``first <= w < last``."""
    stream = np.empty(1, np.uint64)
    for w in range(first, last):
        if active[w]:
            stream[0] = batch.worlds[w].stream
            for _ in range(ticks):
                tick_world(batch, atlas, w, stream)
            batch.worlds[w].stream = stream[0]


@compiled
def begin_worlds(batch: Batch, atlas: Atlas, which: Any, seeds: Any, maps: Any, vehicles: int, lorries: float) -> None:
    """Begins the worlds ``which`` ``[n]`` on ``maps`` ``[n]`` with up to ``vehicles`` drivers, from ``seeds`` ``[n]``."""
    stream = np.empty(1, np.uint64)
    for i in range(len(which)):
        w = which[i]
        world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
        stream[0] = seeds[i]
        world.map, world.tick, world.events, world.listed, world.unruly, world.walking = maps[i], 0, 0, 0, 0, 0
        world.agents = len(cars)
        world.first_tick = int(uniform(stream, 0.0, 1000.0))
        for k in range(len(cars)):
            cars[k].controller = ABSENT
            cars[k].length = 0.0
            cars[k].lane = cars[k].beside = NONE
            cars[k].collisions = cars[k].faults = cars[k].reds = cars[k].stops = 0
            cars[k].goal = NONE
            cars[k].odometer = 0.0
            batch.order[w, k] = k
        for k in range(min(vehicles, len(cars))):
            if not start(world, cars, keys, atlas, routes, stream, k, lorries):
                cars[k].length = 0.0
        enlist_new(world, cars, keys)
        world.stream = stream[0]
