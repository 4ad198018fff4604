"""A closed town: a jittered grid of streets, some of them arterials, with junctions of several kinds."""

import math
from dataclasses import dataclass, field

import numpy as np

from ..graph import LaneGraph
from .curves import Pose, link
from .draft import Draft, Road
from .junctions import Arm, Control, Turns, junction, reach
from .roundabout import REACH, RING_WIDTH, ring

Node = tuple[int, int]

BLOCK = 125.0  # m between junctions, about
JITTER = 0.12  # of a block
BOW = 0.1  # rad by which a street leaves the straight line between its junctions
ARTERIAL_LIMIT, STREET_LIMIT = 50.0 / 3.6, 30.0 / 3.6
WIDTH = 3.4  # m
RING_RADIUS = 15.0  # m


@dataclass
class Plan:
    """Where streets are, before lanes are drawn."""

    place: dict[Node, tuple[float, float]]
    lanes: dict[tuple[Node, Node], int]  # of each direction, of the street between two nodes, the lower one first
    bow: dict[tuple[Node, Node], float] = field(default_factory=dict)  # rad
    kind: dict[Node, str] = field(default_factory=dict)

    def around(self, node: Node) -> list[Node]:
        """The nodes that streets lead to."""
        return sorted(b if a == node else a for a, b in self.lanes if node in (a, b))

    def count(self, a: Node, b: Node) -> int:
        """Lanes of each direction between two nodes."""
        return self.lanes[min(a, b), max(a, b)]

    def direction(self, node: Node, other: Node) -> float:
        """In which a street leaves a node for another, rad: towards it, but for its bow; roundabouts have none."""
        (ax, ay), (bx, by) = self.place[node], self.place[other]
        bow = 0.0 if self.kind[node] == "ring" else self.bow[min(node, other), max(node, other)]
        return math.atan2(by - ay, bx - ax) + (bow if node < other else -bow)


def town(
    rng: np.random.Generator, *, rows: int = 5, columns: int = 5, missing: float = 0.2, crossings: float = 0.7
) -> LaneGraph:
    """A closed town of ``rows x columns`` junctions.

    Two arterials meet at signals, an arterial and a side street at signals or at stop signs of the side street, side
    streets at stop signs, give-way lines or a roundabout; corners have no rules. Every lane leads to every other.

    Args:
        rng: draws everything.
        rows: of junctions, 2 or more.
        columns: likewise.
        missing: share of side streets inside the town that are left out.
        crossings: share of arms that pedestrians cross.
    """
    if not (2 <= rows and 2 <= columns and rows * columns <= 60):
        raise ValueError(f"a town has 2 rows and columns or more, and 60 junctions at most, not {rows} x {columns}")
    plan = streets(rng, rows, columns, missing)
    plan.bow = {pair: float(rng.uniform(-BOW, BOW)) for pair in sorted(plan.lanes)}
    plan.kind = {node: kind_of(rng, plan, node) for node in sorted(plan.place)}
    draft = Draft("town")
    arms: dict[Node, list[Arm]] = {node: [] for node in plan.place}
    for a, b in sorted(plan.lanes):
        road = _street(draft, plan, a, b)
        for node, at_end in ((a, False), (b, True)):
            crossed = len(plan.around(node)) > 2 and bool(rng.random() < crossings)
            arms[node].append(_arm(road, at_end, _major(plan, node, b if node == a else a), crossed))
    for node in sorted(plan.place):
        _join(draft, rng, plan, node, arms[node])
    return draft.built()


def streets(rng: np.random.Generator, rows: int, columns: int, missing: float) -> Plan:
    """The grid: about every third row and column is an arterial; some side streets inside are left out."""
    grid = [(i, j) for i in range(columns) for j in range(rows)]
    shifts = rng.uniform(-JITTER, JITTER, (len(grid), 2))
    place = {(i, j): (BLOCK * (i + u), BLOCK * (j + v)) for (i, j), (u, v) in zip(grid, shifts, strict=True)}
    wide = [_arterials(rng, count) for count in (columns, rows)]
    plan = Plan(place, {})
    for i, j in grid:
        for after, fixed, axis in (((i + 1, j), j, 1), ((i, j + 1), i, 0)):
            if after in place:
                plan.lanes[(i, j), after] = 2 if fixed in wide[axis] else 1
    inside = [
        (a, b)
        for (a, b), count in sorted(plan.lanes.items())
        if count == 1
        and not (a[0] == b[0] and a[0] in (0, columns - 1))
        and not (a[1] == b[1] and a[1] in (0, rows - 1))
    ]
    for at in rng.permutation(len(inside))[: round(missing * len(inside))]:
        count = plan.lanes.pop(inside[at])
        if any(len(plan.around(node)) < 2 for node in inside[at]) or not _connected(plan):
            plan.lanes[inside[at]] = count
    return plan


