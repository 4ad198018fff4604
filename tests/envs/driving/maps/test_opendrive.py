"""A small OpenDRIVE map read, and broken in many ways; against CARLA's own reader see test_foreign_maps."""

import re

import numpy as np
import pytest

from tiltyard.envs.driving.maps import opendrive
from tiltyard.envs.driving.maps.document import MapError
from tiltyard.envs.driving.maps.graph import CYCLING, SIGNAL, STOP_SIGN
from tiltyard.envs.driving.maps.load import load


def test_lanes_links_and_rules(write) -> None:
    found = opendrive.describe(write("small.xodr"))
    lanes = {lane.id: lane for lane in found.lanes}
    assert {name: (sorted(lane.successors), lane.left, lane.right) for name, lane in lanes.items()} == {
        "1.0.1": ([], "", "1.0.2"),
        "1.0.2": ([], "1.0.1", ""),
        "1.0.-1": (["2.0.-1", "4.0.-1"], "", "1.0.-2"),
        "1.0.-2": (["2.0.-2"], "1.0.-1", ""),
        "2.0.-1": (["2.1.-1"], "", "2.0.-2"),
        "2.0.-2": ([], "2.0.-1", ""),
        "2.1.-1": ([], "", ""),
        "4.0.-1": ([], "", ""),
    }
    assert (lanes["2.0.-1"].rank, lanes["4.0.-1"].rank) == (1, 0)
    assert lanes["4.0.-1"].junction == "3"
    stops = [(one.lane, round(one.s, 1), one.kind, one.signal) for one in found.stops]
    assert stops[2] == ("1.0.1", 83.2, STOP_SIGN, "")  # the sign is 5 m from the begin of the road, the lane's end
    assert [stop[::3] for stop in stops[:2]] == [("1.0.-1", "8"), ("1.0.-2", "8")]
    assert {stop[2] for stop in stops[:2]} == {SIGNAL}
    assert (found.crossings[0].a, found.crossings[0].b, found.crossings[0].width) == ((20.0, -7.0), (20.0, 7.0), 3.0)


def test_middles_and_widths_by_hand(write) -> None:
    lanes = {lane.id: lane for lane in opendrive.describe(write("small.xodr")).lanes}
    outer, left = np.asarray(lanes["1.0.-2"].middle), np.asarray(lanes["1.0.1"].middle)
    np.testing.assert_allclose(outer[0], [0, -5.0])  # 3.5 m and half of 3 m to the right
    np.testing.assert_allclose(np.asarray(lanes["1.0.-2"].width)[[0, -1]], [3.0, 3.9])
    np.testing.assert_allclose(left[-1], [0, 1.75], atol=1e-9)  # against the road's direction
    radius = np.hypot(left[0, 0] - 50, left[0, 1] - 40)
    np.testing.assert_allclose(radius, 40 - 1.75)


def test_traffic_on_the_left_goes_the_other_way(write) -> None:
    lanes = {
        lane.id: lane for lane in opendrive.describe(write("small.xodr", '<road name=""', '<road rule="LHT"')).lanes
    }
    np.testing.assert_allclose(np.asarray(lanes["1.0.1"].middle)[0], [0, 1.75], atol=1e-9)
    assert lanes["1.0.-1"].successors == ()


def test_speeds_and_kinds(write) -> None:
    told = '<lane id="-2" type="biking" level="false"><speed sOffset="0" max="20" unit="mph"/>'
    lanes = {
        lane.id: lane
        for lane in opendrive.describe(write("small.xodr", '<lane id="-2" type="driving" level="false">', told)).lanes
    }
    assert lanes["1.0.-2"].limit == pytest.approx(20 * 0.44704)
    assert lanes["1.0.-2"].kind == CYCLING
    assert lanes["1.0.-1"].right == ""


def test_a_solid_mark_forbids_lane_changes(write) -> None:
    inner = '<roadMark sOffset="0" type="broken"/></lane><lane id="-2"'
    lanes = {
        lane.id: lane for lane in opendrive.describe(write("small.xodr", inner, inner.replace("broken", "solid"))).lanes
    }
    assert (lanes["1.0.-1"].right, lanes["1.0.-2"].left) == ("", "")
    lanes = {
        lane.id: lane
        for lane in opendrive.describe(write("small.xodr", inner, inner.replace("broken", "solid broken"))).lanes
    }
    assert (lanes["1.0.-1"].right, lanes["1.0.-2"].left) == ("", "1.0.-1")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('length="90"', 'length="long"', "length of <road> is 'long', which is no number"),
        ('length="90"', 'length="-1"', "road 1 is -1.0 m long"),
        ('length="90"', 'length="1e9"', r"road 1 is 1e\+09 m long, over 100000 m"),
        ('hdg="0"', 'hdg="nan"', "hdg of <geometry> is 'nan', which is not finite"),
        ('curvature="0.025"', "", "<arc> has no attribute 'curvature'"),
        ("<line/>", "<wave/>", "a geometry is no line, arc, spiral, poly3 or paramPoly3"),
        ('elementId="1" contactPoint="end"', 'elementId="66" contactPoint="end"', "linked to road 66, which does not"),
        ('contactPoint="end"/>', 'contactPoint="middle"/>', "the contactPoint 'middle' is neither start nor end"),
        ('connectingRoad="4"', 'connectingRoad="44"', "its connectingRoad is 44, which does not exist"),
        ('<laneLink from="-1"', '<laneLink from="-7"', "it links to lane -7 of section 0 of road 1, which does"),
        ('<lane id="-2"', '<lane id="-5"', r"the lanes on the right are \[-5, -1\]"),
        ('<lane id="-2"', '<lane id="-1.5"', "id of <lane> is -1.5, which is no whole number"),
        ('id="2" junction', 'id="1" junction', "there are two roads 1"),
        ('s="85"', 's="850"', "a signal stands at s = 850.0 of road 1, which is 90.0 m long"),
        ('high="2"', 'high="20"', "a priority is about road 20, which does not exist"),
        ("<lanes>", "<Lanes>", "mismatched tag"),
        ("</OpenDRIVE>", "", "no element found"),
        ('a="3" b="0.01"', 'a="3" b=""', "b of <width> is '', which is no number"),
    ],
)  # fmt: skip
def test_damage_is_told_with_its_line(write, old: str, new: str, sentence: str) -> None:
    with pytest.raises(MapError, match=r"^small\.xodr, line \d+: ") as error:
        load(write("small.xodr", old, new))
    assert re.search(sentence, str(error.value)), str(error.value)


def test_a_map_without_lanes_is_told(write, tmp_path) -> None:
    path = tmp_path / "a.xodr"
    path.write_text("<OpenDRIVE>\n</OpenDRIVE>")
    with pytest.raises(MapError, match="line 1: the map has no roads"):
        load(path)
    text = write("small.xodr").read_text().replace('type="driving"', 'type="rail"')
    path.write_text(text)
    with pytest.raises(MapError, match="line 2: the map has no lanes for vehicles"):
        load(path)
