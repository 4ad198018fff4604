"""SUMO nets (``.net.xml``, also ``.gz``): lanes, connections, traffic lights, right of way, crossings.

Lanes keep SUMO's ids, junctions and lights too; the light of link 3 of ``J`` is the signal ``J:3``. Left out: railways,
lanes for buses, deliveries and other classes alone, walking areas. Adaptive lights run their programs' durations.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .build import Crossing, Lane, Signal, StopLine
from .description import F64, Description, cleaned, length_of, merged, ranks
from .document import Element
from .document import read as read_xml
from .graph import AMBER, CYCLING, DRIVING, GIVE_WAY, GREEN, RED, SHOULDER, SIGNAL, STOP_SIGN, WALKING

COLOURS = {**dict.fromkeys("GgoO", GREEN), **dict.fromkeys("yY", AMBER), **dict.fromkeys("rRus", RED)}
"""By the letter of a link's state; of lights that are off or blink, the signs count."""
CARS = ("all", "passenger", "private", "vip", "hov", "evehicle")
"""Classes of vehicles that drive as passenger cars do."""
YIELDS = {"m": GIVE_WAY, "s": STOP_SIGN, "w": STOP_SIGN}
"""What a connection's state asks for."""
WIDTH = 3.2
"""m where a lane has none; as in SUMO."""


@dataclass
class Link:
    """A connection from a lane to a lane, by the lanes' ids; ``via``: the first lane within the junction."""

    element: Element
    begin: str
    end: str
    via: str
    light: str  # "" none
    index: int  # of the light
    state: str


@dataclass
class Net:
    """What the elements of a file are about, by id."""

    lanes: dict[str, Lane] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)  # lanes that are left out
    crossings: dict[str, tuple[Element, F64, float]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)


def describe(path: Path) -> Description:
    """What is in a file.

    Raises:
        MapError: the file is broken; the sentence names the line.
    """
    root = read_xml(path, "net")
    net = Net()
    left_handed = root.get("lefthand") == "true"
    for edge in root.all("edge"):
        _edge(edge, net, left_handed)
    if not net.lanes:
        root.fail("the net has no lanes for vehicles, cycles or pedestrians")
    rails = {one.get("id") for one in root.all("junction") if one.get("type").startswith("rail_")}
    net.links = [link for one in root.all("connection") if (link := _link(one, net, rails)) is not None]
    result = Description(path.name.removesuffix(".gz").removesuffix(".xml").removesuffix(".net"), [])
    _connect(net)
    _rank(root, net)
    result.signals = _signals(root, net, result)
    result.stops = _stops(net, {signal.id: signal for signal in result.signals})
    result.crossings = _crossings(net, {signal.id for signal in result.signals})
    used = {stop.signal for stop in result.stops} | {one.signal for one in result.crossings}
    result.signals = [signal for signal in result.signals if signal.id in used]
    result.lanes = list(net.lanes.values())
    left_out = len(net.others) - len(net.crossings)
    if left_out:
        result.warnings.append(f"{left_out} lanes for railways, buses, deliveries or walking areas were left out")
    return result


def _edge(edge: Element, net: Net, left_handed: bool) -> None:
    """Takes an edge's lanes in."""
    name, function = edge.text("id"), edge.get("function")
    lanes = sorted(edge.all("lane"), key=lambda lane: lane.number("index"))
    for lane in lanes:
        if lane.text("id") in net.lanes or lane.text("id") in net.others:
            lane.fail(f"there are two lanes {lane.text('id')}")
        kind = _kind(lane) if function not in ("crossing", "walkingarea", "connector") else None
        if function == "crossing":
            net.crossings[lane.text("id")] = (lane, _shape(lane), lane.number("width", 4.0))
        if kind is None:
            net.others.add(lane.text("id"))
            continue
        speed, width = lane.number("speed"), lane.number("width", WIDTH)
        if speed <= 0.0 or width <= 0.0:
            lane.fail(
                f"lane {lane.text('id')} has a speed of {speed} m/s and a width of {width} m, which are not over 0"
            )
        junction = name[1:].rsplit("_", 1)[0] if function == "internal" else ""
        net.lanes[lane.text("id")] = Lane(
            lane.text("id"), _shape(lane), width, speed, left="", right="", kind=kind, road=name, junction=junction,
            height=_heights(lane),
        )  # fmt: skip
    _set_neighbours(lanes, net, left_handed)


def _set_neighbours(lanes: Sequence[Element], net: Net, left_handed: bool) -> None:
    for right, left in zip(lanes[:-1], lanes[1:], strict=True):
        a, b = net.lanes.get(right.text("id")), net.lanes.get(left.text("id"))
        if a is None or b is None or a.kind != b.kind:
            continue
        if left_handed:
            a.right, b.left = _beyond(right, "changeLeft", b), _beyond(left, "changeRight", a)
        else:
            a.left, b.right = _beyond(right, "changeLeft", b), _beyond(left, "changeRight", a)


