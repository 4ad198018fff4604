"""Episodes on a batch of worlds: how they begin, a policy step of each, what agents see, and what the expert does.

Slot i is agent ``i % P`` of world ``i // P``, where P agents of each world are driven by policies (1, or in self-play
many). They are the first P records of a world.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiled import compiled, merged, uniform
from ..prefetch import fetch
from .account import enter, note_speeds, open_account
from .atlas import Atlas
from .episode import Episode
from .expert import command
from .jaywalkers import start_jaywalkers
from .lists import enlist_new
from .motion import vanish
from .observe import Scratch, sense, sensing, survey
from .parked import park
from .problem import ARRIVED, draw_route, free_time, metres_left
from .raster import PIXELS, Ground, rasterise
from .recording import Tape, note
from .results import Results, balance, judge_agent
from .sight import colour
from .spawn import START_GAP, TRIES, fits, forget, last_place, put, start
from .staging import stage
from .state import (
    ABSENT,
    CAR,
    DRIVER,
    MANOEUVRES,
    MOST_AGENTS,
    NONE,
    PERSON,
    SIM_DT,
    SUBSTEPS,
    Batch,
)
from .step import tick_world
from .vehicle import choose
from .walkers import start_walker

LENGTH, WIDTH = 4.8, 1.9  # m, of a policy's car
LORRIES = 0.08
DRAWN = 250.0  # m of a route that frames show, at least
START = 12.0  # m along its lane at which a route begins


class Options(NamedTuple):
    """What all worlds of an environment have in common, as compiled code takes it."""

    density: float  # vehicles per km of lane; negative: drawn
    people: int  # pedestrians; negative: drawn
    careless: float
    noise: float
    occlusion: bool
    controller: int  # of policies
    policies: int  # P
    parked: float  # cars along the streets per km of lane
    jaywalkers: float  # likewise, people who cross away from crossings
    cut_ins: bool  # whether cut-ins are all that the reward counts of the braking that is imposed on others


@compiled
def _range(given: float, low: float, high: float, stream: Any) -> float:
    """What is given if it is not negative, else a draw; the stream moves on alike."""
    drawn = uniform(stream, low, high)
    return given if given >= 0.0 else drawn


@compiled
def _clear_world(batch: Batch, w: int, number: int) -> None:
    world, cars = batch.worlds[w], batch.agents[w]
    world.map, world.tick, world.events, world.listed, world.unruly, world.walking = number, 0, 0, 0, 0, 0
    world.agents = len(cars)
    batch.crossings[w] = 0
    for k in range(len(cars)):
        forget(cars[k])
        batch.order[w, k] = k


@compiled
def seat(atlas: Atlas, places: Any, batch: Batch, w: int, k: int, spread: bool, stream: Any) -> None:
    """Draws a route for a policy's agent and puts its car where that begins, or with ``spread`` anywhere on that lane.

    Until an episode begins it is driven as by the traffic's driver, whom the expert takes after.
    """
    world, cars, keys, n = batch.worlds[w], batch.agents[w], batch.keys[w], places.numbers
    number, car = world.map, cars[k]
    begins = places.begin[places.begin_first[number] : places.begin_first[number + 1]]
    first, last = places.goal_first[number], places.goal_first[number + 1]
    car.kind, car.length, car.width = CAR, LENGTH, WIDTH
    car.pace, car.desired, car.headway, car.accel, car.brake = 0.97, 70.0, 1.4, 2.0, 2.0
    car.politeness, car.patience, car.careless = 0.2, 1e9, 0
    lane, goal, s = NONE, NONE, 0.0
    for _ in range(TRIES):
        lane, goal = draw_route(atlas, begins, first, last, n[4], n[5], stream)
        s = min(START, 0.4 * atlas.lanes[lane].length)
        if spread:
            s = uniform(stream, 3.0, max(last_place(atlas, lane) - 3.0, 4.0))
        if fits(world, cars, keys, atlas, k, lane, s, START_GAP):
            break
    car.goal = goal
    put(world, stream, atlas, car, batch.routes[w, k], lane, s)
    car.v = 0.0 if spread else min(0.4 * atlas.lanes[lane].limit, 8.0)
    enlist_new(world, cars, keys)


@merged
def begin_world(
    atlas: Atlas,
    places: Any,
    batch: Batch,
    episodes: Any,
    options: Options,
    w: int,
    key: Any,
    stream: Any,
    speeds: Any,
    sweep: Any,
) -> None:
    """Draws the problem of a world from its key, and lets its traffic settle with the policies' agents in it."""
    stream[0] = key
    number = int(uniform(stream, 0.0, float(len(places.kilometres))))
    n = places.numbers
    density = _range(options.density, n[0], n[1], stream)
    people = int(_range(float(options.people), n[2], n[3] + 0.999, stream))
    _clear_world(batch, w, number)
    world, cars, routes, keys = batch.worlds[w], batch.agents[w], batch.routes[w], batch.keys[w]
    world.first_tick = int(uniform(stream, 0.0, 1000.0))
    for k in range(options.policies):
        seat(atlas, places, batch, w, k, options.policies > 1, stream)
        cars[k].controller = DRIVER
    last = min(options.policies + int(density * places.kilometres[number] + 0.5), len(cars))
    for k in range(options.policies, last):
        if start(world, cars, keys, atlas, routes, stream, k, LORRIES):
            cars[k].careless = 1 if uniform(stream, 0.0, 1.0) < options.careless else 0
        else:
            cars[k].length = 0.0
    for k in range(last, min(last + people, len(cars))):
        start_walker(world, cars, atlas, stream, k)
    parked = int(options.parked * places.kilometres[number] + 0.5)
    park(atlas, batch, w, last + people, parked, stream)
    jaywalkers = int(options.jaywalkers * places.kilometres[number] + 0.5)
    start_jaywalkers(atlas, batch, w, last + people + parked, jaywalkers, stream)
    for _ in range(int(n[10] / SIM_DT)):
        tick_world(batch, atlas, w, stream, sweep)
    stage(atlas, places, batch, w, options.policies, stream)
    world.stream = stream[0]
    world.events = 0
    note_speeds(world, cars, options.policies, speeds)
    for k in range(options.policies):
        begin_episode(atlas, places, batch, episodes[w * options.policies + k], w, k, options, speeds)


