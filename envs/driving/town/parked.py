"""Cars parked along the streets: half on the pavement, beside the way of those who keep to their lane's middle."""

import math
from typing import Any

from ..compiled import compiled, uniform
from .places import put_on_lane
from .spawn import forget, last_place
from .state import CAR, NONE, PARKED, Batch

TRIES = 20
STREET = 17.0  # m/s: nobody parks where more is allowed
LENGTH, WIDTH = (4.0, 4.8), (1.7, 1.9)  # m
ASIDE = 0.1  # m between the edge of the lane and the car
END = 10.0  # m before a stop line or the end of the lane, and behind its beginning, that stay free
APART = 6.5  # m between the middles of two
CLEAR = 8.0  # m of crossings that stay free, on both sides


@compiled
def may_park(atlas: Any, cars: Any, lane: Any, s: float, first: int, me: int, x: float, y: float) -> bool:
    """Whether a place beside a lane is free of crossings and of the cars ``first <= k < me``."""
    for i in range(lane.strip, lane.strip_end):
        if atlas.strips[i].begin - CLEAR < s < atlas.strips[i].end + CLEAR:
            return False
    for k in range(first, me):
        if math.hypot(cars[k].x - x, cars[k].y - y) < APART:
            return False
    return True


@compiled
def park(atlas: Any, batch: Batch, w: int, first: int, count: int, stream: Any) -> None:
    """Parks cars in the records ``first <= k < first + count`` where places are found; the others stay empty."""
    world, cars = batch.worlds[w], batch.agents[w]
    town = atlas.maps[world.map]
    for k in range(first, min(first + count, len(cars))):
        car = cars[k]
        for _ in range(TRIES):
            number = atlas.starts[town.start + int(uniform(stream, 0.0, town.start_end - town.start))]
            lane = atlas.lanes[number]
            share = uniform(stream, 0.0, 1.0)
            s = END + share * (last_place(atlas, number) - 2.0 * END)
            if s < END or lane.right != NONE or lane.limit > STREET:
                continue
            forget(car)
            car.kind, car.length = CAR, uniform(stream, LENGTH[0], LENGTH[1])
            car.width = uniform(stream, WIDTH[0], WIDTH[1])
            car.lane, car.s, car.point, car.turn = number, s, lane.point, 0.0
            car.d = -0.5 * (atlas.points[lane.point].width + car.width) - ASIDE
            put_on_lane(atlas, lane, car)
            car.lane = NONE
            if may_park(atlas, cars, lane, s, first, k, car.x, car.y):
                car.controller = PARKED
                break
            car.length = 0.0
