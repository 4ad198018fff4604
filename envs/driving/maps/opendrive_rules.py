"""Signals, stop lines and crosswalks of an OpenDRIVE file."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from .build import Crossing, Lane, StopLine
from .description import F64, Description, Light, add_programs, nearest, place_stop, predecessors, strip
from .document import Element
from .graph import GIVE_WAY, SIGNAL, STOP_SIGN

if TYPE_CHECKING:
    from .opendrive import Key, Road

SIGNS = {"206": STOP_SIGN, "205": GIVE_WAY}
"""Types of signs after the German code, which CARLA and netconvert use as well."""


def add(found: Description, root: Element, roads: "Mapping[str, Road]", keys: "Mapping[Key, Lane]") -> None:
    """Adds a file's signals, stop lines and crossings to what is found."""
    signals = {one.text("id"): one for one in root.all("road", "signals", "signal")}
    groups = {
        control.text("signalId"): controller.text("id")
        for controller in root.all("controller")
        for control in controller.all("control")
    }
    lanes = {lane.id: lane for lane in keys.values()}
    before = predecessors(found.lanes)
    lights: dict[str, Light] = {}
    taken: set[tuple[str, int]] = set()
    for road in roads.values():
        for one, signal in _placed(road, signals):
            kind = SIGNAL if signal.get("dynamic") == "yes" else SIGNS.get(signal.get("type"))
            if kind is None:
                continue
            for stop in _stops(road, one, signal.text("id"), kind, keys, lanes, before):
                if (stop.lane, kind) not in taken:
                    taken.add((stop.lane, kind))
                    found.stops.append(stop)
                    light = _light(stop, lanes[stop.lane], groups.get(signal.text("id"), ""))
                    lights.update({} if kind != SIGNAL else {light.id: lights.get(light.id, light)})
    add_programs(found, list(lights.values()))
    for road in roads.values():
        found.crossings += [_crossing(road, one) for one in road.element.all("objects", "object") if _is_crosswalk(one)]


def _placed(road: "Road", signals: Mapping[str, Element]) -> Iterator[tuple[Element, Element]]:
    """Where on a road signals stand (signals and references to those of other roads), and the signals."""
    for one in road.element.all("signals", "signal"):
        yield one, one
    for one in road.element.all("signals", "signalReference"):
        if one.text("id") not in signals:
            one.fail(f"road {road.id} refers to signal {one.text('id')}, which does not exist")
        yield one, signals[one.text("id")]


def _stops(
    road: "Road", one: Element, name: str, kind: int, keys: "Mapping[Key, Lane]", lanes: Mapping[str, Lane],
    before: Mapping[str, list[str]],
) -> list[StopLine]:  # fmt: skip
    """The stop lines of the lanes for which a signal stands, by its orientation and validity."""
    s = one.number("s")
    if not -1e-3 <= s <= road.sections[-1].end + 1.0:
        one.fail(f"a signal stands at s = {s} of road {road.id}, which is {road.sections[-1].end} m long")
    section = road.section_at(s)
    spans = [sorted((v.number("fromLane"), v.number("toLane"))) for v in one.all("validity")]
    stops = []
    for number in road.sections[section].lanes:
        key = (road.id, section, number)
        ahead = {"+": True, "-": False}.get(one.get("orientation"), road.forward(number)) == road.forward(number)
        valid = not spans or any(low <= number <= high for low, high in spans)
        if key in keys and ahead and valid and keys[key].kind == 0:
            line = np.asarray(keys[key].middle)
            point, _ = road.middle(key, np.array([np.clip(s, 0.0, road.sections[section].end)]))
            at = float(nearest(line, point)[1][0])
            stops += place_stop(keys[key], at, kind, name if kind == SIGNAL else "", lanes, before)
    return stops


def _light(stop: StopLine, lane: Lane, group: str) -> Light:
    end = np.asarray(lane.middle)[-2:]
    return Light(stop.signal, (float(end[1, 0]), float(end[1, 1])), float(np.arctan2(*(end[1] - end[0])[::-1])), group)


def _is_crosswalk(one: Element) -> bool:
    return one.get("type") == "crosswalk"


def _crossing(road: "Road", one: Element) -> Crossing:
    """The strip of a crosswalk: of its outline, else of its length and width."""
    s, t = one.number("s"), one.number("t")
    ((x, y),) = road.place(np.array([s]), np.array([t]))
    heading = float(road.line.at(np.array([s]))[2][0]) + one.number("hdg", 0.0)
    corners = _corners(road, one, np.array([x, y]), heading)
    if len(corners) == 5 and np.allclose(corners[0], corners[-1]):
        corners = corners[:-1]
    if len(corners) != 4:
        length, width = one.number("length"), one.number("width")
        local = np.array([[length, width], [-length, width], [-length, -width], [length, -width]]) / 2
        corners = np.array([x, y]) + _turned(local, heading)
    a, b, width = strip(corners)
    if width <= 0.0 or np.hypot(b[0] - a[0], b[1] - a[1]) < 0.1:
        one.fail(f"crosswalk {one.get('id')} has no area")
    return Crossing(a, b, width)


def _corners(road: "Road", one: Element, place: F64, heading: float) -> F64:
    outline = one.first("outlines", "outline") or one.first("outline")
    if outline is None:
        return np.zeros((0, 2))
    local = [[corner.number("u"), corner.number("v")] for corner in outline.all("cornerLocal")]
    on_road = [[corner.number("s"), corner.number("t")] for corner in outline.all("cornerRoad")]
    if on_road:
        s, t = np.array(on_road).T
        return road.place(s, t)
    return place + _turned(np.array(local).reshape(-1, 2), heading)


def _turned(points: F64, heading: float) -> F64:
    cos, sin = np.cos(heading), np.sin(heading)
    turned: F64 = points @ np.array([[cos, sin], [-sin, cos]])
    return turned
