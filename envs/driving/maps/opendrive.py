"""OpenDRIVE maps (``.xodr``, 1.1 to 1.8): the lanes of roads and junctions, with their links, rules and crossings.

A lane is named ``road.section.lane``, such as ``12.0.-1``. Read: reference lines, lane offsets, sections, widths and
borders, links, junctions and their priorities, speeds, road marks (lane changes), elevation, traffic lights, stop and
give-way signs, crosswalks. Not read: superelevation, lane heights, railways, surfaces, virtual and direct junctions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import opendrive_rules
from .build import FARTHEST, Lane
from .description import F64, Description, ranks
from .document import Element
from .document import read as read_xml
from .graph import CYCLING, DRIVING, SHOULDER, WALKING
from .reference_line import Cubics, ReferenceLine, cubics, reference_line

KINDS = {
    "driving": DRIVING, "entry": DRIVING, "exit": DRIVING, "onRamp": DRIVING, "offRamp": DRIVING, "bus": DRIVING,
    "connectingRamp": DRIVING, "slipLane": DRIVING, "bidirectional": DRIVING, "mwyEntry": DRIVING, "mwyExit": DRIVING,
    "taxi": DRIVING, "HOV": DRIVING, "shoulder": SHOULDER, "stop": SHOULDER, "biking": CYCLING, "sidewalk": WALKING,
    "walking": WALKING,
}  # fmt: skip
"""Kinds of lanes by OpenDRIVE's types; lanes of others (parking, border, rail, ...) are left out."""
UNITS = {"": 1.0, "m/s": 1.0, "km/h": 1 / 3.6, "mph": 0.44704}
LIMIT = 50 / 3.6
"""m/s where the file says none."""
STEP = 1.0
"""m between points of a lane, at most; they are also at most 0.1 rad apart."""
NARROWEST = 0.1
"""m: lanes that are never wider are left out."""
CHANGES = {
    "broken": "both", "broken broken": "both", "solid broken": "increase", "broken solid": "decrease", "none": "both",
    "botts dots": "both",
}  # fmt: skip
"""Lane changes that a road mark allows, by its type, towards higher or lower lane ids; others allow none."""

Key = tuple[str, int, int]
"""Road, number of the section, lane."""


@dataclass
class Section:
    """A lane section from ``begin`` to ``end`` (m of its road)."""

    begin: float
    end: float
    lanes: dict[int, Element]


@dataclass
class Road:
    """A road: its element, reference line, lane offset, height and sections."""

    id: str
    element: Element
    line: ReferenceLine
    offset: Cubics
    height: Cubics
    sections: list[Section]
    junction: str

    @property
    def on_the_left(self) -> bool:
        """Whether its traffic keeps to the left."""
        return self.element.get("rule") == "LHT"

    def forward(self, lane: int) -> bool:
        """Whether a lane's traffic goes towards higher s."""
        return (lane < 0) != self.on_the_left

    def section_at(self, s: float) -> int:
        """The number of the section at ``s``."""
        return max(i for i, one in enumerate(self.sections) if one.begin <= s or i == 0)

    def middle(self, key: Key, s: F64) -> tuple[F64, F64]:
        """The middle of a lane (``[n, 2]``) and its width at each ``s``."""
        section = self.sections[key[1]]
        inner, width = _across(section, key[2], s)
        t = self.offset(s) + (1 if key[2] > 0 else -1) * (inner + width / 2)
        return self.place(s, t), width

    def place(self, s: F64, t: F64) -> F64:
        """Points ``t`` m to the left of the reference line, ``[n, 2]``."""
        x, y, heading = self.line.at(s)
        return np.stack([x - t * np.sin(heading), y + t * np.cos(heading)], axis=1)


def describe(path: Path) -> Description:
    """What is in a file.

    Raises:
        MapError: the file is broken; the sentence names the line.
    """
    root = read_xml(path, "OpenDRIVE")
    roads: dict[str, Road] = {}
    for element in root.all("road"):
        if element.text("id") in roads:
            element.fail(f"there are two roads {element.text('id')}")
        roads[element.text("id")] = _road(element)
    if not roads:
        root.fail("the map has no roads")
    result = Description(path.name.removesuffix(".gz").removesuffix(".xodr"), [])
    keys: dict[Key, Lane] = {}
    for road in roads.values():
        for key in _keys(road):
            if (lane := _lane(road, key)) is not None:
                keys[key] = lane
    _connect(root, roads, keys)
    for key, lane in keys.items():
        lane.left, lane.right = (_beside(roads[key[0]], key, keys, side) for side in ("left", "right"))
    result.lanes = list(keys.values())
    if not result.lanes:
        root.fail("the map has no lanes for vehicles, cycles or pedestrians")
    _rank(root, roads, keys)
    opendrive_rules.add(result, root, roads, keys)
    return result