@compiled
def begin_episode(
    atlas: Atlas, places: Any, batch: Batch, episode: Episode, w: int, k: int, options: Options, speeds: Any
) -> None:
    """Hands an agent over to its policy, where it is now; ``speeds`` are those of its world."""
    car, n = batch.agents[w, k], places.numbers
    car.controller = options.controller
    car.collisions = car.faults = car.reds = car.stops = 0
    car.off = car.wrong = car.imposed = car.still = 0.0
    car.target = car.lane
    car.level = int(10.0 * car.v / atlas.lanes[car.lane].limit + 0.5)
    episode.world, episode.agent = w, k
    seconds, episode.limit = free_time(atlas, car.goal, car.lane, car.s)
    episode.length = episode.left = max(metres_left(atlas, car.goal, car.lane, car.s) - ARRIVED, 1.0)
    episode.budget = n[8] + n[7] + seconds / n[6]
    episode.patience = n[9]
    episode.clock = episode.straddle = 0.0
    episode.last_v, episode.last_lon, episode.last_lat, episode.last_yaw = car.v, 0.0, 0.0, 0.0
    episode.struck = episode.faults = episode.reds = episode.stops = 0
    episode.infraction = episode.offence = episode.success = 0
    episode.noise = int(batch.worlds[w].stream >> np.uint64(2)) + k
    open_account(atlas, batch, episode, speeds)


@compiled
def begin_worlds(
    atlas: Atlas, places: Any, batch: Batch, episodes: Any, which: Any, keys: Any, options: Options, a: int, b: int
) -> None:
    """:func:`begin_world` for the worlds ``which[a:b]`` with their ``keys[a:b]``."""
    stream, speeds, sweep = np.empty(1, np.uint64), np.empty(MOST_AGENTS), np.empty((3, MOST_AGENTS), np.float32)
    for j in range(a, b):
        begin_world(atlas, places, batch, episodes, options, which[j], keys[j], stream, speeds, sweep)


@compiled
def draw_weights(weights: Any, slots: Any, keys: Any, low: float) -> None:
    """Weights of the reward, uniform from ``low`` to 1, of ``slots`` ``[k]`` from their ``keys`` ``[k]``."""
    stream = np.empty(1, np.uint64)
    for j in range(len(slots)):
        stream[0] = keys[j] ^ np.uint64(0x5EED)
        for i in range(weights.shape[1]):
            weights[slots[j], i] = uniform(stream, low, 1.0)


