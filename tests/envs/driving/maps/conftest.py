"""Small maps of the three formats, written as text."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Write = Callable[..., Path]


def osm_text(
    nodes: Mapping[int, tuple[float, float]], ways: Mapping[int, tuple], relations: Mapping[int, tuple]
) -> str:
    """OSM XML: nodes in degrees, ways as (nodes, tags), relations as (members, tags); one element a line."""
    lines = ['<osm version="0.6">']
    lines += [
        f'<node id="{name}" lat="{lat:.12f}" lon="{lon:.12f}" version="1"/>' for name, (lat, lon) in nodes.items()
    ]
    for name, (refs, tags) in ways.items():
        lines.append(f'<way id="{name}" version="1">')
        lines += [f'<nd ref="{ref}"/>' for ref in refs] + _tags(tags) + ["</way>"]
    for name, (members, tags) in relations.items():
        lines.append(f'<relation id="{name}" version="1">')
        lines += [f'<member type="{kind}" ref="{ref}" role="{role}"/>' for kind, ref, role in members]
        lines += [*_tags(tags), "</relation>"]
    return "\n".join([*lines, "</osm>"])


def _tags(tags: Mapping[str, str]) -> list[str]:
    return [f'<tag k="{key}" v="{value}"/>' for key, value in tags.items()]


METRE = 1 / 111_319.49  # degrees, about
DASHED = {"type": "line_thin", "subtype": "dashed"}
SOLID = {"type": "line_thin", "subtype": "solid"}


def lanelets() -> str:
    """Two lanes eastwards (10 right, 11 left, 50 m), 12 goes on from 10 (50 m) and 13 crosses it northwards.

    10 has a traffic light with a stop line at x = 48; 13 gives way to 12. 14 is a crosswalk over 10 and 11 at x = 25.
    """
    places = {
        1: (0, 0), 2: (50, 0), 3: (0, 4), 4: (50, 4), 5: (0, 8), 6: (50, 8), 7: (100, 0), 8: (100, 4),
        9: (73, -20), 10: (73, 20), 11: (77, -20), 12: (77, 20), 13: (48, -1), 14: (48, 5), 15: (48, 6), 16: (48, 7),
        17: (23, -1), 18: (23, 9), 19: (27, -1), 20: (27, 9),
    }  # fmt: skip
    nodes = {name: (y * METRE, x * METRE) for name, (x, y) in places.items()}
    ways = {
        101: ((1, 2), SOLID), 102: ((3, 4), DASHED), 103: ((5, 6), SOLID), 104: ((2, 7), SOLID), 105: ((4, 8), SOLID),
        106: ((9, 10), SOLID), 107: ((11, 12), SOLID), 108: ((13, 14), {"type": "stop_line"}),
        109: ((15, 16), {"type": "traffic_light"}), 110: ((17, 18), SOLID), 111: ((19, 20), SOLID),
    }  # fmt: skip
    road = {"type": "lanelet", "subtype": "road", "location": "urban", "one_way": "yes"}
    rule = {"type": "regulatory_element"}
    relations = {
        10: ([("way", 102, "left"), ("way", 101, "right"), ("relation", 30, "regulatory_element")], road),
        11: ([("way", 103, "left"), ("way", 102, "right")], {**road, "location": "nonurban"}),
        12: ([("way", 105, "left"), ("way", 104, "right"), ("relation", 31, "regulatory_element")],
             {**road, "turn_direction": "straight"}),
        13: ([("way", 106, "left"), ("way", 107, "right"), ("relation", 31, "regulatory_element")],
             {**road, "speed_limit": "20 mph", "turn_direction": "straight"}),
        14: ([("way", 110, "left"), ("way", 111, "right")], {**road, "subtype": "crosswalk"}),
        30: ([("way", 109, "refers"), ("way", 108, "ref_line")], {**rule, "subtype": "traffic_light"}),
        31: ([("relation", 12, "right_of_way"), ("relation", 13, "yield")], {**rule, "subtype": "right_of_way"}),
    }  # fmt: skip
    return osm_text(nodes, ways, relations)


def _road(
    name: int, geometry: str, length: float, lanes: str, more: str = "", link: str = "", junction: int = -1
) -> str:
    return f"""<road name="" length="{length}" id="{name}" junction="{junction}">