def name_of(key: Key) -> str:
    """A lane's id in the graph."""
    return f"{key[0]}.{key[1]}.{key[2]}"


def _road(element: Element) -> Road:
    length = element.number("length")
    if length <= 0.0:
        element.fail(f"road {element.get('id')} is {length} m long")
    if length > FARTHEST:  # refused before its reference line is sampled, which takes memory
        element.fail(f"road {element.get('id')} is {length:g} m long, over {FARTHEST:g} m")
    lanes = element.one("lanes")
    begins = sorted(lanes.all("laneSection"), key=lambda one: one.number("s"))
    if not begins:
        lanes.fail(f"road {element.get('id')} has no laneSection")
    ends = [one.number("s") for one in begins[1:]] + [length]
    sections = [Section(one.number("s"), end, _lanes(one)) for one, end in zip(begins, ends, strict=True)]
    junction = element.get("junction", "-1")
    return Road(
        element.text("id"),
        element,
        reference_line(element),
        cubics(list(lanes.all("laneOffset")), "s"),
        cubics(list(element.all("elevationProfile", "elevation")), "s"),
        sections,
        "" if junction == "-1" else junction,
    )


def _lanes(section: Element) -> dict[int, Element]:
    """The lanes of a section but the centre, by their numbers, which must be 1, 2, ... and -1, -2, ..."""
    lanes: dict[int, Element] = {}
    for side, sign in (("left", 1), ("right", -1)):
        found = {whole(one, "id"): one for one in section.all(side, "lane")}
        if sorted(abs(number) for number in found) != list(range(1, len(found) + 1)) or any(
            number * sign < 0 for number in found
        ):
            section.fail(f"the lanes on the {side} are {sorted(found)}, not {sign}, {2 * sign}, ...")
        lanes.update(found)
    return lanes


def whole(element: Element, name: str) -> int:
    """A whole number in an attribute, which must be there."""
    value = element.number(name)
    if value != int(value) or abs(value) > 1e6:
        element.fail(f"{name} of <{element.tag}> is {value:g}, which is no whole number")
    return int(value)


def _across(section: Section, lane: int, s: F64) -> tuple[F64, F64]:
    """How far a lane's inner border is from the reference line (with its offset), and its width, in m."""
    sign, inner = (1 if lane > 0 else -1), np.zeros(len(s))
    for number in range(1, abs(lane) + 1):
        element = section.lanes[number * sign]
        widths, borders = list(element.all("width")), list(element.all("border"))
        if widths or not borders:
            width = cubics(widths, "sOffset", section.begin)(s)
        else:
            width = np.abs(cubics(borders, "sOffset", section.begin)(s)) - inner
        if number < abs(lane):
            inner = inner + width
    return inner, width


def _keys(road: Road) -> Iterator[Key]:
    for i, section in enumerate(road.sections):
        if section.end - section.begin > 1e-6:
            for number, lane in section.lanes.items():
                if lane.get("type") in KINDS:
                    yield road.id, i, number


def _lane(road: Road, key: Key) -> Lane | None:
    """The lane, without its links; ``None`` if it has no width."""
    section, element = road.sections[key[1]], road.sections[key[1]].lanes[key[2]]
    s = road.line.samples(section.begin, section.end, STEP)
    points, width = road.middle(key, s)
    if width.max() < NARROWEST:
        return None
    kept = np.concatenate([[True], np.hypot(*np.diff(points, axis=0).T) > 1e-3])
    if kept.sum() < 2:
        return None
    order = slice(None) if road.forward(key[2]) else slice(None, None, -1)
    return Lane(
        name_of(key),
        points[kept][order],
        np.maximum(width, 0.01)[kept][order],
        _limit(road, section, element),
        kind=KINDS[element.get("type")],
        road=f"{road.id}.{key[1]}.{'+' if road.forward(key[2]) else '-'}",
        junction=road.junction,
        height=road.height(s)[kept][order],
    )


def _limit(road: Road, section: Section, lane: Element) -> float:
    """m/s, in the middle of the section."""
    middle = (section.begin + section.end) / 2
    told = [one for one in lane.all("speed") if section.begin + one.number("sOffset", 0.0) <= middle]
    types = [one for one in road.element.all("type") if one.number("s") <= middle]
    told = told[-1:] or [one for one in types[-1:] for one in one.all("speed")]
    if not told or told[0].get("max") in ("no limit", "undefined"):
        return 130 / 3.6 if told and told[0].get("max") == "no limit" else LIMIT
    if told[0].get("unit") not in UNITS:
        told[0].fail(f"the unit {told[0].get('unit')!r} of a speed is none of m/s, km/h, mph")
    value = told[0].number("max") * UNITS[told[0].get("unit")]
    return value if value > 0.0 else LIMIT


