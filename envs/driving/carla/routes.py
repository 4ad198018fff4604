"""Routes of the CARLA leaderboard: XML files of towns, keypoints and weather.

    <routes><route id="0" town="Town12">
      <weathers><weather route_percentage="0" cloudiness="5.0" .../></weathers>
      <waypoints><position x="983.5" y="5382.2" z="371"/> ...</waypoints>
      <scenarios>...</scenarios>
    </route></routes>

Scenarios are counted and not played: they are programs of the scenario runner. Coordinates are CARLA's, whose y points
to the right.

Source: carla-simulator/leaderboard, ``route_parser.py`` (branch leaderboard-2.1, cfecdc8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from xml.parsers import expat

from .... import unknown


@dataclass(frozen=True)
class Route:
    """A route as it is given: between keypoints that may lie hundreds of metres apart.

    Attributes:
        id: in its file.
        town: the map's name.
        keypoints: at least two, (x, y, z) in m, of CARLA's frame.
        weather: parameters at the beginning, by CARLA's names; without them the map's own.
        scenarios: how many the file names.
        where: file and line.
    """

    id: str
    town: str
    keypoints: tuple[tuple[float, float, float], ...]
    weather: Mapping[str, float] = field(default_factory=dict)
    scenarios: int = 0
    where: str = ""


@dataclass
class _Element:
    tag: str
    attributes: dict[str, str]
    line: int
    children: list["_Element"] = field(default_factory=list)

    def of(self, tag: str) -> list["_Element"]:
        return [child for child in self.children if child.tag == tag]


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._root = _Element("", {}, 0)
        self._open: list[_Element] = [self._root]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, self._parser.CurrentLineNumber)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def read(self) -> _Element:
        try:
            self._parser.Parse(self.path.read_bytes(), True)
        except expat.ExpatError as error:
            raise ValueError(f"{self.path}, line {error.lineno}: no XML ({expat.ErrorString(error.code)})") from error
        return self._root

    def says(self, element: _Element, wrong: str) -> ValueError:
        return ValueError(f"{self.path}, line {element.line}: {wrong}")

    def text(self, element: _Element, name: str) -> str:
        if not element.attributes.get(name, "").strip():
            raise self.says(element, f"<{element.tag}> lacks {name}")
        return element.attributes[name].strip()

    def number(self, element: _Element, name: str) -> float:
        text = self.text(element, name)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            raise self.says(element, f"{name} of <{element.tag}> is no number: {text!r}")
        return value


def read_routes(path: str | Path) -> tuple[Route, ...]:
    """All routes of a file, in its order.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no XML or no file of routes, a route has no town or fewer than two keypoints, a number is
            none, an id occurs twice; the sentence names file and line.
    """
    reader = _Reader(Path(path))
    tops = reader.read().of("routes")
    if not tops:
        raise ValueError(f"{path}, line 1: no <routes> here; give a route file of the CARLA leaderboard")
    routes = [_route(reader, element) for element in tops[0].of("route")]
    if not routes:
        raise reader.says(tops[0], "<routes> holds no <route>")
    seen: set[str] = set()
    for element, route in zip(tops[0].of("route"), routes, strict=True):
        if route.id in seen:
            raise reader.says(element, f"a second route has the id {route.id!r}")
        seen.add(route.id)
    return tuple(routes)


def _route(reader: _Reader, element: _Element) -> Route:
    name, town = reader.text(element, "id"), reader.text(element, "town")
    positions = [one for group in element.of("waypoints") for one in group.of("position")]
    if len(positions) < 2:
        raise reader.says(element, f"route {name!r} has {len(positions)} <position>, needs two")
    points = tuple((reader.number(p, "x"), reader.number(p, "y"), reader.number(p, "z")) for p in positions)
    weathers = [one for group in element.of("weathers") for one in group.of("weather")]
    weather = {} if not weathers else _weather(reader, weathers[0])
    scenarios = sum(len(group.of("scenario")) for group in element.of("scenarios"))
    return Route(name, town, points, weather, scenarios, f"{reader.path}, line {element.line}")


def _weather(reader: _Reader, element: _Element) -> dict[str, float]:
    return {name: reader.number(element, name) for name in element.attributes if name != "route_percentage"}


def choose(routes: Sequence[Route], name: str) -> Route:
    """The route with an id.

    Raises:
        ValueError: there is none.
    """
    for route in routes:
        if route.id == name:
            return route
    raise ValueError(unknown("route", name, [route.id for route in routes]))