def _beyond(lane: Element, change: str, other: Lane) -> str:
    """The neighbour, if passenger cars may change to it."""
    allowed = lane.get(change, "all").split()
    return other.id if {*CARS, "bicycle", "pedestrian"} & set(allowed) else ""


def _kind(lane: Element) -> int | None:
    """Of a lane, by the classes of vehicles that may use it; ``None``: of no use here."""
    if "allow" in lane.attributes:
        allowed = set(lane.get("allow").split())
    else:
        forbidden = set(lane.get("disallow").split())
        allowed = {"passenger", "bicycle", "pedestrian", "emergency"} - forbidden if "all" not in forbidden else set()
    if allowed & set(CARS):
        return DRIVING
    if "bicycle" in allowed:
        return CYCLING
    if "pedestrian" in allowed:
        return WALKING
    return SHOULDER if "emergency" in allowed and not {"bus", "delivery", "rail"} & allowed else None


def _points(lane: Element) -> F64:
    """The shape, ``[n, 3]``."""
    rows = []
    for place in lane.text("shape").split():
        numbers = [lane.parse(text, f"shape of lane {lane.get('id')}") for text in place.split(",")]
        if len(numbers) not in (2, 3):
            lane.fail(f"the shape of lane {lane.get('id')} has {place[:40]!r}, which is no x,y")
        rows.append([*numbers, 0.0][:3])
    if len(rows) < 2:
        lane.fail(f"the shape of lane {lane.get('id')} has {len(rows)} points, not two or more")
    return np.array(rows)


def _shape(lane: Element) -> F64:
    return cleaned(_points(lane))


def _heights(lane: Element) -> F64:
    """Heights of the points that :func:`_shape` keeps, m."""
    points = _points(lane)
    kept = np.concatenate([[True], np.hypot(*np.diff(points[:, :2], axis=0).T) > 1e-3])
    return points[kept, 2] if kept.sum() > 1 else points[[0, -1], 2]


def _link(one: Element, net: Net, rails: set[str]) -> Link | None:
    """A connection of lanes that are known, without trains' lights; ``None`` if one is left out and no crossing."""
    ends = [f"{one.text(edge)}_{int(one.number(lane))}" for edge, lane in (("from", "fromLane"), ("to", "toLane"))]
    via = one.get("via")
    for name in [*ends, via] if via else ends:
        if name not in net.lanes and name not in net.others:
            one.fail(f"a connection names lane {name}, which does not exist")
    if not all(name in net.lanes or name in net.crossings for name in ends[1:]):
        return None
    if ends[0] not in net.lanes and ends[1] not in net.crossings:
        return None
    if via and via not in net.lanes:
        return None
    light = "" if one.get("tl") in rails else one.get("tl")
    return Link(one, ends[0], ends[1], via, light, int(one.number("linkIndex")) if light else -1, one.get("state"))


def _connect(net: Net) -> None:
    """Sets successors; where a net has no lanes within its junctions, they are drawn."""
    for link in net.links:
        if link.end in net.crossings or link.begin not in net.lanes:
            continue
        begin = net.lanes[link.begin]
        if not link.via and not begin.junction and not net.lanes[link.end].junction:
            link.via = _draw(link, net)
        follower = link.via or link.end
        if follower not in begin.successors:
            begin.successors = [*begin.successors, follower]


def _draw(link: Link, net: Net) -> str:
    """A cubic curve from lane to lane, or nothing where they touch."""
    one, other = net.lanes[link.begin], net.lanes[link.end]
    a, b = np.asarray(one.middle, float), np.asarray(other.middle, float)
    gap = float(np.hypot(*(b[0] - a[-1])))
    if gap < 0.5:
        return ""
    leave, enter = a[-1] - a[-2], b[1] - b[0]
    handle = gap / 2.5
    p = [a[-1], a[-1] + handle * leave / np.hypot(*leave), b[0] - handle * enter / np.hypot(*enter), b[0]]
    u = np.linspace(0.0, 1.0, max(int(gap), 8) + 1)[:, None]
    middle = (1 - u) ** 3 * p[0] + 3 * u * (1 - u) ** 2 * p[1] + 3 * u**2 * (1 - u) * p[2] + u**3 * p[3]
    name = f":{link.begin}->{link.end}"
    junction = f"{link.begin.rsplit('_', 1)[0]}>"
    width, limit = float(np.mean(np.asarray(one.width, float))), min(one.limit, other.limit)
    net.lanes[name] = Lane(name, middle, width, limit, [link.end], left="", right="", kind=one.kind, junction=junction)
    return name


