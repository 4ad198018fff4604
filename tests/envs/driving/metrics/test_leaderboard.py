import numpy as np
import pytest

from tiltyard.envs.driving.metrics.leaderboard import (
    collisions,
    driving_score,
    infractions,
    outside_metres,
    per_km,
    slow_quarters,
)
from tiltyard.envs.driving.metrics.log import Event

from .logs import log, struck


def test_without_infractions_the_score_is_the_route_completion() -> None:
    half = log(steps=50)  # 50 of 100 m
    assert driving_score(half, "carla-2.0").score == 50.0
    assert driving_score(half, "carla-2.1").score == 50.0
    assert driving_score(log(steps=99, ended="completed"), "carla-2.1").score == 100.0  # CARLA ends at 99 of 100 m


def test_each_version_charges_by_its_own_formula() -> None:
    events = [
        struck(time=1.0, other="pedestrian", other_id=1, x=10.0),
        Event(kind="red_light", time=2.0),
        Event(kind="red_light", time=3.0),
        struck(time=5.0, other="vehicle", other_id=2, x=50.0),
        Event(kind="stop_sign", time=8.0),
    ]
    driven = log(events=events)
    # 2.0: 0.5 * 0.7^2 * 0.6 * 0.8 = 0.1176
    assert driving_score(driven, "carla-2.0").penalty == pytest.approx(0.1176)
    # 2.1: 1 / (1 + 1.0 + 2 * 0.4 + 0.7 + 0.25) = 1 / 3.75
    assert driving_score(driven, "carla-2.1").penalty == pytest.approx(1 / 3.75)
    assert driving_score(driven, "carla-2.1").score == pytest.approx(100 / 3.75)


@pytest.mark.parametrize(
    ("kind", "factor", "summand"),
    [("emergency", 0.7, 0.4), ("scenario_timeout", 0.7, 0.4), ("stop_sign", 0.8, 0.25), ("blocked", 1.0, 0.0)],
)
def test_single_infractions(kind: str, factor: float, summand: float) -> None:
    driven = log(events=[Event(kind=kind, time=1.0)])
    assert driving_score(driven, "carla-2.0").penalty == pytest.approx(factor)
    assert driving_score(driven, "carla-2.1").penalty == pytest.approx(1 / (1 + summand))


def test_a_cyclist_is_a_vehicle_and_a_wall_is_layout() -> None:
    driven = log(
        events=[struck(time=1.0, other="cyclist", x=10.0), struck(time=5.0, other="static", other_id=-1, x=50.0)]
    )
    assert infractions(driven) == {"collision_vehicle": 1, "collision_static": 1}
    assert driving_score(driven, "carla-2.0").penalty == pytest.approx(0.6 * 0.65)
    assert driving_score(driven, "carla-2.1").penalty == pytest.approx(1 / (1 + 0.7 + 0.6))


def test_the_share_outside_the_routes_lanes_is_lost_in_both() -> None:
    outside = np.zeros(101, bool)
    outside[11:36] = True  # 25 of 100 m
    driven = log(off_route=outside)
    assert outside_metres(driven) == (25.0, 100.0)
    assert driving_score(driven, "carla-2.0").score == pytest.approx(75.0)
    assert driving_score(driven, "carla-2.1").score == pytest.approx(75.0)
    both = log(off_route=outside, events=[Event(kind="red_light", time=1.0)])
    assert driving_score(both, "carla-2.1").score == pytest.approx(75.0 / 1.4)


def test_contacts_that_are_one_collision_count_once() -> None:
    def at(state: int, other: int, **given: object) -> Event:
        return struck(time=0.1 * state, x=float(state), other_id=other, **given)

    # at 10 m/s: the same car again after 4 s, somebody else within 5 m, the same car after more than 5 s; standing
    driven = log(events=[at(10, 1), at(14, 2), at(50, 1), at(65, 1), at(90, 3, ego_speed=0.05)])
    assert [event.time for event in collisions(driven)] == pytest.approx([1.0, 6.5])
    # somebody else further than 5 m away is another collision, and the ego may come back to where the first was
    circle = np.r_[0.0:20.0, 20.0:-1.0:-1.0]
    back = log(x=circle, progress=np.zeros(41), events=[at(10, 1), struck(time=3.0, x=10.0, other_id=2)])
    assert len(collisions(back)) == 2


def test_slowness_is_charged_by_quarters_of_the_route() -> None:
    traffic = np.full(101, 10.0)
    traffic[27:52] = 20.0  # the ego drives 10: half the traffic's speed in the second quarter
    driven = log(traffic_speed=traffic)
    # quarters end at the first states beyond 25 m: 26, 52, 78; the second holds states 26 to 51, one of them at 10
    mean = (10.0 + 25 * 20.0) / 26
    assert slow_quarters(driven) == [round(1000.0 / mean, 2)]
    lacking = 1 - round(1000.0 / mean, 2) / 100
    assert driving_score(driven, "carla-2.0").penalty == pytest.approx(1 - 0.3 * lacking)
    assert driving_score(driven, "carla-2.1").penalty == pytest.approx(1 / (1 + 0.4 * lacking))
    assert slow_quarters(log()) == []  # nobody about
    assert len(slow_quarters(log(traffic_speed=np.full(101, 20.0)))) == 4
    assert len(slow_quarters(log(steps=90, traffic_speed=np.full(91, 20.0)))) == 3  # 90% is no fourth quarter


def test_infractions_per_km_are_of_all_routes_together() -> None:
    one = log(events=[Event(kind="red_light", time=1.0), struck(time=2.0, x=20.0)], ended="completed")
    other = log(steps=50, off_route=np.ones(51, bool), ended="timeout", events=[Event(kind="timeout", time=5.0)])
    found = per_km([one, other])  # 150 m
    assert found["red_light"] == pytest.approx(1 / 0.15)
    assert found["collision_vehicle"] == pytest.approx(1 / 0.15)
    assert found["timeout"] == pytest.approx(1 / 0.15)
    assert found["stop_sign"] == 0.0
    assert found["outside_route_lanes"] == pytest.approx(0.05)
    with pytest.raises(ValueError, match="at least one"):
        per_km([])


def test_a_respawn_hides_no_collision() -> None:
    x = np.r_[0.0:51.0, 60.0:101.0]
    life = np.r_[np.zeros(51), np.ones(41)]
    events = [struck(time=5.0, x=50.0), struck(time=6.0, x=69.0, other_id=8, life=1)]
    result = driving_score(log(x=x, progress=x, life=life, events=events), "carla-2.0")
    assert (result.completion, result.penalty) == (0.5, pytest.approx(0.36))
