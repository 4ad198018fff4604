import numpy as np
import pytest

from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.driver import forked, free, hold_back
from tiltyard.envs.driving.town.state import AGENT, BRAKING, NONE, SIM_DT, SUBSTEPS, allocate


def test_stops_before_a_line_from_any_speed(road, place):
    batch, _ = place(road, (0, 50.0, 0.0))
    car = batch.agents[0][0]
    for v in (2.0, 8.0, 15.0):
        away, speed = v * v / 3.0 + 5.0, v
        for _ in range(400):
            car["v"] = speed
            a = hold_back(car, away)
            speed_next = max(0.0, speed + 0.1 * a)
            away -= 0.05 * (speed + speed_next)
            speed = speed_next
        assert speed < 0.05
        assert 0.0 <= away < 1.0


def test_who_brakes_gently_does_not_creep_over_a_line(road, place):
    """A lorry's braking fades as it slows down, which ended a centimetre beyond the line."""
    batch, _ = place(road, (0, 50.0, 0.0))
    car = batch.agents[0][0]
    car["accel"], car["brake"], car["headway"], car["desired"] = 0.8, 1.4, 1.5, 25.0  # the gentlest that is drawn
    nearest = 9.0
    for v in np.linspace(3.0, 8.0, 21):
        away, speed, a = 12.0, float(v), 0.0
        for tick in range(300):
            car["v"] = speed
            if tick % SUBSTEPS == 0:
                a = hold_back(car, away)
            after = max(0.0, speed + SIM_DT * a)
            away -= 0.5 * SIM_DT * (speed + after)
            speed = after
        assert speed == pytest.approx(0.0, abs=0.02)
        nearest = min(nearest, away)
    assert 0.0 <= nearest < 0.4


def test_free_road_by_hand():
    assert free(7.5, 15.0, 1.6) == pytest.approx(1.5)  # 1.6 (1 - 1 / 16)
    assert free(30.0, 15.0, 1.6) == -2.5  # 1.6 (1 - 16) is far harder than anybody brakes for a limit


def test_the_leader_is_seen_across_the_end_of_a_lane(road, place, run):
    names = dict(zip(road.lane_ids, range(4), strict=True))
    batch, maps = place(road, (names["right"], 280.0, 10.0), (names["right-end"], 12.0, 10.0))
    run(batch, maps, 1)
    # 300 - 280 + 12 - 4.8 m from bumper to bumper
    assert batch.agents["leader"].tolist() == [[1, NONE]]
    assert batch.agents["gap"][0, 0] == pytest.approx(27.2, abs=0.01)


def test_follows_at_idms_equilibrium_gap(road, place, run):
    batch, maps = place(road, (0, 10.0, 5.0), (0, 30.0, 5.0))
    batch.agents["desired"][0, 1] = 6.0
    run(batch, maps, 350)
    # At 6 m/s with v0 20 m/s: (2 + 9) / sqrt(1 - 0.3^4) = 11.05 m
    assert batch.agents["gap"][0, 0] == pytest.approx(11.05, abs=0.15)


def test_overtakes_a_slow_leader_and_keeps_to_one_lane_after_it(road, place, run):
    right, left = road.lane_ids.index("right"), road.lane_ids.index("left")
    batch, maps = place(road, (right, 20.0, 10.0), (right, 50.0, 4.0))
    batch.agents["patience"][0, 0], batch.agents["desired"][0, 1] = 0.0, 4.0
    seen = set()
    for _ in range(80):
        run(batch, maps, 1)
        car = batch.agents[0][0]
        seen.add((int(car["lane"]), int(car["beside"])))
    assert {(right, NONE), (right, left), (left, right), (left, NONE)} <= seen
    assert car["d"] == 0.0
    assert car["y"] == pytest.approx(3.5, abs=0.01)
    assert not batch.agents["collisions"].any()


def test_nobody_changes_into_a_lane_where_a_fast_one_comes(road, place, run):
    right, left = road.lane_ids.index("right"), road.lane_ids.index("left")
    batch, maps = place(road, (right, 40.0, 8.0), (right, 60.0, 4.0), (left, 28.0, 19.0))
    batch.agents["patience"][0, 0], batch.agents["desired"][0, 1] = 0.0, 4.0
    run(batch, maps, 1)
    assert batch.agents["beside"][0, 0] == NONE


def test_no_change_into_a_lane_beside_a_vehicle_that_is_still_on_it_on_the_way_out():
    """The first metres of an exit's taper lie on the lane from which it forks."""
    maps = atlas([make("highway", 9)])
    taper = int(np.flatnonzero((maps.siblings["clear"] > 20.0) & (maps.siblings["clear"] < 100.0))[0])
    lane = int(np.flatnonzero((maps.lanes["sibling"] <= taper) & (taper < maps.lanes["sibling_end"]))[0])
    clear, cars = float(maps.siblings["clear"][taper]), allocate(1, 2).agents[0]
    cars["lane"], cars["length"] = NONE, 4.8
    cars["lane"][1], cars["s"][1] = maps.siblings["lane"][taper], clear - 5.0
    assert forked(cars, maps, lane, clear - 5.0, 4.0)
    assert forked(cars, maps, lane, clear + 3.0, 4.0)  # 1.6 m from bumper to bumper
    assert not forked(cars, maps, lane, clear + 4.0, 4.0)  # 2.6 m
    cars["s"][1] = clear + 12.0
    assert not forked(cars, maps, lane, clear + 12.0, 4.0)  # the lanes are apart


def test_who_is_cut_up_records_the_braking_that_was_imposed(road, place, run):
    right, left = road.lane_ids.index("right"), road.lane_ids.index("left")
    batch, maps = place(road, (right, 20.0, 15.0), (left, 32.0, 5.0))
    run(batch, maps, SUBSTEPS)
    batch.agents["beside"][0, 1], batch.agents["beside_s"][0, 1] = right, batch.agents["s"][0, 1]
    run(batch, maps, SUBSTEPS)
    events = batch.events[0, : batch.worlds["events"][0]]
    assert [(int(e["kind"]), int(e["agent"]), int(e["other"])) for e in events] == [(BRAKING, 1, 0)]
    assert batch.agents["imposed"][0, 1] == events["value"][0] > 4.0


def test_records_are_whole_words():
    assert AGENT.itemsize % 4 == 0
    assert AGENT["x"] == np.float32