def _rank(root: Element, net: Net) -> None:
    """Ranks of the lanes within junctions, from the requests: who answers whom."""
    before = {link.via: link.begin for link in net.links if link.via}
    pairs = []
    for junction in root.all("junction"):
        inside = junction.get("intLanes").split()
        if not inside:
            continue  # of a net without lanes within its junctions, which has requests all the same
        for request in junction.all("request"):
            index, response = int(request.number("index")), request.text("response")
            if set(response) - {"0", "1"} or len(response) > len(inside) or not 0 <= index < len(inside):
                request.fail(f"request {index} answers {response[:40]!r} among {len(inside)} links of the junction")
            others = [inside[i] for i, bit in enumerate(reversed(response)) if bit == "1"]
            pairs += [(inside[index], other) for other in others if other in net.lanes]
    for name, rank in ranks(pairs).items():
        while name in net.lanes and net.lanes[name].junction:  # a link's lanes are one after the other
            net.lanes[name].rank = rank
            name = before.get(name, "")


def _signals(root: Element, net: Net, result: Description) -> list[Signal]:
    """A signal for each link of each light; those of crossings show what vehicles see."""
    crossing = {(link.light, link.index) for link in net.links if link.light and link.end in net.crossings}
    wanted = {(link.light, link.index): link for link in net.links if link.light}
    programs: dict[str, Element] = {}
    for logic in root.all("tlLogic"):
        programs[logic.text("id")] = logic  # the last program of a light is the one that SUMO runs
    adaptive = sum(logic.get("type", "static") != "static" for logic in programs.values())
    if adaptive:
        result.warnings.append(f"{adaptive} traffic lights adapt to traffic: they run their programs' durations")
    signals = []
    for (light, index), link in wanted.items():
        if light not in programs:
            link.element.fail(f"a connection is ruled by the traffic light {light}, which has no tlLogic")
        seconds, letters = _phases(programs[light], index, link)
        colours = [COLOURS[letter] for letter in letters]
        if (light, index) in crossing:
            colours = [RED if letter in "Gg" else GREEN for letter in letters]
        offset = -programs[light].number("offset", 0.0)
        signals.append(Signal(f"{light}:{index}", *merged(seconds, colours), offset=offset % sum(seconds)))
    return signals


def _phases(logic: Element, index: int, link: Link) -> tuple[list[float], list[str]]:
    """Seconds and letters of one link."""
    seconds, letters = [], []
    for phase in logic.all("phase"):
        state, duration = phase.text("state"), phase.number("duration")
        if not 0 <= index < len(state):
            phase.fail(f"the state {state[:40]!r} has no letter for link {index} of line {link.element.line}")
        if state[index] not in COLOURS:
            phase.fail(f"the state {state[:40]!r} has the unknown letter {state[index]!r}")
        if duration <= 0.0:
            phase.fail(f"a phase lasts {duration} s")
        seconds.append(duration)
        letters.append(state[index])
    if not seconds:
        logic.fail(f"traffic light {logic.text('id')} has no phases")
    return seconds, letters


def _stops(net: Net, signals: Mapping[str, Signal]) -> list[StopLine]:
    """Stop lines at lanes' ends, or within the junction where a lane's links have different lights."""
    leaving: dict[str, list[Link]] = {}
    for link in net.links:
        if link.begin in net.lanes and not net.lanes[link.begin].junction and link.end not in net.crossings:
            leaving.setdefault(link.begin, []).append(link)
    stops = []
    for name, links in leaving.items():
        if net.lanes[name].kind == WALKING:
            continue
        length = length_of(net.lanes[name].middle)
        lights = [signals.get(f"{link.light}:{link.index}") for link in links]
        shown = {(tuple(one.seconds), tuple(one.colours), one.offset) for one in lights if one is not None}
        if len(shown) == 1 and None not in lights:
            stops.append(StopLine(name, length, SIGNAL, next(one.id for one in lights if one is not None)))
        elif shown:
            stops += [
                StopLine(link.via, 0.0, SIGNAL, light.id)
                for link, light in zip(links, lights, strict=True)
                if light is not None and link.via
            ]
        elif (kind := _asked(links)) is not None:
            stops.append(StopLine(name, length, kind))
    return stops


def _asked(links: Iterable[Link]) -> int | None:
    """The sign at the end of a lane all of whose links give way."""
    kinds = [YIELDS.get(link.state) for link in links]
    if None in kinds:
        return None
    return STOP_SIGN if STOP_SIGN in kinds else GIVE_WAY


def _crossings(net: Net, signals: set[str]) -> list[Crossing]:
    """Crossings with the signal of the link that leads onto each."""
    lights = {link.end: f"{link.light}:{link.index}" for link in net.links if link.light and link.end in net.crossings}
    found = []
    for name, (lane, shape, width) in net.crossings.items():
        a, b = shape[0], shape[-1]
        if width <= 0.0 or np.hypot(*(b - a)) < 0.1:
            lane.fail(f"crossing {name} has no area")
        signal = lights.get(name, "")
        found.append(
            Crossing((float(a[0]), float(a[1])), (float(b[0]), float(b[1])), width, signal if signal in signals else "")
        )
    return found
