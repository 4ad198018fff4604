"""A small SUMO net read, and broken in many ways; against libsumo's lights see test_foreign_maps."""

import re

import numpy as np
import pytest

from tiltyard.envs.driving.maps import sumo
from tiltyard.envs.driving.maps.document import MapError
from tiltyard.envs.driving.maps.graph import AMBER, GIVE_WAY, GREEN, RED, SIGNAL, STOP_SIGN
from tiltyard.envs.driving.maps.load import load


def test_lanes_neighbours_ranks_and_crossings(write) -> None:
    found = sumo.describe(write("small.net.xml"))
    lanes = {lane.id: lane for lane in found.lanes}
    assert {name: list(lane.successors) for name, lane in lanes.items() if lane.successors} == {
        ":J_0_0": ["e_0"], ":J_1_0": ["e_1"], ":J_2_0": [":J_4_0"], ":J_4_0": ["n_0"], ":J_3_0": ["n_0"],
        "w_0": [":J_0_0"], "w_1": [":J_1_0", ":J_2_0"], "s_0": [":J_3_0"],
    }  # fmt: skip
    assert (lanes["w_0"].left, lanes["w_0"].right, lanes["w_1"].right) == ("w_1", "", "w_0")
    ranks = {name: lanes[name].rank for name in (":J_0_0", ":J_1_0", ":J_2_0", ":J_3_0", ":J_4_0")}
    assert ranks == {":J_0_0": 2, ":J_1_0": 2, ":J_2_0": 0, ":J_3_0": 1, ":J_4_0": 0}
    assert {lane.junction for name, lane in lanes.items() if name.startswith(":")} == {"J"}
    crossing = found.crossings[0]
    assert (crossing.a, crossing.b, crossing.width, crossing.signal) == ((-8.0, -4.0), (-8.0, 4.0), 4.0, "J:4")
    assert len(found.graph(write("small.net.xml"))) == 11


def test_programs_of_the_lights(write) -> None:
    found = sumo.describe(write("small.net.xml"))
    signals = {one.id: (one.seconds, one.colours, one.offset) for one in found.signals}
    assert signals["J:0"] == ([30.0, 4.0, 30.0], [GREEN, AMBER, RED], 59.0)  # begins 5 s late in its 64 s
    assert signals["J:2"] == ([30.0, 14.0, 20.0], [RED, GREEN, RED], 59.0)
    assert signals["J:4"] == ([44.0, 20.0], [GREEN, RED], 59.0)  # of a crossing: what vehicles see
    stops = [(one.lane, one.s, one.kind, one.signal) for one in found.stops]
    assert stops == [
        ("w_0", 90.0, SIGNAL, "J:0"),
        (":J_1_0", 0.0, SIGNAL, "J:1"),  # two lights of one lane: the lines are behind its end
        (":J_2_0", 0.0, SIGNAL, "J:2"),
        ("s_0", 90.0, SIGNAL, "J:3"),
    ]


@pytest.mark.parametrize(("state", "kind"), [("m", GIVE_WAY), ("s", STOP_SIGN), ("w", STOP_SIGN), ("M", None)])
def test_signs_where_there_is_no_light(write, state: str, kind: int | None) -> None:
    path = write(
        "small.net.xml", 'via=":J_3_0" tl="J" linkIndex="3" dir="s" state="o"', f'via=":J_3_0" dir="s" state="{state}"'
    )
    assert [one.kind for one in sumo.describe(path).stops if one.lane == "s_0"] == ([] if kind is None else [kind])