<link>{link}</link>
<planView>{geometry}</planView>
<lanes>{lanes}</lanes>
{more}
</road>"""


def _geometry(s: float, x: float, y: float, heading: float, length: float, shape: str) -> str:
    return f'<geometry s="{s}" x="{x}" y="{y}" hdg="{heading}" length="{length}"><{shape}/></geometry>'


def _lane(number: int, kind: str = "driving", links: str = "", width: str = 'a="3.5" b="0" c="0" d="0"') -> str:
    return (
        f'<lane id="{number}" type="{kind}" level="false"><link>{links}</link><width sOffset="0" {width}/>'
        f'<roadMark sOffset="0" type="broken"/></lane>'
    )


BEFORE = '<predecessor id="-1"/>'
CENTRE = '<center><lane id="0" type="none" level="false"/></center>'


def drive() -> str:
    """Road 1 (50 m, then an arc of 40 m radius to the left), a spiral road 2, and a branch 4 through junction 3.

    Road 1 has two lanes each way, a stop sign, a traffic light and a crosswalk; lane -2 of road 1 widens.
    """
    both = (
        f'<laneSection s="0"><left>{_lane(2)}{_lane(1)}</left>{CENTRE}<right>'
        + _lane(-1, links='<successor id="-1"/>')
        + _lane(-2, width='a="3" b="0.01" c="0" d="0"', links='<successor id="-2"/>')
        + "</right></laneSection>"
    )
    ahead = (
        f'<laneSection s="0">{CENTRE}<right>'
        + _lane(-1, links=BEFORE + '<successor id="-1"/>')
        + _lane(-2, links='<predecessor id="-2"/>')
        + '</right></laneSection><laneSection s="30">'
        + f"{CENTRE}<right>{_lane(-1, links=BEFORE)}</right></laneSection>"
    )
    via = f'<laneSection s="0">{CENTRE}<right>{_lane(-1, links=BEFORE)}</right></laneSection>'
    first = _geometry(0, 0, 0, 0, 50, "line") + _geometry(50, 50, 0, 0, 40, 'arc curvature="0.025"')
    spiral = _geometry(0, 83.6588, 18.3879, 1.0, 60, 'spiral curvStart="0.025" curvEnd="-0.01"')
    poly = _geometry(
        0,
        83.6588,
        18.3879,
        1.0,
        30,
        'paramPoly3 aU="0" bU="30" cU="0" dU="0" aV="0" bV="0" cV="5" dV="0" pRange="normalized"',
    )
    furniture = """<objects><object id="7" type="crosswalk" s="20" t="0" hdg="0" length="3" width="14"><outline>
<cornerLocal u="-1.5" v="-7" z="0"/><cornerLocal u="1.5" v="-7" z="0"/>
<cornerLocal u="1.5" v="7" z="0"/><cornerLocal u="-1.5" v="7" z="0"/>
</outline></object></objects>
<signals><signal id="8" s="85" t="-4" dynamic="yes" orientation="+" type="1000001" subtype="-1"/>
<signal id="9" s="5" t="4" dynamic="no" orientation="-" type="206" subtype="-1">
<validity fromLane="1" toLane="1"/></signal></signals>"""
    start = '<predecessor elementType="road" elementId="1" contactPoint="end"/>'
    return "\n".join(
        [
            '<?xml version="1.0"?>',
            "<OpenDRIVE>",
            '<header revMajor="1" revMinor="4" name="" version="1.00" north="0" south="0" east="0" west="0"/>',
            _road(1, first, 90, both, furniture, '<successor elementType="junction" elementId="3"/>'),
            _road(2, spiral, 60, ahead, "", start, 3),
            _road(4, poly, 30, via, "", start, 3),
            """<junction name="" id="3">
<connection id="0" incomingRoad="1" connectingRoad="2" contactPoint="start">
<laneLink from="-1" to="-1"/><laneLink from="-2" to="-2"/></connection>
<connection id="1" incomingRoad="1" connectingRoad="4" contactPoint="start"><laneLink from="-1" to="-1"/></connection>
<priority high="2" low="4"/>
</junction>""",
            "</OpenDRIVE>",
        ]
    )


def net() -> str:
    """West to east (2 lanes) across south to north at J, with a light; the left turn of lane w_1 has its own."""
    return """<?xml version="1.0"?>