def _beside(road: Road, key: Key, keys: Mapping[Key, Lane], side: str) -> str:
    """The lane on a side that may be changed into, or ``""``."""
    lanes, number = road.sections[key[1]].lanes, key[2]
    step = 1 if (side == "left") == road.forward(number) else -1
    other = (key[0], key[1], number + step)
    if other not in keys or (other[2] > 0) != (number > 0) or keys[other].kind != keys[key].kind:
        return ""
    inner = min(number, other[2], key=abs)
    return keys[other].id if _may_change(lanes[inner], "increase" if step > 0 else "decrease") else ""


def _may_change(lane: Element, way: str) -> bool:
    marks = list(lane.all("roadMark"))
    allowed = {one.get("laneChange") or CHANGES.get(one.get("type"), "none") for one in marks}
    return not marks or bool(allowed & {"both", way})


Side = tuple[Key, bool]
"""A lane and whether its end at the higher s is meant."""


def _connect(root: Element, roads: Mapping[str, Road], keys: Mapping[Key, Lane]) -> None:
    """Sets the lanes' successors from all links."""
    joins: dict[tuple[Side, Side], None] = {}
    for road in roads.values():
        for one, other in _links(road, roads):
            joins[one, other] = None
    for one, other in _connections(root, roads):
        joins[one, other] = None
    for a, b in [pair for join in joins for pair in (join, join[::-1])]:
        if a[0] in keys and b[0] in keys and a[0] != b[0]:
            leaves = roads[a[0][0]].forward(a[0][2]) == a[1]
            enters = roads[b[0][0]].forward(b[0][2]) != b[1]
            follower = keys[b[0]].id
            if leaves and enters and follower not in keys[a[0]].successors:
                keys[a[0]].successors = [*keys[a[0]].successors, follower]


def _links(road: Road, roads: Mapping[str, Road]) -> Iterator[tuple[Side, Side]]:
    """Ends of a road's lanes that its own links join with others."""
    last = len(road.sections) - 1
    for i, section in enumerate(road.sections):
        for number, lane in section.lanes.items():
            for tag, high in (("predecessor", False), ("successor", True)):
                if (link := lane.first("link", tag)) is None:
                    continue
                target: tuple[Road, int, bool] | None = (road, i + (1 if high else -1), not high)
                if i == (last if high else 0):
                    target = _beyond(road, tag, roads)
                if target is not None:
                    other, at, end = target
                    yield ((road.id, i, number), high), ((other.id, at, _there(link, "id", other, at)), end)


def _there(link: Element, name: str, road: Road, section: int) -> int:
    """The lane of a section that a link names, which must be there."""
    number = whole(link, name)
    if number not in road.sections[section].lanes:
        link.fail(f"it links to lane {number} of section {section} of road {road.id}, which does not exist")
    return number


def _beyond(road: Road, tag: str, roads: Mapping[str, Road]) -> tuple[Road, int, bool] | None:
    """The road, section and end that a road's link leads to; ``None`` for a junction or no link."""
    link = road.element.first("link", tag)
    if link is None or link.get("elementType") != "road":
        return None
    if link.text("elementId") not in roads:
        link.fail(f"road {road.id} is linked to road {link.text('elementId')}, which does not exist")
    other = roads[link.text("elementId")]
    if link.text("contactPoint") not in ("start", "end"):
        link.fail(f"the contactPoint {link.text('contactPoint')!r} is neither start nor end")
    end = link.text("contactPoint") == "end"
    return other, len(other.sections) - 1 if end else 0, end


def _connections(root: Element, roads: Mapping[str, Road]) -> Iterator[tuple[Side, Side]]:
    """Ends of lanes that junctions join."""
    for connection in root.all("junction", "connection"):
        if "connectingRoad" not in connection.attributes:
            continue
        for name in ("incomingRoad", "connectingRoad"):
            if connection.text(name) not in roads:
                connection.fail(f"its {name} is {connection.text(name)}, which does not exist")
        incoming, via = roads[connection.text("incomingRoad")], roads[connection.text("connectingRoad")]
        high = connection.text("contactPoint") == "end"
        back = _beyond(via, "successor" if high else "predecessor", roads)
        if back is None or back[0].id != incoming.id:
            continue
        at = len(via.sections) - 1 if high else 0
        for link in connection.all("laneLink"):
            one = (incoming.id, back[1], _there(link, "from", incoming, back[1]))
            yield (one, back[2]), ((via.id, at, _there(link, "to", via, at)), high)


def _rank(root: Element, roads: Mapping[str, Road], keys: Mapping[Key, Lane]) -> None:
    """Ranks of the connecting roads that a junction's priorities name."""
    pairs = []
    for one in root.all("junction", "priority"):
        for name in (one.get("high"), one.get("low")):
            if name and name not in roads:
                one.fail(f"a priority is about road {name}, which does not exist")
        if one.get("high") and one.get("low"):
            pairs.append((one.get("low"), one.get("high")))
    rank = ranks(pairs)
    for key, lane in keys.items():
        lane.rank = rank.get(key[0], 0)
