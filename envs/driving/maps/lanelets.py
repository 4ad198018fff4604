"""Lanelet2's primitives from OSM XML: points in metres, ways, lanelets with bounds, and regulatory elements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .description import F64, along, cleaned, nearest
from .document import Element, read
from .projection import utm, zone_of


@dataclass
class Way:
    """A line: a lanelet's bound, a stop line, a light or a sign."""

    element: Element
    nodes: tuple[str, ...]
    line: F64  # [n, 2] m
    height: F64  # [n] m
    tags: dict[str, str]


@dataclass
class Lanelet:
    """A lane between two bounds.

    Attributes:
        id: of the relation.
        element: of the relation.
        tags: of the relation.
        left, right: bounds in the direction of travel, ``[n, 2]`` m.
        left_way, right_way: ids of the ways that they are of.
        begin, end: ids of the nodes at its left and right begin, and at its left and right end.
        middle: ``[n, 2]`` m: the file's centerline, else half-way between the bounds.
        width: at each point of the middle, m.
        height: at each point of the middle, m.
        rules: ids of its regulatory elements.
        forth: whether the centerline runs as the bounds' roles say; ``None``: there is none.
    """

    id: str
    element: Element
    tags: dict[str, str]
    left: F64
    right: F64
    left_way: str
    right_way: str
    begin: tuple[str, str]
    end: tuple[str, str]
    middle: F64
    width: F64
    height: F64
    rules: list[str]
    forth: bool | None = None


@dataclass
class Rule:
    """A regulatory element: ids of its members by role."""

    id: str
    element: Element
    tags: dict[str, str]
    ways: dict[str, list[str]] = field(default_factory=dict)
    lanelets: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Primitives:
    """All of a file, in its order."""

    ways: dict[str, Way]
    lanelets: dict[str, Lanelet]
    rules: dict[str, Rule]
    mirrored: bool


def primitives(path: Path, origin: tuple[float, float] | None = None, mirrored: bool | None = None) -> Primitives:
    """What a file holds, in a right-handed plane.

    Args:
        path: of the OSM XML file.
        origin: latitude and longitude (degrees) that become (0, 0); ``None``: the middle of all points.
        mirrored: whether the file's y runs to the right of x, as in CARLA; ``None``: if most centerlines say so, which
            then run against the direction that their bounds give them.

    Raises:
        MapError: the file is broken; the sentence names the line.
    """
    root = read(path, "osm")
    if root.first("node") is None:
        root.fail("the map has no nodes")
    if mirrored is None:
        told = [lanelet.forth for lanelet in _assembled(root, origin, False).lanelets.values()]
        mirrored = told.count(False) > told.count(True)
    return _assembled(root, origin, mirrored)


def _assembled(root: Element, origin: tuple[float, float] | None, mirrored: bool) -> Primitives:
    places = _places(root, origin)
    if mirrored:
        places = {one: (x, -y, height) for one, (x, y, height) in places.items()}
    ways = {way.text("id"): _way(way, places) for way in root.all("way")}
    lanelets, rules = {}, {}
    for relation in root.all("relation"):
        tags, name = tags_of(relation), relation.text("id")
        if tags.get("type") == "lanelet":
            lanelets[name] = _lanelet(relation, name, tags, ways)
        elif tags.get("type") == "regulatory_element":
            rules[name] = _rule(relation, name, tags)
    if not lanelets:
        root.fail("the map has no relation of type lanelet")
    return Primitives(ways, lanelets, rules, mirrored)


def tags_of(element: Element) -> dict[str, str]:
    """Its tags by key."""
    return {tag.text("k"): tag.text("v") for tag in element.all("tag")}


def _places(root: Element, origin: tuple[float, float] | None) -> dict[str, tuple[float, float, float]]:
    """x, y and height of each node in m: what its ``local_x``, ``local_y`` say if all have them, else UTM."""
    nodes = list(root.all("node"))
    tags = [tags_of(node) for node in nodes]
    rows = np.zeros((len(nodes), 3))
    local = all("local_x" in one and "local_y" in one for one in tags)
    for row, node, one in zip(rows, nodes, tags, strict=True):
        if local:
            row[:2] = [node.parse(one[name], f"{name} of node {node.get('id')}") for name in ("local_x", "local_y")]
        else:
            row[:2] = node.number("lat"), node.number("lon")
            if not (abs(row[0]) < 84.0 and abs(row[1]) <= 180.0):
                node.fail(f"the place {row[0]}, {row[1]} is no latitude (below 84) and longitude (to 180)")
        row[2] = node.parse(one["ele"], f"ele of node {node.get('id')}") if "ele" in one else 0.0
    if not local:
        low, high = rows[:, :2].min(axis=0), rows[:, :2].max(axis=0)
        latitude, longitude = origin or ((low + high) / 2).tolist()
        zone = zone_of(longitude)
        rows[:, :2] = utm(rows[:, 0], rows[:, 1], zone) - utm(latitude, longitude, zone)
    return {node.text("id"): (x, y, z) for node, (x, y, z) in zip(nodes, rows.tolist(), strict=True)}