<net version="1.20">
<edge id=":J_0" function="internal"><lane id=":J_0_0" index="0" speed="10" length="20" shape="-10,-1.6 10,-1.6"/></edge>
<edge id=":J_1" function="internal"><lane id=":J_1_0" index="0" speed="10" length="20" shape="-10,1.6 10,1.6"/></edge>
<edge id=":J_2" function="internal"><lane id=":J_2_0" index="0" speed="7" length="9" shape="-10,1.6 -4,2 0,6"/></edge>
<edge id=":J_4" function="internal"><lane id=":J_4_0" index="0" speed="7" length="7" shape="0,6 1.6,10"/></edge>
<edge id=":J_3" function="internal"><lane id=":J_3_0" index="0" speed="8" length="20" shape="1.6,-10 1.6,10"/></edge>
<edge id=":J_c0" function="crossing" crossingEdges="w">
<lane id=":J_c0_0" index="0" allow="pedestrian" speed="1" length="8" width="4" shape="-8,-4 -8,4"/></edge>
<edge id=":J_w0" function="walkingarea">
<lane id=":J_w0_0" index="0" allow="pedestrian" speed="1" length="1" shape="-8,4 -8,6"/></edge>
<edge id="w" from="W" to="J"><lane id="w_0" index="0" speed="13.89" length="90" shape="-100,-1.6 -10,-1.6"/>
<lane id="w_1" index="1" speed="13.89" length="90" shape="-100,1.6 -10,1.6"/></edge>
<edge id="e" from="J" to="E">
<lane id="e_0" index="0" disallow="pedestrian" speed="13.89" length="90" shape="10,-1.6 100,-1.6"/>
<lane id="e_1" index="1" speed="13.89" length="90" shape="10,1.6 100,1.6"/></edge>
<edge id="s" from="S" to="J"><lane id="s_0" index="0" speed="8" length="90" shape="1.6,-100 1.6,-10"/></edge>
<edge id="n" from="J" to="N"><lane id="n_0" index="0" speed="8" length="90" shape="1.6,10 1.6,100"/>
<lane id="n_1" index="1" allow="tram" speed="8" length="90" shape="-1.6,10 -1.6,100"/></edge>
<tlLogic id="J" type="static" programID="0" offset="5">
<phase duration="30" state="GGrrr"/>
<phase duration="4" state="yygrr"/>
<phase duration="10" state="rrGrr"/>
<phase duration="20" state="rrrGG"/>
</tlLogic>
<junction id="J" type="traffic_light" x="0" y="0" incLanes="w_0 w_1 s_0" 
 intLanes=":J_0_0 :J_1_0 :J_4_0 :J_3_0 :J_c0_0" shape="-10,-10 10,10">
<request index="0" response="00000" foes="01000" cont="0"/>
<request index="1" response="00000" foes="01000" cont="0"/>
<request index="2" response="01000" foes="01000" cont="1"/>
<request index="3" response="00011" foes="00111" cont="0"/>
<request index="4" response="00000" foes="00000" cont="0"/>
</junction>
<connection from="w" to="e" fromLane="0" toLane="0" via=":J_0_0" tl="J" linkIndex="0" dir="s" state="O"/>
<connection from="w" to="e" fromLane="1" toLane="1" via=":J_1_0" tl="J" linkIndex="1" dir="s" state="O"/>
<connection from="w" to="n" fromLane="1" toLane="0" via=":J_2_0" tl="J" linkIndex="2" dir="l" state="o"/>
<connection from="s" to="n" fromLane="0" toLane="0" via=":J_3_0" tl="J" linkIndex="3" dir="s" state="o"/>
<connection from=":J_0" to="e" fromLane="0" toLane="0" dir="s" state="M"/>
<connection from=":J_1" to="e" fromLane="0" toLane="1" dir="s" state="M"/>
<connection from=":J_2" to="n" fromLane="0" toLane="0" via=":J_4_0" dir="l" state="m"/>
<connection from=":J_4" to="n" fromLane="0" toLane="0" dir="l" state="M"/>
<connection from=":J_3" to="n" fromLane="0" toLane="0" dir="s" state="M"/>
<connection from=":J_w0" to=":J_c0" fromLane="0" toLane="0" tl="J" linkIndex="4" dir="s" state="M"/>
</net>"""


TEXTS = {"small.osm": lanelets, "small.xodr": drive, "small.net.xml": net}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write("small.osm", old, new, ...)``: the file's path, with parts of its text replaced, which are there."""

    def written(name: str, *changes: str) -> Path:
        text = TEXTS[name]()
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / name
        path.write_text(text)
        return path

    return written
