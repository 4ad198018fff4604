"""From worlds to the log of an episode (:mod:`..metrics.log`): states are noted in the kernel, and put together here.

States are a tick apart. Where somebody else is matters for the time to collision alone, which is computed when the log
is asked for.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiled import compiled
from ..metrics.log import EpisodeLog, Event
from ..metrics.ttc import time_to_collision
from .atlas import Atlas
from .episode import INFRACTIONS, Episode
from .state import (
    ABSENT,
    BICYCLE,
    COLLISION,
    EVENTS,
    NONE,
    OFF_ROAD,
    PARKED,
    PERSON,
    RED_LIGHT,
    RIGHT_OF_WAY,
    SIM_DT,
    STOP_SIGN,
    SUBSTEPS,
    WRONG_WAY,
    Batch,
    World,
)

COLUMNS = (
    *("x", "y", "heading", "speed", "accel", "lateral_accel", "yaw_rate", "offset", "limit", "progress", "ahead"),
    *("outside", "follower_accel", "follower_without", "traffic_speed", "one_lane", "off_route"),
)
"""Of a row of the tape, but for the last, which says whether the ego is in a junction."""
FAR = 10.0  # m outside the drivable area that are told apart at most
KINDS = {
    RED_LIGHT: "red_light",
    STOP_SIGN: "stop_sign",
    RIGHT_OF_WAY: "give_way",
    OFF_ROAD: "off_road",
    WRONG_WAY: "wrong_way",
}
ENDINGS = {"struck": "collision", "off_route": "deviation", "late": "timeout"}
"""Of :data:`.episode.INFRACTIONS`, those that a log calls by another name."""
AT_THE_END = ("blocked", "deviation", "timeout")
"""Endings that are events, and of which the kernel tells none."""
SIDES = ("", "front", "rear", "side")

Floats = npt.NDArray[np.float64]


class Tape(NamedTuple):
    """The states of the last policy step; arrays of length 0 where nothing is recorded."""

    rows: npt.NDArray[np.float64]  # [slots, SUBSTEPS, columns]
    poses: npt.NDArray[np.float64]  # [worlds, SUBSTEPS, A, 6]: x, y, heading, v, length, width; NaN: not there


def tape(slots: int, worlds: int, agents: int) -> Tape:
    """Room for the states of a policy step; with ``slots=0`` none."""
    return Tape(
        np.zeros((slots, SUBSTEPS, len(COLUMNS) + 1)), np.full((worlds if slots else 0, SUBSTEPS, agents, 6), np.nan)
    )


@compiled
def outside(atlas: Atlas, world: World, x: float, y: float) -> float:
    """How far a point is outside all lanes, m, at most 10."""
    town = atlas.maps[world.map]
    i, j = int(math.floor((x - town.x) / town.cell)), int(math.floor((y - town.y) / town.cell))
    if not (0 <= i < town.nx and 0 <= j < town.ny):
        return FAR
    least = FAR
    square = town.grid + i * town.ny + j
    for g in range(atlas.grid_first[square], atlas.grid_first[square + 1]):
        at = atlas.grid_point[g]
        one = atlas.points[at]
        along = (x - one.x) * one.cos + (y - one.y) * one.sin
        beyond = max(-along, along - (atlas.points[at + 1].s - one.s), 0.0)
        aside = max(abs((y - one.y) * one.cos - (x - one.x) * one.sin) - 0.5 * one.width, 0.0)
        least = min(least, math.hypot(beyond, aside))
    return least


@compiled
def fill(atlas: Atlas, batch: Batch, episode: Episode, row: Any) -> None:
    """Writes down the state of a slot, in the order of :data:`COLUMNS`."""
    w = episode.world
    car, world = batch.agents[w, episode.agent], batch.worlds[w]
    row[0], row[1], row[2], row[3], row[4] = car.x, car.y, car.heading, car.v, car.a
    row[5], row[6] = car.v * car.yaw_rate, car.yaw_rate
    on_lane = car.lane != NONE
    row[7] = car.d if on_lane else math.nan
    row[8] = atlas.lanes[car.lane].limit if on_lane else math.nan
    row[9], row[10] = episode.progress, episode.ahead
    most = 0.0
    for corner in range(4):
        along = 0.5 * car.length * (1.0 if corner < 2 else -1.0)
        across = 0.5 * car.width * (1.0 if corner % 2 == 0 else -1.0)
        x = car.x + along * math.cos(car.heading) - across * math.sin(car.heading)
        y = car.y + along * math.sin(car.heading) + across * math.cos(car.heading)
        most = max(most, outside(atlas, world, x, y))
    row[11] = most
    row[12], row[13], row[14] = episode.follower_accel, episode.follower_without, episode.traffic
    row[15] = 1.0 if on_lane and car.beside < 0 else 0.0
    row[16] = 1.0 if car.astray != 0 or not on_lane else 0.0
    row[17] = 1.0 if on_lane and atlas.lanes[car.lane].junction != NONE else 0.0


@compiled
def note(atlas: Atlas, batch: Batch, episodes: Any, tape: Tape, w: int, count: int, tick: int) -> None:
    """Writes down the state of a world and of its slots ``[count]``."""
    for k in range(count):
        fill(atlas, batch, episodes[w * count + k], tape.rows[w * count + k, tick])
    cars = batch.agents[w]
    for k in range(len(cars)):
        car, pose = cars[k], tape.poses[w, tick, k]
        if k >= batch.worlds[w].agents or car.controller == ABSENT:
            pose[:] = math.nan
        else:
            pose[0], pose[1], pose[2], pose[3] = car.x, car.y, car.heading, car.v
            pose[4], pose[5] = car.length, car.width


class Recorder:
    """Keeps the states and events of the present episode of each slot.

    Args:
        batch: the worlds.
        episodes: of the slots.
        policies: slots of each world.
    """

    def __init__(self, batch: Batch, episodes: Any, policies: int) -> None:
        worlds, agents = batch.agents.shape
        self._batch, self._episodes, self._count = batch, episodes, policies
        self.tape = tape(len(episodes), worlds, agents)
        self._rows: list[list[Floats]] = [[] for _ in episodes]
        self._poses: list[list[Floats]] = [[] for _ in episodes]
        self._events: list[list[Event]] = [[] for _ in episodes]

    def begin(self, atlas: Atlas, slots: Any) -> None:
        """Forgets what slots did, and notes the states in which they begin."""
        for slot in slots:
            w = slot // self._count
            note(atlas, self._batch, self._episodes, self.tape, w, self._count, 0)
            self._rows[slot], self._poses[slot] = [self.tape.rows[slot, 0].copy()], [self.tape.poses[w, 0].copy()]
            self._events[slot] = []

    def keep(self, active: Any) -> None:
        """Takes in the policy step that just ended, of the slots that were ``active`` ``[slots]``."""
        for slot in np.flatnonzero(active).tolist():
            w = slot // self._count
            self._rows[slot] += list(self.tape.rows[slot].copy())
            self._poses[slot] += list(self.tape.poses[w].copy())
            happened = self._batch.events[w, : min(int(self._batch.worlds[w]["events"]), EVENTS)]
            mine = happened[happened["agent"] == self._episodes[slot]["agent"]]
            self._events[slot] += [one for event in mine if (one := self._event(event, slot)) is not None]

    def _event(self, event: Any, slot: int) -> Event | None:
        kind = int(event["kind"])
        time = (int(event["tick"]) - int(self._episodes[slot]["begun"])) * SIM_DT
        where: dict[str, Any] = {"time": time, "x": float(event["x"]), "y": float(event["y"])}
        if kind != COLLISION:
            return Event(kind=KINDS[kind], **where) if kind in KINDS else None
        other = self._batch.agents[slot // self._count, int(event["other"])]
        names = {PERSON: "pedestrian", BICYCLE: "cyclist"}
        return Event(
            kind="collision",
            **where,
            other=names.get(int(other["kind"]), "vehicle"),
            other_id=int(event["other"]),
            side=SIDES[int(event["side"])],
            ego_speed=float(event["v"]),
            other_speed=0.0 if int(other["controller"]) == PARKED else float(event["other_v"]),
            one_lane=bool(event["one_lane"]),
            against_priority=bool(event["against"]),
        )

    def log(self, slot: int, problem: Mapping[str, str | int | float]) -> EpisodeLog:
        """The log of a slot's episode so far.

        Raises:
            ValueError: no step has been taken yet.
        """
        episode = self._episodes[slot]
        if not self._rows[slot]:
            raise ValueError("no episode has begun: call reset() and take a step before asking for the log")
        rows = np.array(self._rows[slot])
        columns: dict[str, Any] = {name: rows[:, i] for i, name in enumerate(COLUMNS)}
        infraction = INFRACTIONS[int(episode["infraction"])]
        ended = ENDINGS.get(infraction, infraction) or ("completed" if episode["left"] <= 0.0 else "")
        events = tuple(self._events[slot])
        if ended in AT_THE_END:
            last = (len(rows) - 1) * SIM_DT
            events += (Event(kind=ended, time=last, x=float(rows[-1, 0]), y=float(rows[-1, 1])),)
        return EpisodeLog(
            **columns,
            route_length=float(episode["length"]),
            dt=SIM_DT,
            ttc=self._ttc(slot, columns["one_lane"] == 0.0, rows[:, -1] != 0.0),
            life=np.zeros(len(rows), np.int64),
            events=events,
            ended=ended,
            problem=problem,
        )

    def _ttc(self, slot: int, several: Any, junction: Any) -> Floats:
        """Times to collision ``[T]``, without those that it has collided with already."""
        me = int(self._episodes[slot]["agent"])
        hit = {event.other_id: event.time for event in self._events[slot] if event.kind == "collision"}
        found = np.full(len(several), np.inf)
        for state, poses in enumerate(self._poses[slot]):
            there = ~np.isnan(poses[:, 0])
            there[[me, *(k for k, time in hit.items() if time <= state * SIM_DT + 1e-9)]] = False
            if not np.isnan(poses[me, 0]):
                lateral = bool(several[state] or junction[state])
                found[state] = time_to_collision(poses[me], poses[there], lateral=lateral)
        return found
