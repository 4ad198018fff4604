"""nuPlan's closed-loop score: a weighted mean of four metrics, times four that multiply; 0 to 1.

    score = collisions drivable progressing direction (5 progress + 5 ttc + 4 limit + 2 comfort) / 16

| metric | value |
|---|---|
| ``collisions`` | 1 without collisions at fault; 0 for one with a road user; 1/2 for one with an object, 0 for two |
| ``drivable`` | 0 if a corner was 0.3 m or more outside the drivable area, else 1 |
| ``progressing`` | 1 if ``progress`` is 0.2 or more, else 0 |
| ``direction`` | by the most metres driven against the lane within a second: 1 under 2, 1/2 under 6, else 0 |
| ``progress`` | progress along the route over the expert's, both at least 2 m, at most 1; 0 beyond 2 m backwards |
| ``ttc`` | 1 if the time to collision was above 0.95 s in all states and no collision was at fault, else 0 |
| ``limit`` | 1 - mean excess over the speed limit / 2.23 m/s, at least 0 |
| ``comfort`` | 1 if all of :mod:`.comfort` is within bounds, else 0 |

Each other is hit once at most. Departures: nuPlan compares with the progress of the human driver in its log; here it is
``expert_progress``, or the whole route. With several lives, progress is that of the first, all else that of all.

Source: nuplan-devkit 1.2 (e924167), ``metrics/evaluation_metrics/common/`` and ``metric_aggregator/``
``closed_loop_reactive_agents_weighted_average.yaml``; Paper: nuPlan: A closed-loop ML-based planning benchmark for
autonomous vehicles (2021).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import comfort
from .fault import at_fault_nuplan
from .log import EpisodeLog, Event

WEIGHTS = {"progress": 5.0, "ttc": 5.0, "limit": 4.0, "comfort": 2.0}
OBJECTS_ALLOWED = 1
OUTSIDE = 0.3  # m
AGAINST, FAR_AGAINST = 2.0, 6.0  # m within HORIZON
HORIZON = 1.0  # s
LEAST_PROGRESS, PROGRESS_NOISE = 0.2, 2.0  # share, m
LEAST_TTC = 0.95  # s
STANDING = 0.005  # m/s: slower, nothing is about to be hit
OVERSPEED = 2.23  # m/s


def at_fault(log: EpisodeLog, rule: Callable[[Event], bool] = at_fault_nuplan) -> tuple[Event, ...]:
    """Collisions that are the ego's fault; each other counts once in a life, by its first contact."""
    first: dict[tuple[int, int], Event] = {}
    for number, event in enumerate(log.of("collision")):
        first.setdefault((event.life, event.other_id if event.other_id >= 0 else -2 - number), event)
    return tuple(event for event in first.values() if rule(event))


def collisions(log: EpisodeLog) -> float:
    """1, or lower the more collisions were at fault."""
    others = [event.other for event in at_fault(log)]
    objects = others.count("static")
    if len(others) > objects:
        return 0.0
    return max(0.0, 1.0 - objects / (OBJECTS_ALLOWED + 1))


def direction(log: EpisodeLog) -> float:
    """1, one half or 0: by the metres driven against the direction of the lane in the worst second."""
    most, states = 0.0, int(HORIZON / log.dt + 1e-9)
    for life in log.lives():
        ahead = log.ahead[life].copy()
        ahead[0] = 0.0
        sums = np.cumsum(np.r_[0.0, ahead])
        ends = np.arange(1, len(sums))
        most = max(most, float(-(sums[ends] - sums[np.maximum(ends - 1 - states, 0)]).min()))
    return 1.0 if most < AGAINST else 0.5 if most < FAR_AGAINST else 0.0


def progress(log: EpisodeLog, expert_progress: float | None = None) -> float:
    """Progress along the route as a share of the expert's (the whole route if ``None``)."""
    wanted = log.route_length if expert_progress is None else expert_progress
    first = log.progress[log.lives()[0]]
    made = float(first[-1] - first[0])
    if made < -PROGRESS_NOISE:
        return 0.0
    return min(1.0, max(made, PROGRESS_NOISE) / max(wanted, PROGRESS_NOISE))


def time_to_collision(log: EpisodeLog) -> float:
    """Whether the time to collision stayed above its bound."""
    close = (log.ttc <= LEAST_TTC) & (np.abs(log.speed) > STANDING)
    return 0.0 if close.any() or at_fault(log) else 1.0


def speed_limit(log: EpisodeLog) -> float:
    """1 less the mean excess over the limit in units of 2.23 m/s; states near no lane exceed nothing."""
    over = np.nan_to_num(np.maximum(np.abs(log.speed) - log.limit, 0.0), nan=0.0)
    return max(0.0, 1.0 - float(over.sum()) * log.dt / (OVERSPEED * log.seconds))


@dataclass(frozen=True)
class ClosedLoopScore:
    """The score and its eight metrics."""

    score: float
    collisions: float
    drivable: float
    progressing: float
    direction: float
    progress: float
    ttc: float
    limit: float
    comfort: float


def closed_loop_score(log: EpisodeLog, expert_progress: float | None = None) -> ClosedLoopScore:
    """The score of an episode, 0 to 1.

    Args:
        log: of it.
        expert_progress: m along the route that the expert makes on the same problem in the same time.
    """
    made = progress(log, expert_progress)
    weighed = {
        "progress": made,
        "ttc": time_to_collision(log),
        "limit": speed_limit(log),
        "comfort": float(all(comfort.within(log).values())),
    }
    factors = {
        "collisions": collisions(log),
        "drivable": float(not (log.outside >= OUTSIDE).any()),
        "progressing": float(made >= LEAST_PROGRESS),
        "direction": direction(log),
    }
    mean = sum(WEIGHTS[name] * value for name, value in weighed.items()) / sum(WEIGHTS.values())
    return ClosedLoopScore(float(np.prod(list(factors.values()))) * mean, **factors, **weighed)