@compiled
def respawn(atlas: Atlas, places: Any, batch: Batch, episodes: Any, slots: Any, options: Options) -> None:
    """Takes the agents of ``slots`` away and lets them come in again on free road of their running worlds.

    The agents of one world come in one after the other.
    """
    stream, speeds = np.empty(1, np.uint64), np.empty(MOST_AGENTS)
    for slot in slots:
        w, k = slot // options.policies, slot % options.policies
        world, cars, keys = batch.worlds[w], batch.agents[w], batch.keys[w]
        stream[0] = world.stream
        vanish(cars[k])
        enlist_new(world, cars, keys)
        seat(atlas, places, batch, w, k, True, stream)
        world.stream = stream[0]
        note_speeds(world, cars, options.policies, speeds)
        begin_episode(atlas, places, batch, episodes[slot], w, k, options, speeds)


@compiled
def keep_accounts(
    atlas: Atlas, batch: Batch, episodes: Any, active: Any, w: int, count: int, tick: int, speeds: Any
) -> None:
    """Takes a tick of the present policy step into the totals of a world's active slots; ``speeds`` is scratch."""
    note_speeds(batch.worlds[w], batch.agents[w], count, speeds)
    for slot in range(w * count, (w + 1) * count):
        if active[slot]:
            if tick == 0:  # with a policy step, events are counted from 0 again
                episodes[slot].noted = 0
                episodes[slot].slowed = 0.0
            enter(atlas, batch, episodes[slot], speeds)


@compiled
def hand_over(batch: Batch, commands: Any, active: Any, w: int, count: int) -> bool:
    """Gives a world the commands of its slots; returns whether any of these is active."""
    moves = False
    for k in range(count):
        slot = w * count + k
        moves = moves or active[slot]
        for axis in range(3):
            batch.controls[w, k, axis] = commands[slot, axis]
    return moves


@merged
def run_world(
    atlas: Atlas,
    batch: Batch,
    episodes: Any,
    active: Any,
    options: Options,
    tape: Tape,
    w: int,
    stream: Any,
    speeds: Any,
    sweep: Any,
) -> None:
    """The ticks of a policy step of one world, whose commands it has; ``stream, speeds, sweep`` are scratch."""
    batch.worlds[w].events = 0
    if options.controller == MANOEUVRES:
        for k in range(options.policies):
            choose(atlas.lanes, batch.agents[w, k], int(batch.controls[w, k, 0]))
    stream[0] = batch.worlds[w].stream
    for tick in range(SUBSTEPS):
        tick_world(batch, atlas, w, stream, sweep)
        keep_accounts(atlas, batch, episodes, active, w, options.policies, tick, speeds)
        if len(tape.rows) > 0:
            note(atlas, batch, episodes, tape, w, options.policies, tick)
    batch.worlds[w].stream = stream[0]


@compiled
def step_worlds(
    atlas: Atlas,
    batch: Batch,
    episodes: Any,
    weights: Any,
    commands: Any,
    active: Any,
    options: Options,
    tape: Tape,
    results: Results,
    a: int,
    b: int,
) -> None:
    """A policy step of the worlds ``a <= w < b`` in which a slot is active; results of all their slots.

    Args:
        atlas: all maps.
        batch: all worlds.
        episodes: of the slots.
        weights: ``[slots, 7]`` of the reward's factors and penalty.
        commands: ``[slots, 3]``.
        active: ``[slots]``.
        options: what all worlds have in common.
        tape: where states are noted, if anywhere.
        results: of the step, filled.
        a: first world.
        b: the world after the last.
    """
    stream, speeds = np.empty(1, np.uint64), np.empty(MOST_AGENTS)
    sweep, scratch = np.empty((3, MOST_AGENTS), np.float32), sensing()
    count = options.policies
    for w in range(a, b):
        if w + 1 < b:
            fetch(batch.agents, w + 1, w + 2)
            fetch(batch.routes, w + 1, w + 2)
            fetch(batch.keys, w + 1, w + 2)
            fetch(episodes, (w + 1) * count, (w + 2) * count)
        if hand_over(batch, commands, active, w, count):
            run_world(atlas, batch, episodes, active, options, tape, w, stream, speeds, sweep)
        for slot in range(w * count, (w + 1) * count):
            results.outcomes[:, slot] = 0.0
            if active[slot]:
                judge_agent(atlas, batch, episodes[slot], weights[slot], options.cut_ins, results.outcomes[:, slot])
            balance(episodes[slot], slot, results)
        if len(results.seen) > 0:
            look_round(atlas, batch, episodes, weights, options, w, scratch, results.seen)