def _arterials(rng: np.random.Generator, count: int) -> set[int]:
    """Numbers of the rows or columns that are arterials: every third, none in a town of two."""
    if count < 3:
        return set()
    return set(range(int(rng.integers(1, min(3, count - 1))), count - 1, 3))


def _connected(plan: Plan) -> bool:
    """Whether every node can be reached from every other."""
    seen, left = set[Node](), [next(iter(plan.place))]
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += plan.around(node)
    return len(seen) == len(plan.place)


def kind_of(rng: np.random.Generator, plan: Plan, node: Node) -> str:
    """What rules a junction: signal, protected (left turns too), stop, all-way-stop, give-way, ring or none."""
    around = plan.around(node)
    wide = sum(plan.count(node, other) == 2 for other in around)
    draw = float(rng.random())
    if len(around) == 2:
        return "none"
    if wide > 2:
        return "protected" if draw < 0.5 else "signal"
    if wide:
        return "signal" if draw < 0.4 else "stop"
    if draw < 0.25:
        return "ring"
    return "all-way-stop" if draw < 0.5 else "give-way" if draw < 0.75 else "stop"


def _reach(plan: Plan, node: Node, other: Node) -> float:
    """From the middle of a junction to where the street to another begins, m."""
    if plan.kind[node] == "ring":
        return RING_RADIUS + 0.5 * RING_WIDTH + REACH
    arms = {one: (plan.direction(node, one), WIDTH * plan.count(node, one)) for one in plan.around(node)}
    return reach(*arms.pop(other), list(arms.values()), WIDTH)


def _street(draft: Draft, plan: Plan, a: Node, b: Node) -> Road:
    """A street between two junctions, slightly bowed."""
    begin, end = (
        Pose(*plan.place[one], plan.direction(one, other)).ahead(_reach(plan, one, other))
        for one, other in ((a, b), (b, a))
    )
    count = plan.count(a, b)
    limit = ARTERIAL_LIMIT if count == 2 else STREET_LIMIT
    name = f"{a[0]}.{a[1]}-{b[0]}.{b[1]}"
    return draft.road(name, link(begin, end.turned(math.pi), 1.0 / 3.0), count, count, width=WIDTH, limit=limit)


def _major(plan: Plan, node: Node, other: Node) -> bool:
    """Whether the street from a node to another has priority there: arterials; among side streets those eastwards."""
    if any(plan.count(node, one) == 2 for one in plan.around(node)):
        return plan.count(node, other) == 2
    return node[1] == other[1]


def _arm(road: Road, at_end: bool, major: bool, crossing: bool) -> Arm:
    into, out = (road.forward, road.backward) if at_end else (road.backward, road.forward)
    pose = road.line.end.turned(math.pi) if at_end else road.line.begin
    return Arm(pose, into, out, road.width, major, crossing)


def _join(draft: Draft, rng: np.random.Generator, plan: Plan, node: Node, arms: list[Arm]) -> None:
    """Draws a junction."""
    name, kind = f"junction{node[0]}.{node[1]}", plan.kind[node]
    if kind == "ring":
        ring(draft, name, plan.place[node], RING_RADIUS, arms)
        return
    turns: Turns = "protected" if kind == "protected" else "permitted"
    rules: dict[str, Control] = {"stop": "stop", "all-way-stop": "all-way-stop", "give-way": "give-way", "none": "none"}
    control = rules.get(kind, "signal")
    green, offset = float(rng.uniform(12.0, 20.0)), float(rng.uniform(0.0, 60.0))
    junction(draft, name, arms, control, turns=turns, green=green, offset=offset)
