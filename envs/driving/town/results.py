"""What a policy step of a batch comes to: rewards and their terms, how the episodes stand, and observations."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiled import compiled, merged
from .account import NEARLY, SCORES, SLOW_COST, slowness
from .atlas import Atlas
from .episode import OUTCOMES, Episode
from .problem import ARRIVED, metres_left
from .reward import judge
from .state import BRAKING, EVENTS, NONE, RIGHT_OF_WAY, Agent, Batch


class Results(NamedTuple):
    """Of all slots; made anew in each step."""

    outcomes: npt.NDArray[np.float64]  # [9, slots] in the order of episode.OUTCOMES; 0 of those that are not active
    totals: npt.NDArray[np.float64]  # [10, slots] in the order of account.SCORES, and the share of the route driven
    ends: npt.NDArray[np.int8]  # [3, slots] infraction, offence, success
    over: npt.NDArray[np.bool_]  # [slots] whether the episode is
    seen: npt.NDArray[np.float32]  # [slots, size] observations; or of no slots: these are not asked for


def results(slots: int, seen: npt.NDArray[np.float32]) -> Results:
    """Room for the results of a step, which fills all of it."""
    outcomes, totals = np.empty((len(OUTCOMES), slots)), np.empty((len(SCORES) + 1, slots))
    return Results(outcomes, totals, np.empty((3, slots), np.int8), np.empty(slots, np.bool_), seen)


@compiled
def reach_over(atlas: Atlas, car: Agent) -> tuple[float, bool]:
    """How far the body reaches over the marking of its lane, m, and whether nothing of its direction is beyond."""
    if car.lane == NONE:
        return 1.0, True
    lane = atlas.lanes[car.lane]
    if lane.junction != NONE:
        return -1.0, False
    over = abs(car.d) - 0.5 * (atlas.points[car.point].width - car.width)
    return over, (lane.left if car.d > 0.0 else lane.right) == NONE


@merged
def judge_agent(atlas: Atlas, batch: Batch, episode: Episode, weights: Any, cut_ins: bool, outcome: Any) -> None:
    """The reward of one agent's policy step, from the state of its world and the events of the step, into ``[9]``."""
    w, me = episode.world, episode.agent
    cars, world, events = batch.agents[w], batch.worlds[w], batch.events[w]
    car = cars[me]
    imposed, pushed_in = 0.0 if cut_ins else float(episode.slowed), False
    for i in range(min(world.events, EVENTS)):
        if events[i].agent == me:
            if events[i].kind == BRAKING:
                imposed = max(imposed, float(events[i].value))
            elif events[i].kind == RIGHT_OF_WAY:
                pushed_in = True
    left = metres_left(atlas, car.goal, car.lane, car.s)
    if left >= 0.0:  # fast cars would jump over the last metres
        left = left - ARRIVED if left > max(ARRIVED, 0.25 * car.v) else 0.0
    limit = atlas.lanes[car.lane].limit if car.lane != NONE else episode.limit
    leader_v = cars[car.leader].v if car.leader != NONE else car.v
    over, alone = reach_over(atlas, car)
    judge(episode, car, weights, left, limit, leader_v, over, alone, imposed, pushed_in, outcome)


@compiled
def balance(one: Episode, slot: int, results: Results) -> None:
    """Writes how the episode of a slot stands."""
    totals, ends = results.totals, results.ends
    completion = min(max(one.furthest / one.length, 0.0), 1.0)
    slow = one.lacking
    if completion > NEARLY:
        slow += slowness(one.own_speed, one.their_speed)
    if one.left <= 0.0 and one.infraction == 0:
        completion = 1.0
    within = 1.0 - one.strayed / one.gained if one.gained > 0.0 else 1.0
    totals[0, slot] = 100.0 * completion * within / (1.0 + one.charged + SLOW_COST * slow)
    totals[1, slot], totals[2, slot], totals[3, slot] = completion, one.driven / 1000.0, one.hits
    totals[4, slot], totals[5, slot], totals[6, slot] = one.guilty, one.lights, one.signs
    totals[7, slot], totals[8, slot] = one.hardest, one.hard / max(one.ticks, 1)
    totals[9, slot] = 1.0 - one.left / one.length
    ends[0, slot], ends[1, slot], ends[2, slot] = one.infraction, one.offence, one.success
    results.over[slot] = one.infraction != 0 or one.left <= 0.0
