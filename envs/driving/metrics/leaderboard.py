"""The driving score of the CARLA leaderboard, versions 2.0 and 2.1: route completion times an infraction penalty.

With ``q`` the share of the driven route outside the route's lanes, ``m`` the ego's mean speed as a share of the
traffic's over a quarter of the route (one infraction for each quarter with m < 1), ``n_i`` the number of infractions of
kind ``i`` and ``p_i``, ``c_i`` their coefficients below:

    2.0:  score = 100 completion (1 - q) prod_i p_i^n_i prod_m (1 - 0.3 (1 - m))
    2.1:  score = 100 completion (1 - q) / (1 + sum_i c_i n_i + sum_m 0.4 (1 - m))

What counts as an infraction is the same in both. Of collisions: not one while the ego is slower than 0.1 m/s, not
another with the same road user within 5 s, and not another before the ego is 5 m from the last one. Whose fault a
collision was, CARLA does not ask beyond that; :mod:`.fault` does.

Departures: numbers are not rounded; a life after a respawn adds infractions but completes no route.

Sources: carla-simulator/leaderboard, ``statistics_manager.py`` on the branches leaderboard-2.0 (a87a341; the same on
master) and leaderboard-2.1 (cfecdc8); carla-simulator/scenario_runner, ``atomic_criteria.py`` (94ff3b8).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, prod
from typing import Literal

import numpy as np

from .log import EpisodeLog, Event, Floats

Version = Literal["carla-2.0", "carla-2.1"]
COEFFICIENTS: dict[Version, dict[str, float]] = {
    "carla-2.0": {
        "collision_pedestrian": 0.5,
        "collision_vehicle": 0.6,
        "collision_static": 0.65,
        "red_light": 0.7,
        "scenario_timeout": 0.7,
        "emergency": 0.7,
        "stop_sign": 0.8,
    },
    "carla-2.1": {
        "collision_pedestrian": 1.0,
        "collision_vehicle": 0.7,
        "collision_static": 0.6,
        "red_light": 0.4,
        "scenario_timeout": 0.4,
        "emergency": 0.4,
        "stop_sign": 0.25,
    },
}
"""2.0: factors ``p_i``; 2.1: summands ``c_i``."""
MIN_SPEED = {"carla-2.0": 0.7, "carla-2.1": 0.4}
OTHER_KINDS = ("blocked", "deviation", "timeout")
"""Infractions that end a route and cost no more than the rest of it."""
QUARTERS = 4
SLOWEST = 0.1  # m/s below which CARLA counts no collision
SAME_PLACE, SAME_TIME = 5.0, 5.0  # m, s


def collisions(log: EpisodeLog) -> tuple[Event, ...]:
    """The collisions that CARLA counts, in order of time."""
    counted: list[Event] = []
    place: tuple[float, float] | None = None
    known, since, last_state = -1, 0.0, 0
    for event in sorted(log.of("collision"), key=lambda one: one.time):
        state = min(int(event.time / log.dt + 1e-9), len(log) - 1)
        if place is not None:
            x, y = log.x[last_state : state + 1], log.y[last_state : state + 1]
            if (np.hypot(x - place[0], y - place[1]) > SAME_PLACE).any():
                place = None
        last_state = state
        if known >= 0 and event.time - since > SAME_TIME:
            known = -1
        here = (event.x, event.y)
        near = place is not None and hypot(here[0] - place[0], here[1] - place[1]) <= SAME_PLACE
        assert event.ego_speed is not None
        if (known >= 0 and event.other_id == known) or near or abs(event.ego_speed) < SLOWEST:
            continue
        counted.append(event)
        place, since = here, event.time
        if event.other != "static":
            known = event.other_id
    return tuple(counted)


def infractions(log: EpisodeLog) -> Counter[str]:
    """How many of each kind of :data:`COEFFICIENTS` and :data:`OTHER_KINDS`; a cyclist is a vehicle, as in CARLA."""
    found = Counter({"cyclist": "vehicle"}.get(event.other, event.other) for event in collisions(log))
    named = Counter({f"collision_{other}": number for other, number in found.items()})
    plain = [kind for kind in COEFFICIENTS["carla-2.0"] if not kind.startswith("collision")]
    return named + Counter(event.kind for event in log.of(*plain, *OTHER_KINDS))


def outside_metres(log: EpisodeLog) -> tuple[float, float]:
    """Metres of the route that were driven outside its lanes, and all that were driven, over all lives."""
    outside = total = 0.0
    for life in log.lives():
        gained = np.maximum(np.diff(np.maximum.accumulate(log.progress[life])), 0.0)
        outside += float(gained[log.off_route[life][1:]].sum())
        total += float(gained.sum())
    return outside, total


def slow_quarters(log: EpisodeLog) -> list[float]:
    """The ego's mean speed in percent of the traffic's, for each quarter of the route in which it is below 100.

    Quarters end where the ego has come more than a quarter of the route further; the last also where the log ends with
    more than 95% of the route done. Only states with traffic about count, and only the first life.
    """
    life = log.lives()[0]
    done = np.maximum.accumulate(log.progress[life])
    own, others = np.abs(log.speed[life]), log.traffic_speed[life]
    begin, start, found = 0, 0.0, []
    for state in range(len(done)):
        if done[state] - start > log.route_length / QUARTERS:
            found.append(_percent(own[begin:state], others[begin:state]))
            begin, start = state, float(done[state])
    if done[-1] / log.route_length > 0.95:
        found.append(_percent(own[begin:], others[begin:]))
    return [percent for percent in found if percent < 100.0]


def _percent(own: Floats, others: Floats) -> float:
    about = ~np.isnan(others)
    if not about.any() or not others[about].any():
        return 100.0
    return round(float(own[about].mean() / others[about].mean()) * 100.0, 2)


@dataclass(frozen=True)
class DrivingScore:
    """Of one route: ``score = 100 completion penalty``, both of which are shares."""

    score: float
    completion: float
    penalty: float


def driving_score(log: EpisodeLog, version: Version) -> DrivingScore:
    """The score of an episode, 0 to 100."""
    weights, found = COEFFICIENTS[version], infractions(log)
    outside, total = outside_metres(log)
    within = 1.0 - (outside / total if total > 0 else 0.0)
    slow = [1.0 - percent / 100.0 for percent in slow_quarters(log)]
    least = MIN_SPEED[version]
    if version == "carla-2.0":
        penalty = within * prod(weights[kind] ** found[kind] for kind in weights)
        penalty *= prod(1.0 - (1.0 - least) * lacking for lacking in slow)
    else:
        charged = sum(weights[kind] * found[kind] for kind in weights) + sum(least * lacking for lacking in slow)
        penalty = within / (1.0 + charged)
    completion = 1.0 if log.ended == "completed" else log.completed
    return DrivingScore(100.0 * completion * penalty, completion, penalty)


def per_km(logs: Sequence[EpisodeLog]) -> dict[str, float]:
    """Infractions of each kind per km of routes done, and ``outside_route_lanes``, which CARLA gives in km.

    Raises:
        ValueError: no log.
    """
    if not logs:
        raise ValueError("infractions per km need at least one log")
    done = sum(log.route_length / 1000.0 * (1.0 if log.ended == "completed" else log.completed) for log in logs)
    total = sum((infractions(log) for log in logs), Counter[str]())
    slow = sum(len(slow_quarters(log)) for log in logs)
    kinds = {kind: total[kind] / max(done, 0.001) for kind in (*COEFFICIENTS["carla-2.0"], *OTHER_KINDS)}
    outside = sum(outside_metres(log)[0] for log in logs) / 1000.0
    return {**kinds, "min_speed": slow / max(done, 0.001), "outside_route_lanes": outside}
