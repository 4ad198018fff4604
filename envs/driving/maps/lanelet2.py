"""Lanelet2 maps (OSM XML): lanelets become lanes, regulatory elements signals, stop lines and ranks.

Beside a town of the package ``torchdrivesim`` lie its stop lines and the programs of its lights: :mod:`.towns`.

Paper: Lanelet2: A High-Definition Map Framework for the Future of Automated Driving (2018).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from . import towns
from .build import Crossing, Lane, StopLine
from .description import (
    Description,
    Light,
    add_programs,
    crossed,
    joined,
    length_of,
    place_stop,
    predecessors,
    ranks,
    strip,
)
from .document import Element
from .graph import CYCLING, DRIVING, GIVE_WAY, SHOULDER, SIGNAL, STOP_SIGN, WALKING, LaneGraph
from .lanelets import Lanelet, Primitives, Rule, Way, following, primitives

KINDS = {
    "road": DRIVING, "highway": DRIVING, "play_street": DRIVING, "exit": DRIVING, "bus_lane": DRIVING,
    "emergency_lane": SHOULDER, "bicycle_lane": CYCLING, "walkway": WALKING, "shared_walkway": WALKING,
    "stairs": WALKING,
}  # fmt: skip
"""Kinds of lanes by a lanelet's ``subtype``; a ``crosswalk`` is a crossing, others are left out."""
LIMITS = {("highway", True): 130, ("highway", False): 130, ("play_street", True): 7, ("play_street", False): 7}
"""km/h by subtype and whether it is urban, after Lanelet2's German rules; other lanes: 50 urban, 100 outside."""
UNITS = {"": 1 / 3.6, "km/h": 1 / 3.6, "kmh": 1 / 3.6, "kph": 1 / 3.6, "mph": 0.44704, "m/s": 1.0, "mps": 1.0}
MARKS = {"dashed": (True, True), "dashed_solid": (False, True), "solid_dashed": (True, False)}
"""By a marking's subtype: whether it may be crossed to the left (from its right side) and to the right."""


def read(path: Path, origin: tuple[float, float] | None = None) -> LaneGraph:
    """The graph of a file.

    Args:
        path: of the OSM XML file.
        origin: latitude and longitude that become (0, 0); ``None``: what a ``metadata.json`` beside the file says, else
            the middle of the map.

    Raises:
        MapError: the file is broken; the sentence names the line.
    """
    return describe(path, origin).graph(path)


def describe(path: Path, origin: tuple[float, float] | None = None) -> Description:
    """What is in a file, see :func:`read`."""
    town = towns.read(path)
    found = primitives(path, origin or town.origin, town.mirrored)
    road = {name: one for name, one in found.lanelets.items() if one.tags.get("subtype", "road") in KINDS}
    follows = following(list(road.values()))
    junction = _junctions(road, follows)
    beside = _Beside(list(road.values()), found)
    lanes = [_lane(one, found, follows[one.id], junction.get(one.id, ""), beside) for one in road.values()]
    result = Description(path.stem, lanes)
    result.crossings = [_crossing(one) for one in found.lanelets.values() if one.tags.get("subtype") == "crosswalk"]
    left_out = len(found.lanelets) - len(lanes) - len(result.crossings)
    if left_out:
        result.warnings.append(f"{left_out} lanelets for no vehicle and no pedestrian were left out")
    _add_ways_back(result, road)
    _add_rules(result, found, {lane.id: lane for lane in result.lanes}, lights_told=bool(town.signals))
    towns.add(result, town)
    return result


def speed(text: str, element: Element) -> float:
    """m/s of a speed as Lanelet2 writes it: ``50``, ``50 km/h``, ``30 mph``, ``13.9 m/s``, ``de274-50``."""
    match = re.fullmatch(r"(?:\w+-)?\s*([0-9.]+)\s*([a-z/]*)", text.strip().lower())
    if match is None or match[2] not in UNITS:
        element.fail(f"the speed {text[:40]!r} is not written as 50, 50 km/h, 30 mph, 13.9 m/s or de274-50")
    value = element.parse(match[1], "a speed")
    if value <= 0.0:
        element.fail(f"the speed {text[:40]!r} is not over 0")
    return value * UNITS[match[2]]


