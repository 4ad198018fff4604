"""The scenes of driving on a lane graph, a row each: the map, the traffic, the route and what it allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..maps.graph import DRIVING, NONE, LaneGraph

Range = tuple[float, float]
FEWEST_METRES = 30.0  # of a lane on which a route ends


@dataclass(frozen=True)
class Scene:
    """A row: what problems of a scene are drawn from.

    Attributes:
        map: of :mod:`..maps.catalogue`.
        density: vehicles per km of lane.
        people: pedestrians.
        route: m; of the ways that a map offers one in this range is drawn, or else the nearest to it.
        pace: of the time budget: share of the speed that limits and bends allow,
        wait: s for standing,
        start: and s for getting going.
        patience: s that the agent may stand.
        begins: of the lanes that a route may begin on, how their ids start; empty: any.
        ends: likewise of the lanes that it may end on.
        through: routes end where the map does.
        warm_up: s of traffic before the episode begins.
        options: of the map's generator.
    """

    map: str
    density: Range
    people: tuple[int, int]
    route: Range
    pace: float
    wait: float
    patience: float
    start: float = 6.0
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    through: bool = True
    warm_up: float = 6.0
    options: Mapping[str, int] = field(default_factory=dict)


SCENES: dict[str, Scene] = {
    "highway": Scene("highway", (6.0, 10.0), (0, 0), (600.0, 1500.0), 0.6, 100.0, 110.0, options={"ramps": 2}),
    "merge": Scene("merge", (6.0, 14.0), (0, 0), (200.0, 1000.0), 0.55, 100.0, 110.0, begins=("on",)),
    "intersection": Scene("intersection", (4.0, 12.0), (0, 8), (120.0, 400.0), 0.5, 100.0, 110.0),
    "roundabout": Scene("roundabout", (4.0, 12.0), (0, 6), (120.0, 500.0), 0.45, 100.0, 110.0),
    "racetrack": Scene("racetrack", (0.0, 0.0), (0, 0), (1e6, 1e6), 0.75, 0.0, 5.0, through=False),
    "town": Scene(
        "town",
        (2.0, 5.0),
        (4, 12),
        (300.0, 700.0),
        0.45,
        150.0,
        110.0,
        through=False,
        options={"rows": 4, "columns": 4},
    ),
}
"""By name, the keyword ``scene``."""


def places(scene: Scene, graph: LaneGraph) -> tuple[list[int], list[int]]:
    """The lanes of a map on which a route of a scene may begin, and on which it may end.

    Raises:
        ValueError: the map has none.
    """
    columns = graph.columns
    drivable = [
        lane
        for lane in range(len(graph))
        if columns.kind[lane] == DRIVING and columns.junction[lane] == NONE and columns.length[lane] >= FEWEST_METRES
    ]

    def named(names: tuple[str, ...]) -> list[int]:
        return [lane for lane in drivable if not names or graph.lane_ids[lane].startswith(names)]

    begins, ends = named(scene.begins), named(scene.ends)
    if scene.through:
        begins = [lane for lane in begins if columns.previous_first[lane] == columns.previous_first[lane + 1]]
        ends = [lane for lane in ends if len(graph.successors(lane)) == 0]
    if not begins or not ends:
        raise ValueError(f"map {graph.name} has no lane on which a route may {'end' if begins else 'begin'}")
    return begins, ends
