"""A small Lanelet2 map read, and broken in many ways; of the packages' towns see test_foreign_maps."""

import re

import numpy as np
import pytest

from tiltyard.envs.driving.maps import lanelet2
from tiltyard.envs.driving.maps.build import Lane
from tiltyard.envs.driving.maps.document import MapError
from tiltyard.envs.driving.maps.graph import GIVE_WAY, SIGNAL
from tiltyard.envs.driving.maps.lanelets import primitives


def lanes_of(path: object) -> dict[str, Lane]:
    return {lane.id: lane for lane in lanelet2.describe(path).lanes}  # type: ignore[arg-type]


def test_lanes_neighbours_limits_and_rules(write) -> None:
    found = lanelet2.describe(write("small.osm"))
    lanes = {lane.id: lane for lane in found.lanes}
    assert {name: (list(lane.successors), lane.left, lane.right) for name, lane in lanes.items()} == {
        "10": (["12"], "11", ""),
        "11": ([], "", "10"),
        "12": ([], "", ""),
        "13": ([], "", ""),
    }
    limits = [lanes[name].limit for name in ("10", "11", "13")]
    np.testing.assert_allclose(limits, [50 / 3.6, 100 / 3.6, 20 * 0.44704])
    assert (lanes["12"].rank, lanes["13"].rank) == (1, 0)
    assert lanes["12"].junction == lanes["13"].junction != ""
    stops = [(stop.lane, round(stop.s), stop.kind, stop.signal) for stop in found.stops]
    assert stops == [("10", 48, SIGNAL, "30"), ("13", 0, GIVE_WAY, "")]
    assert [signal.id for signal in found.signals] == ["30"]
    assert len(found.crossings) == 1
    np.testing.assert_allclose(found.crossings[0].b[1] - found.crossings[0].a[1], 10.0, rtol=0.01)
    np.testing.assert_allclose(lanes["10"].width, 4.0, rtol=0.01)
    graph = found.graph(write("small.osm"))
    assert graph.conflicts(2).tolist() == [3]
    assert graph.columns.conflict_priority.tolist() == [1, -1]
    assert "20 s green" in graph.notes["warnings"][0]


def test_the_origin_is_where_it_is_asked_for(write) -> None:
    west = lanelet2.describe(write("small.osm"), origin=(0.0, 0.0)).lanes[0]
    np.testing.assert_allclose(np.asarray(west.middle)[0], [0.0, 2.0], atol=0.02)


def test_bounds_written_backwards_are_turned(write) -> None:
    path = write("small.osm", '<nd ref="1"/>\n<nd ref="2"/>', '<nd ref="2"/>\n<nd ref="1"/>')
    np.testing.assert_allclose(lanes_of(path)["10"].middle, lanes_of(write("small.osm"))["10"].middle)


def centred(first: int, last: int) -> tuple[str, str, str, str]:
    """A centerline of lanelet 10 from node to node."""
    member = '<member type="way" ref="120" role="centerline"/>'
    way = f'<way id="120"><nd ref="{first}"/><nd ref="{last}"/></way>\n<relation id="10" version="1">'
    return '<relation id="10" version="1">', way + member, '<tag k="none" v="0"/>', ""


def test_centrelines_against_their_bounds_tell_a_mirrored_map(write) -> None:
    assert not primitives(write("small.osm", *centred(1, 2)[:2])).mirrored
    mirrored = primitives(write("small.osm", *centred(2, 1)[:2]))
    assert mirrored.mirrored
    lanelet = mirrored.lanelets["10"]
    assert lanelet.middle[0, 0] > lanelet.middle[-1, 0]  # westwards, as the centerline says
    assert lanelet.left[0, 1] < lanelet.right[0, 1]  # the left bound lies to the left of that, to the south


def test_a_lane_that_may_be_gone_both_ways_is_two(write) -> None:
    lanes = lanes_of(write("small.osm", '<tag k="one_way" v="yes"/>', '<tag k="one_way" v="no"/>'))
    np.testing.assert_allclose(lanes["10:back"].middle, np.asarray(lanes["10"].middle)[::-1])


@pytest.mark.parametrize(
    ("text", "value"),
    [("50", 50 / 3.6), ("50 km/h", 50 / 3.6), ("30 mph", 13.4112), ("13.9 m/s", 13.9), ("de274-30", 30 / 3.6)],
)
def test_speeds(write, text: str, value: float) -> None:
    assert lanes_of(write("small.osm", "20 mph", text))["13"].limit == pytest.approx(value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('<nd ref="1"/>', '<nd ref="999"/>', r"line 23: way 101 goes through node 999, which does not exist"),
        ('ref="102" role="left"', 'ref="998" role="left"', r"line 87: the left of lanelet 10 is way 998"),
        ('role="right"', 'role="wrong"', r"line 86: lanelet 10 has 0 ways as its right, not one"),
        ('lat="0.000000000000"', 'lat="north"', r"line 2: lat of <node> is 'north', which is no number"),
        ('lat="0.000000000000"', 'lat="123"', r"line 2: the place 123.0, 0.0 is no latitude"),
        ('lat="0.000000000000"', 'lat="inf"', r"line 2: lat of <node> is 'inf', which is not finite"),
        ('lat="0.000000000000"', "", r"line 2: <node> has no attribute 'lat'"),
        ("20 mph", "fast", r"the speed 'fast' is not written as 50"),
        ("20 mph", "0", r"the speed '0' is not over 0"),
        ('ref="30" role="reg', 'ref="77" role="reg', r"lanelet 10 has the regulatory element 77, which does not exist"),
        ('ref="108" role="ref_line"', 'ref="997" role="ref_line"', r"element 30 is way 997, which does not exist"),
        ('ref="13" role="yield"', 'ref="996" role="yield"', r"is about lanelet 996, which does not exist"),
        ("<osm ", "<net ", r"line \d+: mismatched tag"),
        ("</osm>", "", r"no element found"),
    ],
)
def test_damage_is_told_with_its_line(write, old: str, new: str, sentence: str) -> None:
    with pytest.raises(MapError, match=r"^small\.osm, line \d+: ") as error:
        lanelet2.read(write("small.osm", old, new))
    assert re.search(sentence, str(error.value)), str(error.value)


def test_a_map_without_lanelets_is_told(tmp_path) -> None:
    path = tmp_path / "a.osm"
    path.write_text('<osm>\n<node id="1" lat="0" lon="0"/></osm>')
    with pytest.raises(MapError, match="line 1: the map has no relation of type lanelet"):
        lanelet2.read(path)
    path.write_text("<osm/>")
    with pytest.raises(MapError, match="line 1: the map has no nodes"):
        lanelet2.read(path)