def _limit(one: Lanelet, found: Primitives) -> float:
    for rule in (found.rules[name] for name in one.rules if name in found.rules):
        if rule.tags.get("subtype") == "speed_limit":
            return speed(rule.tags.get("sign_type") or rule.tags.get("limit", ""), rule.element)
    if "speed_limit" in one.tags:
        return speed(one.tags["speed_limit"], one.element)
    urban = one.tags.get("location", "urban") != "nonurban"
    return LIMITS.get((one.tags.get("subtype", "road"), urban), 50 if urban else 100) / 3.6


def _lane(one: Lanelet, found: Primitives, follows: Sequence[str], junction: str, beside: "_Beside") -> Lane:
    return Lane(
        one.id,
        one.middle,
        one.width,
        _limit(one, found),
        follows,
        left=beside.of(one, left=True),
        right=beside.of(one, left=False),
        kind=KINDS[one.tags.get("subtype", "road")],
        junction=junction,
        height=one.height,
    )


class _Beside:
    """Lanelets by the ways of their bounds."""

    def __init__(self, lanelets: Iterable[Lanelet], found: Primitives) -> None:
        self.ways = found.ways
        self.on_the_left = {(one.right_way, one.tags.get("subtype")): one.id for one in lanelets}
        self.on_the_right = {(one.left_way, one.tags.get("subtype")): one.id for one in lanelets}

    def of(self, one: Lanelet, left: bool) -> str | None:
        """The lanelet beyond a bound that may be crossed, ``""``: none; ``None``: the bound has no type."""
        name = one.left_way if left else one.right_way
        if "type" not in self.ways[name].tags:
            return None
        if not _crossable(self.ways[name], left):
            return ""
        return (self.on_the_left if left else self.on_the_right).get((name, one.tags.get("subtype")), "")


def _crossable(way: Way, left: bool) -> bool:
    for key in ("lane_change:left" if left else "lane_change:right", "lane_change"):
        if key in way.tags:
            return way.tags[key] in ("yes", "true")
    if way.tags["type"] == "virtual":
        return False
    return MARKS.get(way.tags.get("subtype", ""), (False, False))[0 if left else 1]


def _junctions(road: Mapping[str, Lanelet], follows: Mapping[str, list[str]]) -> dict[str, str]:
    """Names of the junctions of lanelets that say they lie in one; those with a begin or an end in common share it."""
    inside = [one for one in road.values() if _in_junction(one)]
    places: dict[tuple[str, str], str] = {}
    pairs = []
    for one in inside:
        pairs += [(one.id, places.setdefault(one.begin, one.id)), (one.id, places.setdefault(one.end, one.id))]
        pairs += [(one.id, other) for other in follows[one.id] if _in_junction(road[other])]
    for i, one in enumerate(inside):
        pairs += [(one.id, other.id) for other in inside[:i] if _cross(one, other)]
    return joined(pairs, [one.id for one in inside])


def _in_junction(one: Lanelet) -> bool:
    return one.tags.get("is_intersection") == "yes" or "turn_direction" in one.tags


def _cross(one: Lanelet, other: Lanelet) -> bool:
    """Whether the middles of two lanelets cross."""
    a, b = one.middle, other.middle
    if (a.min(axis=0) > b.max(axis=0)).any() or (b.min(axis=0) > a.max(axis=0)).any():
        return False
    if abs(one.height.mean() - other.height.mean()) > 3.0:
        return False
    rough = b[np.linspace(0, len(b) - 1, min(len(b), 9)).astype(int)]
    return any(crossed(a, begin, end) is not None for begin, end in zip(rough[:-1], rough[1:], strict=True))


def _crossing(one: Lanelet) -> Crossing:
    a, b, width = strip(np.array([one.left[0], one.right[0], one.right[-1], one.left[-1]]))
    along_it = one.middle[0], one.middle[-1]
    if np.hypot(*(along_it[1] - along_it[0])) >= 1.0:  # pedestrians go along the lanelet, however wide it is
        a, b = ((float(x), float(y)) for x, y in along_it)
        width = float(one.width.mean())
    return Crossing(a, b, width)