def test_curves_are_drawn_where_a_net_has_no_lanes_within_junctions(tmp_path) -> None:
    path = tmp_path / "a.net.xml"
    path.write_text("""<net><edge id="a"><lane id="a_0" index="0" speed="9" length="9" shape="0,0 10,0"/></edge>
<edge id="b"><lane id="b_0" index="0" speed="8" length="9" shape="20,10 20,20"/></edge>
<connection from="a" to="b" fromLane="0" toLane="0" dir="l" state="M"/></net>""")
    lanes = {lane.id: lane for lane in sumo.describe(path).lanes}
    drawn = lanes[":a_0->b_0"]
    assert (lanes["a_0"].successors, drawn.successors, drawn.limit) == ([":a_0->b_0"], ["b_0"], 8.0)
    np.testing.assert_allclose(np.asarray(drawn.middle)[[0, -1]], [[10, 0], [20, 10]])


def test_lights_of_trains_are_no_lights(write) -> None:
    path = write("small.net.xml", 'type="traffic_light"', 'type="rail_crossing"')
    assert sumo.describe(path).signals == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('speed="13.89"', 'speed="quick"', "speed of <lane> is 'quick', which is no number"),
        ('speed="13.89"', 'speed="0"', "lane w_0 has a speed of 0.0 m/s"),
        ("-100,-1.6 -10,-1.6", "-100,-1.6 -10", "the shape of lane w_0 has '-10', which is no x,y"),
        ("-100,-1.6 -10,-1.6", "-100,-1.6 -10,west", "shape of lane w_0 is 'west', which is no number"),
        ("-100,-1.6 -10,-1.6", "-100,-1.6 inf,0", "which is not finite"),
        ("-100,-1.6 -10,-1.6", "-100,-1.6", "has 1 points, not two or more"),
        ('id="w_1"', 'id="w_0"', "there are two lanes w_0"),
        ('from="s" to="n"', 'from="s" to="m"', "a connection names lane m_0, which does not exist"),
        ('via=":J_3_0"', 'via=":J_9_0"', "a connection names lane :J_9_0, which does not exist"),
        ('tlLogic id="J"', 'tlLogic id="K"', "a connection is ruled by the traffic light J, which has no tlLogic"),
        ('state="GGrrr"', 'state="GG"', "the state 'GG' has no letter for link 2"),
        ('state="GGrrr"', 'state="GGxrr"', "the state 'GGxrr' has the unknown letter 'x'"),
        ('duration="30"', 'duration="0"', "a phase lasts 0.0 s"),
        ('response="00011"', 'response="0001111111"', "request 3 answers '0001111111' among 5 links"),
        ('response="00011"', 'response="00x11"', "request 3 answers '00x11'"),
        ('linkIndex="0"', "", "<connection> has no attribute 'linkIndex'"),
        ("</net>", "", "no element found"),
    ],
)  # fmt: skip
def test_damage_is_told_with_its_line(write, old: str, new: str, sentence: str) -> None:
    with pytest.raises(MapError, match=r"^small\.net\.xml, line \d+: ") as error:
        load(write("small.net.xml", old, new))
    assert re.search(sentence, str(error.value)), str(error.value)


def test_a_net_without_lanes_is_told(tmp_path) -> None:
    path = tmp_path / "a.net.xml"
    path.write_text('<net>\n<edge id="a"><lane id="a_0" index="0" allow="rail" shape="0,0 1,0"/></edge></net>')
    with pytest.raises(MapError, match="line 1: the net has no lanes for vehicles"):
        load(path)


def test_a_net_without_lanes_within_its_junctions(tmp_path) -> None:
    edges = "".join(
        f'<edge id="{name}"><lane id="{name}_0" index="0" speed="15" length="100" shape="{shape}"/></edge>'
        for name, shape in (("a", "0,0 100,0"), ("b", "100,0 200,0"))
    )
    junction = '<junction id="n" incLanes="a_0" intLanes=""><request index="0" response="0" foes="0"/></junction>'
    path = tmp_path / "bare.net.xml"
    path.write_text(
        f'<net>{edges}{junction}<connection from="a" to="b" fromLane="0" toLane="0" dir="s" state="M"/></net>'
    )
    assert {lane.id: list(lane.successors) for lane in sumo.describe(path).lanes} == {"a_0": ["b_0"], "b_0": []}
