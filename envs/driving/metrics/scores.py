"""All scores by name and version, and what a set of episodes amounts to.

    score("carla-2.1", log)           # {"score": 61.2, "completion": 0.9, "penalty": 0.68}
    summary(logs)                     # means of all scores, infractions and at-fault collisions per km, harm behind

A name says the version: scores of two versions are never averaged or compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from .... import unknown
from .fault import at_fault
from .harm import harm
from .leaderboard import driving_score, per_km
from .log import EpisodeLog
from .nuplan import at_fault as at_fault_collisions
from .nuplan import closed_loop_score

SCORES: Mapping[str, Callable[[EpisodeLog], dict[str, float]]] = {
    "carla-2.0": lambda log: asdict(driving_score(log, "carla-2.0")),
    "carla-2.1": lambda log: asdict(driving_score(log, "carla-2.1")),
    "nuplan-closed-loop": lambda log: asdict(closed_loop_score(log)),
}
"""By name: a score of an episode and its parts."""


def score(name: str, log: EpisodeLog) -> dict[str, float]:
    """A score of an episode, under ``"score"``, and its parts.

    Raises:
        ValueError: there is no score of that name.
    """
    if name not in SCORES:
        raise ValueError(unknown("score", name, SCORES))
    return SCORES[name](log)


def summary(logs: Sequence[EpisodeLog]) -> dict[str, float]:
    """Of a set of episodes: mean scores, and what happened for each km driven in all lives.

    ``at_fault_per_km`` and ``collisions_per_km`` count every collision with somebody new, by the stricter rule of
    :mod:`.fault`; ``infractions_per_km.<kind>`` and ``outside_route_lanes`` are as the CARLA leaderboard counts.

    Raises:
        ValueError: no log.
    """
    if not logs:
        raise ValueError("a summary needs at least one log")
    km = max(sum(log.driven for log in logs) / 1000.0, 0.001)
    means = {name: float(np.mean([score(name, log)["score"] for log in logs])) for name in SCORES}
    counted = {f"infractions_per_km.{kind}": value for kind, value in per_km(logs).items()}
    outside = counted.pop("infractions_per_km.outside_route_lanes")
    return {
        **means,
        "route_completion": float(np.mean([score("carla-2.0", log)["completion"] for log in logs])),
        "km": km,
        "collisions_per_km": sum(len(at_fault_collisions(log, lambda event: True)) for log in logs) / km,
        "at_fault_per_km": sum(len(at_fault_collisions(log, at_fault)) for log in logs) / km,
        **counted,
        "outside_route_lanes_km": outside,
        **{f"imposed_braking.{name}": value for name, value in asdict(harm(logs)).items()},
    }