def _add_ways_back(result: Description, road: Mapping[str, Lanelet]) -> None:
    """A second lane, against the first, for vehicles' lanelets that may be gone both ways (``one_way=no``)."""
    both = [lane for lane in result.lanes if road[lane.id].tags.get("one_way") == "no" and lane.kind != WALKING]
    ids = {lane.id for lane in both}
    before = predecessors(result.lanes)
    for lane in both:
        back = [f"{one}:back" for one in before[lane.id] if one in ids]
        result.lanes.append(
            Lane(f"{lane.id}:back", np.asarray(lane.middle)[::-1], np.asarray(lane.width)[::-1], lane.limit, back,
                 left="", right="", kind=lane.kind, junction=lane.junction, height=np.asarray(lane.height)[::-1])
        )  # fmt: skip


def _add_rules(result: Description, found: Primitives, lanes: Mapping[str, Lane], lights_told: bool) -> None:
    """Signals, stop lines and ranks of the regulatory elements; no traffic lights if those are told elsewhere."""
    holders = _holders(found)
    before = predecessors(result.lanes)
    lights, yields = [], []
    for rule in found.rules.values():
        held = [lanes[name] for name in holders.get(rule.id, []) if name in lanes]
        kind = _stop_kind(rule, found)
        if rule.tags.get("subtype") == "right_of_way":
            low, high = (_known(rule, rule.lanelets.get(role, ()), lanes) for role in ("yield", "right_of_way"))
            yields += [(one, other) for one in low for other in high]
            held = [lanes[name] for name in low]
        if kind is None or (kind == SIGNAL and lights_told):
            continue
        stops = _stops(rule, found, held, kind, lanes, before)
        result.stops += [stop for stop in stops if stop not in result.stops]
        if kind == SIGNAL and stops:
            lights.append(_light(rule, lanes[stops[0].lane]))
    add_programs(result, lights)
    for name, rank in ranks(yields).items():
        lanes[name].rank = rank


def _holders(found: Primitives) -> dict[str, list[str]]:
    """The lanelets of each regulatory element, which must be there."""
    holders: dict[str, list[str]] = {}
    for one in found.lanelets.values():
        for name in one.rules:
            if name not in found.rules:
                one.element.fail(f"lanelet {one.id} has the regulatory element {name}, which does not exist")
            holders.setdefault(name, []).append(one.id)
    return holders


def _known(rule: Rule, names: Sequence[str], lanes: Mapping[str, Lane]) -> list[str]:
    for name in names:
        if name not in lanes:
            rule.element.fail(f"the right of way {rule.id} is about lanelet {name}, which does not exist for vehicles")
    return list(names)


def _stop_kind(rule: Rule, found: Primitives) -> int | None:
    """What a regulatory element asks vehicles to stop for; ``None``: nothing."""
    kinds = {"traffic_light": SIGNAL, "right_of_way": GIVE_WAY, "all_way_stop": STOP_SIGN}
    subtype = rule.tags.get("subtype", "")
    if subtype != "traffic_sign":
        return kinds.get(subtype)
    signs = {found.ways[name].tags.get("subtype") for name in rule.ways.get("refers", ()) if name in found.ways}
    signs.add(rule.tags.get("sign_type"))
    return STOP_SIGN if signs & {"de206", "usR1-1"} else GIVE_WAY if signs & {"de205", "usR1-2"} else None


def _stops(
    rule: Rule, found: Primitives, held: Sequence[Lane], kind: int, lanes: Mapping[str, Lane],
    before: Mapping[str, list[str]],
) -> list[StopLine]:  # fmt: skip
    """The stop lines of the lanes that a regulatory element rules: at its ``ref_line``, else at their ends."""
    signal = rule.id if kind == SIGNAL else ""
    lines = []
    for name in rule.ways.get("ref_line", ()):
        if name not in found.ways:
            rule.element.fail(f"the stop line of regulatory element {rule.id} is way {name}, which does not exist")
        lines.append(found.ways[name].line)
    stops = []
    for lane in held:
        at = [s for line in lines if (s := crossed(np.asarray(lane.middle), line[0], line[-1])) is not None]
        if at:
            stops += place_stop(lane, min(at), kind, signal, lanes, before)
        elif lane.junction or kind != SIGNAL:
            stops += place_stop(lane, 0.0, kind, signal, lanes, before)
        else:
            stops.append(StopLine(lane.id, length_of(lane.middle), kind, signal))
    return stops


def _light(rule: Rule, lane: Lane) -> Light:
    end = np.asarray(lane.middle)[-2:]
    return Light(rule.id, (float(end[1, 0]), float(end[1, 1])), float(np.arctan2(*(end[1] - end[0])[::-1])))
