"""Logs worked by hand."""

from typing import Any

import numpy as np

from tiltyard.envs.driving.metrics.log import UNITS, EpisodeLog, Event


def log(*, steps: int = 100, **given: Any) -> EpisodeLog:
    """10 m/s straight ahead at steps of 0.1 s in a lane with a limit of 15 m/s and nobody about, but for ``given``."""
    n = len(given["x"]) if "x" in given else steps + 1
    columns: dict[str, Any] = {name: np.zeros(n) for name in UNITS}
    x = np.asarray(given.get("x", np.arange(n, dtype=float)))
    columns |= {
        "x": x,
        "progress": x,
        "speed": np.full(n, 10.0),
        "ahead": np.r_[0.0, np.ones(n - 1)],
        "limit": np.full(n, 15.0),
        "ttc": np.full(n, np.inf),
        "follower_accel": np.full(n, np.nan),
        "follower_without": np.full(n, np.nan),
        "traffic_speed": np.full(n, np.nan),
        "one_lane": np.ones(n, bool),
        "off_route": np.zeros(n, bool),
        "life": np.zeros(n, int),
        "route_length": 100.0,
        "dt": 0.1,
    }
    return EpisodeLog(**{**columns, **given})


def struck(**given: Any) -> Event:
    """A moving car, hit with the front bumper in one lane."""
    facts: dict[str, Any] = {
        "kind": "collision",
        "time": 1.0,
        "other": "vehicle",
        "other_id": 7,
        "side": "front",
        "ego_speed": 10.0,
        "other_speed": 5.0,
        "one_lane": True,
        "against_priority": False,
    }
    return Event(**{**facts, **given})