@merged
def look_round(
    atlas: Atlas, batch: Batch, episodes: Any, weights: Any, options: Options, w: int, scratch: Scratch, out: Any
) -> None:
    """Observations of the only policy of a world into its row of ``out``."""
    one = episodes[w]
    survey(batch.worlds[w], batch.agents[w], one.agent, scratch.around)
    discrete = options.controller == MANOEUVRES
    sense(atlas, batch, one, weights[w], discrete, options.noise, options.occlusion, scratch, out[w])


@compiled
def observe_slots(
    atlas: Atlas, batch: Batch, episodes: Any, weights: Any, options: Options, slots: Any, out: Any, a: int, b: int
) -> None:
    """Observations of ``slots[a:b]`` into ``out[a:b]``."""
    scratch = sensing()
    discrete, noise, occlusion = options.controller == MANOEUVRES, options.noise, options.occlusion
    surveyed = NONE
    for j in range(a, b):
        w, one = episodes[slots[j]].world, NONE if options.policies > 1 else episodes[slots[j]].agent
        if j + 1 < b and episodes[slots[j + 1]].world != w:
            after = episodes[slots[j + 1]].world
            fetch(batch.agents, after, after + 1)
        if w != surveyed:
            survey(batch.worlds[w], batch.agents[w], one, scratch.around)
            surveyed = w
        sense(atlas, batch, episodes[slots[j]], weights[slots[j]], discrete, noise, occlusion, scratch, out[j])


@compiled
def rasterise_slots(
    atlas: Atlas, batch: Batch, episodes: Any, ground: Ground, options: Options, slots: Any, out: Any, a: int, b: int
) -> None:
    """Rasters of ``slots[a:b]`` into ``out[a:b]``, each ``[64, 64, 8]``."""
    cells = np.empty(PIXELS, np.uint32)
    for j in range(a, b):
        rasterise(atlas, ground, batch, episodes[slots[j]], options.occlusion, cells, out[j])


@compiled
def expert_worlds(
    atlas: Atlas, batch: Batch, episodes: Any, advice: Any, options: Options, out: Any, a: int, b: int
) -> None:
    """The expert's commands of the slots of the worlds ``a <= w < b`` into ``out`` ``[slots, 3]``."""
    for i in range(a * options.policies, b * options.policies):
        command(atlas, batch, episodes[i], advice[i], options.controller, out[i])


def count_vehicles(agents: Any, worlds: Any) -> npt.NDArray[np.int64]:
    """Others than the policy's in each of ``worlds`` ``[k]``, on wheels, ``[k]``."""
    there = (agents["controller"][worlds] != ABSENT) & (agents["kind"][worlds] != PERSON)
    return np.asarray(there.sum(axis=1) - 1)


def colours(atlas: Atlas, world: Any) -> list[int]:
    """Of the signals of a world's map, now."""
    one = atlas.maps[int(world["map"])]
    return [
        int(colour(atlas.signals, atlas.phases, world, signal))
        for signal in range(int(one["signal"]), int(one["signal_end"]))
    ]


def way(atlas: Atlas, route: npt.NDArray[np.int32], agent: Any) -> npt.NDArray[np.float64]:
    """Points of a route from an agent to its goal, or as far as can be seen, ``[n, 2]`` m."""
    found = [np.array([[agent["x"], agent["y"]]], np.float64)]
    ahead = 0.0
    for index, lane in enumerate(route[route != NONE].tolist()):
        one = atlas.lanes[lane]
        begin = int(agent["point"] if index == 0 else one["point"]) + 1  # the first is the last of the lane before
        points = atlas.points[begin : int(one["final"]) + 1]
        found.append(np.stack([points["x"], points["y"]], axis=1).astype(np.float64))
        ahead += float(one["length"])
        if agent["goal"] == NONE or lane == atlas.goal_lane[agent["goal"]] or ahead > DRAWN:
            break
    return np.concatenate(found)
