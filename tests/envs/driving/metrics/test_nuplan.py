from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.driving.metrics.log import Event
from tiltyard.envs.driving.metrics.nuplan import closed_loop_score

from .logs import log, struck


def test_a_flawless_episode_scores_1() -> None:
    assert astuple(closed_loop_score(log())) == (1.0,) * 9


@pytest.mark.parametrize(
    ("given", "score", "part", "value"),
    [
        # 40 of 100 m: (5 * 0.4 + 5 + 4 + 2) / 16
        ({"steps": 40}, 13 / 16, "progress", 0.4),
        ({"steps": 19}, 0.0, "progressing", 0.0),
        # 2.23 m/s over the limit in 50 of 101 states over 10 s: 1 - 50 * 0.1 / 10
        ({"limit": [7.77] * 50 + [15.0] * 51}, (5 + 5 + 4 * 0.5 + 2) / 16, "limit", 0.5),
        ({"limit": [7.77] * 50 + [np.nan] * 51}, (5 + 5 + 4 * 0.5 + 2) / 16, "limit", 0.5),
        ({"ttc": [0.95] + [np.inf] * 100}, 11 / 16, "ttc", 0.0),
        ({"ttc": [0.96] + [np.inf] * 100}, 1.0, "ttc", 1.0),
        ({"accel": np.full(101, 3.0)}, 14 / 16, "comfort", 0.0),
        ({"outside": [0.0] * 50 + [0.29] + [0.0] * 50}, 1.0, "drivable", 1.0),
        ({"outside": [0.0] * 50 + [0.30] + [0.0] * 50}, 0.0, "drivable", 0.0),
        # a collision at fault costs the time to collision as well
        ({"events": [struck()]}, 0.0, "collisions", 0.0),
        ({"events": [struck(other="static")]}, 0.5 * 11 / 16, "collisions", 0.5),
        ({"events": [struck(other="static"), struck(other="static", other_id=8)]}, 0.0, "collisions", 0.0),
        ({"events": [struck(other="static")] * 2}, 0.5 * 11 / 16, "collisions", 0.5),  # the same wall twice
        ({"events": [struck(side="rear")]}, 1.0, "collisions", 1.0),
        ({"events": [struck(side="rear"), struck(time=2.0)]}, 1.0, "collisions", 1.0),  # its first contact decides
        ({"events": [Event(kind="red_light", time=1.0)]}, 1.0, "collisions", 1.0),  # nuPlan does not look at lights
    ],
)
def test_each_metric_by_itself(given: dict[str, Any], score: float, part: str, value: float) -> None:
    result = closed_loop_score(log(**given))
    assert result.score == pytest.approx(score)
    assert getattr(result, part) == pytest.approx(value)


@pytest.mark.parametrize(("against", "value"), [(1.99, 1.0), (2.01, 0.5), (5.99, 0.5), (6.01, 0.0)])
def test_driving_against_the_lane_within_a_second(against: float, value: float) -> None:
    # as in the authors' code, eleven steps of 0.1 s are summed
    ahead = np.ones(101)
    ahead[0], ahead[40:51] = 0.0, -against / 11.0
    assert closed_loop_score(log(ahead=ahead)).direction == value


def test_progress_is_measured_by_the_experts() -> None:
    assert closed_loop_score(log(steps=40), expert_progress=80.0).progress == 0.5
    assert closed_loop_score(log(steps=40), expert_progress=20.0).progress == 1.0
    stands = log(progress=np.zeros(101), speed=np.zeros(101))
    assert closed_loop_score(stands, expert_progress=1.0).progress == 1.0  # neither moved
    assert closed_loop_score(log(progress=-0.03 * np.arange(101)), expert_progress=1.0).progress == 0.0


def test_a_collision_in_a_later_life_counts_and_its_metres_do_not() -> None:
    x = np.r_[0.0:51.0, 60.0:110.0]
    life = np.r_[np.zeros(51), np.ones(50)]
    result = closed_loop_score(log(x=x, progress=x, life=life, events=[struck(time=8.0, life=1)]))
    assert (result.progress, result.collisions) == (0.5, 0.0)