def _way(way: Element, places: Mapping[str, tuple[float, float, float]]) -> Way:
    nodes = []
    for nd in way.all("nd"):
        if nd.text("ref") not in places:
            nd.fail(f"way {way.text('id')} goes through node {nd.text('ref')}, which does not exist")
        nodes.append(nd.text("ref"))
    points = np.array([places[node] for node in nodes]).reshape(-1, 3)
    return Way(way, tuple(nodes), points[:, :2], points[:, 2], tags_of(way))


def members(relation: Element, role: str, kind: str = "way") -> Iterator[Element]:
    """The members of a relation with a role."""
    return (one for one in relation.all("member") if one.get("role") == role and one.get("type") == kind)


def _border(relation: Element, role: str, ways: Mapping[str, Way]) -> Way:
    """The way of a lanelet in a role, which must be one with two points."""
    found = list(members(relation, role))
    if len(found) != 1:
        relation.fail(f"lanelet {relation.get('id')} has {len(found)} ways as its {role}, not one")
    name = found[0].text("ref")
    if name not in ways:
        found[0].fail(f"the {role} of lanelet {relation.get('id')} is way {name}, which does not exist")
    if len(ways[name].line) < 2:
        found[0].fail(f"the {role} of lanelet {relation.get('id')} is way {name}, which has no two points")
    return ways[name]


def _lanelet(relation: Element, name: str, tags: dict[str, str], ways: Mapping[str, Way]) -> Lanelet:
    left, right = _border(relation, "left", ways), _border(relation, "right", ways)
    centre = _border(relation, "centerline", ways) if next(members(relation, "centerline"), None) else None
    turn_left, turn_right = turned(left.line, right.line)
    forth = None
    if centre is not None:
        begin = (left.line[-1 if turn_left else 0] + right.line[-1 if turn_right else 0]) / 2
        forth = bool(np.linalg.norm(centre.line[0] - begin) <= np.linalg.norm(centre.line[-1] - begin))
    lines = [way.line[::-1] if turn else way.line for way, turn in ((left, turn_left), (right, turn_right))]
    nodes = [way.nodes[::-1] if turn else way.nodes for way, turn in ((left, turn_left), (right, turn_right))]
    middle, width = _middle(lines[0], lines[1], None if centre is None else centre.line[:: 1 if forth else -1])
    heights = nearest_height(left, middle)
    rules = [one.text("ref") for one in members(relation, "regulatory_element", "relation")]
    ids = [next(members(relation, role)).text("ref") for role in ("left", "right")]
    return Lanelet(
        name, relation, tags, lines[0], lines[1], ids[0], ids[1],
        (nodes[0][0], nodes[1][0]), (nodes[0][-1], nodes[1][-1]), middle, width, heights, rules, forth,
    )  # fmt: skip


def nearest_height(way: Way, points: F64) -> F64:
    """The height of a way where it is nearest to each point, m."""
    line = way.line
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    height: F64 = np.interp(nearest(line, points)[1], s, way.height)
    return height


def turned(left: F64, right: F64) -> tuple[bool, bool]:
    """Whether each bound runs against the direction that has the left one on the left, as Lanelet2 finds it."""
    back_left = not _left_of(_half_way(right), left) < 0
    back_right = not _left_of(_half_way(left[::-1] if back_left else left), right) > 0
    return back_left, back_right


def _half_way(line: F64) -> F64:
    middle: F64 = line[len(line) // 2] if len(line) > 2 else (line[0] + line[-1]) / 2
    return middle


def _left_of(point: F64, line: F64) -> float:
    """Over 0 if a point is to the left of a line (at its nearest corner: of its two sides together), below 0: right."""
    begin, step = line[:-1], np.diff(line, axis=0)
    size = np.maximum((step**2).sum(axis=1), 1e-18)
    share = np.clip(((point - begin) * step).sum(axis=1) / size, 0.0, 1.0)
    gap = point - begin - share[:, None] * step
    distance = np.hypot(*gap.T)
    near = np.flatnonzero(distance <= distance.min() + 1e-9)
    unit = (step / np.sqrt(size)[:, None])[near].sum(axis=0)
    away = gap[near[0]]
    return float(unit[0] * away[1] - unit[1] * away[0])


def _middle(left: F64, right: F64, centre: F64 | None) -> tuple[F64, F64]:
    """The middle and the width at each of its points."""
    if centre is None:
        share = np.linspace(0.0, 1.0, max(len(left), len(right), 2))
        pair = (left, right) if len(left) == len(right) else (along(left, share), along(right, share))
        middle = cleaned((pair[0] + pair[1]) / 2)
    else:
        middle = cleaned(centre)
    return middle, np.maximum(nearest(left, middle)[0] + nearest(right, middle)[0], 0.01)


def _rule(relation: Element, name: str, tags: dict[str, str]) -> Rule:
    rule = Rule(name, relation, tags)
    for member in relation.all("member"):
        kind = {"way": rule.ways, "relation": rule.lanelets}.get(member.get("type"))
        if kind is not None:
            kind.setdefault(member.text("role"), []).append(member.text("ref"))
    return rule


def following(lanelets: Sequence[Lanelet]) -> dict[str, list[str]]:
    """Ids of the lanelets that begin at the nodes at which each ends."""
    begins: dict[tuple[str, str], list[str]] = {}
    for one in lanelets:
        begins.setdefault(one.begin, []).append(one.id)
    return {one.id: [other for other in begins.get(one.end, []) if other != one.id] for one in lanelets}
