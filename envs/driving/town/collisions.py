"""Who touches whom, and whose fault it is.

Bodies are oriented rectangles. Agents are kept sorted by x; only those whose rectangles may overlap in x are compared.

**Fault**: the stricter rule of :mod:`..metrics.fault`. An agent that moves (above 0.05 m/s) is at fault when the other
stood, when its front hit the other, or when its side did while its body was not in one lane; and, moving or not, when
it was where a signal, a sign or a priority forbade it to be, unless it was hit from behind. Both may be; a pedestrian
never is. The facts stand in the event, so that other rules can be applied to it.
"""

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from ..metrics.rules import blame
from .state import ABSENT, COLLISION, EVENTS, FRONT, NONE, PERSON, REAR, SIDE, Agent, Agents, World

FAR = np.float32(1e9)  # the x of those who are not there
blamed = compiled(blame)


@compiled
def record(world: World, events: Any, kind: int, cars: Agents, agent: int, other: int, value: float) -> int:
    """Notes an event; returns its place in ``events``, or -1 when there is no room."""
    at = world.events
    world.events += 1
    if at >= EVENTS:
        return -1
    event, car = events[at], cars[agent]
    event.tick, event.kind, event.agent, event.other = world.tick, kind, agent, other
    event.lane, event.value, event.v, event.x, event.y = car.lane, value, car.v, car.x, car.y
    event.other_v = cars[other].v if other >= 0 else 0.0
    event.side = event.fault = 0
    event.one_lane, event.against = int(car.beside < 0 and car.lane >= 0), car.against
    return int(at)


@compiled
def overlap(one: Agent, other: Agent) -> bool:
    """Whether two bodies, as oriented rectangles, touch (separating axis theorem)."""
    dx, dy = other.x - one.x, other.y - one.y
    a, b, c, e = 0.5 * one.length, 0.5 * one.width, 0.5 * other.length, 0.5 * other.width
    if dx * dx + dy * dy > (a + b + c + e) ** 2:
        return False
    cos_a, sin_a = math.cos(one.heading), math.sin(one.heading)
    cos_b, sin_b = math.cos(other.heading), math.sin(other.heading)
    cos, sin = abs(cos_a * cos_b + sin_a * sin_b), abs(sin_a * cos_b - cos_a * sin_b)
    if abs(dx * cos_a + dy * sin_a) > a + c * cos + e * sin or abs(dy * cos_a - dx * sin_a) > b + c * sin + e * cos:
        return False
    return (
        abs(dx * cos_b + dy * sin_b) <= c + a * cos + b * sin and abs(dy * cos_b - dx * sin_b) <= e + a * sin + b * cos
    )


@compiled
def touched_side(one: Agent, other: Agent) -> int:
    """FRONT if the other's middle is ahead of the agent's front axle or so, REAR behind the rear one, else SIDE."""
    along = (other.x - one.x) * math.cos(one.heading) + (other.y - one.y) * math.sin(one.heading)
    reach = 0.5 * one.length
    if along > 0.8 * reach:
        return FRONT
    return REAR if along < -0.8 * reach else SIDE


@compiled
def at_fault(one: Agent, other: Agent, side: int) -> bool:
    """The rule of the module."""
    if one.kind == PERSON:
        return False
    in_lane = one.beside < 0 and one.lane >= 0
    return bool(blamed(side == FRONT, side == REAR, one.v, other.v, in_lane, one.against == 1))


@compiled
def meet(world: World, cars: Agents, events: Any, me: int, other: int) -> None:
    """Two bodies overlap: notes it, and an event for each of the two where it begins."""
    for k, o in ((me, other), (other, me)):
        car = cars[k]
        if car.touching < 0:
            car.touching = o
            if car.touched != o:
                them = cars[o]
                dvx = car.v * math.cos(car.heading) - them.v * math.cos(them.heading)
                dvy = car.v * math.sin(car.heading) - them.v * math.sin(them.heading)
                side = touched_side(car, them)
                fault = at_fault(car, them, side)
                car.collisions += 1
                car.faults += int(fault)
                at = record(world, events, COLLISION, cars, k, o, math.hypot(dvx, dvy))
                if at >= 0:
                    events[at].side, events[at].fault = side, int(fault)


@compiled
def collide(world: World, cars: Agents, order: Any, events: Any, sweep: Any) -> int:
    """Finds all contacts of this tick; returns how many agents are there.

    Args:
        world: its record.
        cars: its records.
        order: its agents by x, as of the last tick; brought up to date.
        events: of the world.
        sweep: ``[3, A]`` float32 scratch: of the agents in their order x, y, and length and width added up.
    """
    n = world.agents
    xs, ys, sizes = sweep[0], sweep[1], sweep[2]
    reach, there = 0.0, 0
    for i in range(n):
        k = order[i]
        car = cars[k]
        car.touched, car.touching = car.touching, NONE
        here, y, size = car.x if car.controller != ABSENT else FAR, car.y, car.length + car.width
        if here < FAR:
            reach = max(reach, 0.5 * size)
            there += 1
        j = i - 1
        while j >= 0 and xs[j] > here:
            order[j + 1], xs[j + 1], ys[j + 1], sizes[j + 1] = order[j], xs[j], ys[j], sizes[j]
            j -= 1
        order[j + 1], xs[j + 1], ys[j + 1], sizes[j + 1] = k, here, y, size
    for i in range(there):
        far = xs[i] + 0.5 * sizes[i] + reach
        for j in range(i + 1, there):
            if xs[j] > far:
                break
            if abs(ys[i] - ys[j]) < reach + reach:
                one, other = cars[order[i]], cars[order[j]]
                strangers = one.kind != PERSON or other.kind != PERSON  # pedestrians make way for each other
                if strangers and overlap(one, other):
                    meet(world, cars, events, order[i], order[j])
    return there
