import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, build
from tiltyard.envs.driving.maps.graph import WALKING
from tiltyard.envs.driving.maps.procedural.intersection import intersection
from tiltyard.envs.driving.town.atlas import atlas


def test_maps_stand_one_after_the_other(road):
    cross = intersection(0, arms=4, lanes=1)
    maps = atlas([road, cross, road])
    shift, points = len(road), len(road.columns.x)
    assert maps.maps["lane"].tolist() == [0, shift, shift + len(cross)]
    for lane in range(len(cross)):
        one = maps.lanes[shift + lane]
        assert one["point"] - points == cross.columns.first[lane]
        assert (maps.next_lane[one["next"] : one["next_end"]] - shift).tolist() == cross.successors(lane).tolist()
        conflicts = maps.conflicts[one["conflict"] : one["conflict_end"]]
        assert (conflicts["lane"] - shift).tolist() == cross.conflicts(lane).tolist()
        stops = maps.stops[one["stop"] : one["stop_end"]]
        assert len(stops) == np.diff(cross.columns.stop_first)[lane]
    first = maps.maps[1]["grid"]
    mine = maps.grid_point[maps.grid_first[first] : maps.grid_first[first + 1]]
    assert (mine - points).tolist() == cross.columns.grid_point[: cross.columns.grid_first[1]].tolist()


def test_a_junction_is_one_zone_and_the_roads_are_none():
    cross = intersection(0, arms=4, lanes=1)
    lanes = atlas([cross]).lanes
    inside = np.array(["middle" in name for name in cross.lane_ids])
    crossing = inside & (np.diff(cross.columns.conflict_first) > 0)
    assert (lanes["zone"][crossing] == 0).all()
    assert (lanes["zone"][~inside] == -1).all()


def test_lanes_that_fork_are_siblings_until_they_are_apart():
    cross = intersection(0, arms=4, lanes=1)
    maps = atlas([cross])
    lane = next(i for i in range(len(cross)) if len(cross.successors(i)) > 1)
    one, other = cross.successors(lane)[:2]
    some = maps.siblings[maps.lanes[one]["sibling"] : maps.lanes[one]["sibling_end"]]
    assert other in some["lane"].tolist()
    clear = float(some["clear"][some["lane"].tolist().index(other)])
    points = cross.points(other)
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    away = np.hypot(*(points[:, None] - cross.points(one)[None]).transpose(2, 0, 1)).min(1)
    assert (away[s > clear] >= 2.6).all()
    assert away[s < clear - 3.0].max() < 2.7


def test_bends_limit_the_speed():
    # 200 m of radius at 2 m/s2: 20 m/s
    angle = np.linspace(0.0, 1.0, 101)
    graph = build("bend", [Lane("a", 200.0 * np.stack([np.cos(angle), np.sin(angle)], 1), 3.5, 30.0)])
    assert atlas([graph]).lanes["bend"][0] == pytest.approx(20.0, rel=0.02)


def test_a_map_without_a_lane_to_drive_on_is_refused(road):
    path = build("path", [Lane("a", [[0.0, 0.0], [10.0, 0.0]], 2.0, 2.0, kind=WALKING)])
    with pytest.raises(ValueError, match="map path has no lane to drive on"):
        atlas([road, path])
    with pytest.raises(ValueError, match="at least one map"):
        atlas([])
