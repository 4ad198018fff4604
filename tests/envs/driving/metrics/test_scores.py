import numpy as np
import pytest

from tiltyard.envs.driving.metrics.leaderboard import driving_score
from tiltyard.envs.driving.metrics.log import Event
from tiltyard.envs.driving.metrics.scores import SCORES, score, summary

from .logs import log, struck


def test_scores_are_asked_for_by_name_and_version() -> None:
    driven = log(events=[Event(kind="red_light", time=1.0)])
    assert set(SCORES) == {"carla-2.0", "carla-2.1", "nuplan-closed-loop"}
    assert score("carla-2.0", driven)["score"] == pytest.approx(70.0)
    assert score("carla-2.1", driven)["score"] == pytest.approx(100 / 1.4)
    assert score("carla-2.1", driven)["penalty"] == driving_score(driven, "carla-2.1").penalty
    assert score("nuplan-closed-loop", driven)["score"] == 1.0
    with pytest.raises(ValueError, match="carla-2"):
        score("carla", driven)


def test_a_summary_worked_by_hand() -> None:
    # 100 m with a car rear-ended; 50 m, hit from behind, respawned, then 50 m and hit on the side past a red light
    one = log(events=[struck(time=3.0, x=30.0)], ended="collision")
    x = np.r_[0.0:51.0, 0.0:51.0]
    events = [
        struck(time=5.0, x=50.0, side="rear"),
        Event(kind="respawn", time=5.1, life=1),
        struck(time=8.0, x=29.0, life=1, side="side", against_priority=True),
    ]
    two = log(x=x, progress=x, life=np.r_[np.zeros(51), np.ones(51)], events=events)
    found = summary([one, two])
    assert found["km"] == pytest.approx(0.2)
    assert found["collisions_per_km"] == pytest.approx(3 / 0.2)
    assert found["at_fault_per_km"] == pytest.approx(2 / 0.2)
    assert found["route_completion"] == pytest.approx(0.75)
    # one: 60 of 100; two: 50% of the route, and its two collisions are with the same car within 5 s: 30
    assert found["carla-2.0"] == pytest.approx((60 + 50 * 0.6) / 2)
    assert found["nuplan-closed-loop"] == pytest.approx((0.0 + (5 * 0.5 + 5 + 4 + 2) / 16) / 2)
    assert found["infractions_per_km.collision_vehicle"] == pytest.approx(2 / 0.15)
    assert found["imposed_braking.hardest"] == 0.0
    with pytest.raises(ValueError, match="at least one"):
        summary([])
