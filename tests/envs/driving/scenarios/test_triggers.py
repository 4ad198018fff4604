"""Triggers as data: what the rows say fits together, and the places that are found on maps."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, StopLine, build
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.maps.geometry import place
from tiltyard.envs.driving.maps.graph import GIVE_WAY, NONE, LaneGraph
from tiltyard.envs.driving.scenarios.sites import Site, rule, sites, turned
from tiltyard.envs.driving.scenarios.triggers import TRIGGERS, Fit, Trigger

ROLES_OF_PLACES = {
    "road": {"own", "left", "right", "oncoming"},
    "junction": {"own", "after", "opposite", "crossing-left", "crossing-right"},
    "crossing": {"own", "strip"},
}


@pytest.fixture(scope="module")
def maps() -> list[LaneGraph]:
    return [make("town", 0), make("highway", 0, ramps=1), make("intersection", 0, lanes=1)]


@pytest.mark.parametrize("name", TRIGGERS)
def test_places_are_found_and_have_every_actors_lane(name: str, maps: list[LaneGraph]) -> None:
    trigger = TRIGGERS[name]
    found = [(graph, site) for graph in maps for site in sites(graph, trigger)]
    assert found
    for graph, site in found:
        assert {actor.on for actor in trigger.actors} <= set(site.roles), graph.lane_ids[site.lane]
        for lane, s in site.roles.values():
            assert -0.01 <= s <= graph.columns.length[lane] + 0.01


@pytest.mark.parametrize("name", TRIGGERS)
def test_rows_name_lanes_that_their_places_have(name: str) -> None:
    fit = TRIGGERS[name].fit
    offered = ROLES_OF_PLACES[fit.where]
    for actor in TRIGGERS[name].actors:
        assert actor.on in offered
        if actor.on in ("left", "right", "oncoming"):
            assert fit.beside == actor.on
        if actor.on in ("opposite", "crossing-left", "crossing-right"):
            assert fit.meets == actor.on


def test_some_triggers_are_held_out() -> None:
    assert len(TRIGGERS) >= 20
    assert 4 <= sum(trigger.split == "test" for trigger in TRIGGERS.values()) <= 8


def road(fit: Fit, graph: LaneGraph) -> list[Site]:
    return sites(graph, Trigger("braking", fit, ()))


def test_places_of_a_road_by_hand() -> None:
    """A road of 120 m with a line at 110 m, two lanes, and an oncoming one."""
    lanes = [
        Lane("left", [(0.0, 4.0), (120.0, 4.0)], 4.0, 10.0),
        Lane("right", [(0.0, 0.0), (120.0, 0.0)], 4.0, 10.0),
        Lane("oncoming", [(120.0, 8.0), (0.0, 8.0)], 4.0, 10.0),
    ]
    graph = build("road", lanes, stops=[StopLine("right", 110.0, GIVE_WAY)])
    assert [(site.lane, site.s) for site in road(Fit("road", 40.0, 20.0), graph)] == [
        *((0, 40.0), (0, 90.0)),
        *((1, 40.0), (1, 90.0)),
        *((2, 40.0), (2, 90.0)),
    ]
    assert [site.s for site in road(Fit("road", 40.0, 25.0), graph) if site.lane == 1] == [40.0]
    assert [site.lane for site in road(Fit("road", 60.0, 20.0, beside="left"), graph)] == [1]
    one, other = road(Fit("road", 45.0, 30.0, beside="oncoming"), graph)
    assert (one.lane, one.roles["oncoming"]) == (0, (2, pytest.approx(75.0)))
    assert (other.lane, other.roles["oncoming"]) == (2, (0, pytest.approx(75.0)))
    assert not road(Fit("road", 10.0, 0.0, limits=(11.0, 20.0)), graph)


def test_opposite_traffic_of_a_left_turn_comes_head_on(maps: list[LaneGraph]) -> None:
    graph = make("intersection", 0, lanes=1)
    c = graph.columns
    found = sites(graph, TRIGGERS["unprotected-left"])
    assert len(found) == 4
    for site in found:
        other, s = site.roles["opposite"]
        assert turned(c, site.lane) > 1.0
        assert abs(turned(c, other)) < 0.6
        assert rule(c, site.lane) == "signal"
        assert np.cos(c.heading[c.first[other]] - c.heading[c.first[site.lane]]) < -0.9


def test_who_comes_from_the_left_is_on_the_left() -> None:
    graph = make("intersection", 0, lanes=1)
    c = graph.columns
    for site in sites(graph, TRIGGERS["red-light-runner"]):
        other, _ = site.roles["crossing-left"]
        x, y, heading = place(c, site.lane, 0.0, 0.0)
        ox, oy, _ = place(c, other, 0.0, 0.0)
        assert np.cos(heading) * (oy - y) - np.sin(heading) * (ox - x) > 0.0


def test_maps_without_the_place_have_no_site() -> None:
    graph = make("racetrack", 0)
    assert sites(graph, TRIGGERS["unprotected-left"]) == []
    assert sites(graph, TRIGGERS["pedestrian-crossing"]) == []
    assert all(site.crossing == NONE for site in sites(graph, TRIGGERS["hard-brake"]))
