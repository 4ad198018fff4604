"""Places on a map, compiled: from a point to its lane, from a lane to its points.

``s`` is along a lane's middle, ``d`` to its left, both in m.
"""

import math
from typing import Any

from ..compiled import compiled
from .graph import NONE, Columns


@compiled
def aside(columns: Columns, point: int, x: float, y: float) -> tuple[float, float, float]:
    """``s``, ``d`` and the distance of (x, y) from the segment that begins at ``point``; ``s`` stays on the segment."""
    px, py = columns.x[point], columns.y[point]
    mx, my = columns.x[point + 1] - px, columns.y[point + 1] - py
    length = math.hypot(mx, my)  # not of s: its rounding would grow with the distance
    ux, uy = mx / length, my / length
    along = (x - px) * ux + (y - py) * uy
    d = (y - py) * ux - (x - px) * uy
    on = min(max(along, 0.0), length)
    s = columns.s[point] + on / length * (columns.s[point + 1] - columns.s[point])
    return s, d, math.hypot(along - on, d)


@compiled
def project(columns: Columns, lane: int, x: float, y: float) -> tuple[int, float, float]:
    """The nearest place of a lane: the point at which its segment begins, ``s`` and ``d``."""
    best, nearest = columns.first[lane], math.inf
    s, d = 0.0, 0.0
    for point in range(columns.first[lane], columns.first[lane + 1] - 1):
        one_s, one_d, distance = aside(columns, point, x, y)
        if distance < nearest:
            best, nearest, s, d = point, distance, one_s, one_d
    return best, s, d


@compiled
def track(columns: Columns, point: int, x: float, y: float) -> tuple[int, float, float]:
    """As :func:`project`, of one who was on the segment that begins at ``point``: from there to the next nearest.

    Right for those who move less than a segment or so at a time, as long as the lane does not turn back on itself.
    """
    lane = columns.lane[point]
    first, last = columns.first[lane], columns.first[lane + 1] - 2
    best = min(max(point, first), last)
    s, d, nearest = aside(columns, best, x, y)
    for step in (1, -1):
        while first <= best + step <= last:
            one_s, one_d, distance = aside(columns, best + step, x, y)
            if distance >= nearest:
                break
            best, s, d, nearest = best + step, one_s, one_d, distance
    return best, s, d


@compiled
def locate(columns: Columns, x: float, y: float, heading: float, weight: float, kind: int) -> tuple[int, float, float]:
    """The lane whose middle is nearest, by distance + ``weight`` (1 - cos of the difference of headings).

    Args:
        columns: of the map.
        x: m.
        y: m.
        heading: rad, of who asks.
        weight: m; 0: the nearest in space. Some metres choose among lanes that cross in a junction.
        kind: of the lanes that are looked at; NONE: all.

    Returns:
        The point at which its segment begins (``columns.lane`` tells the lane), ``s`` and ``d``; NONE, 0, 0 if the map
        has no lane of that kind.
    """
    cell = columns.grid_cell[0]
    nx, ny = columns.grid_shape[0], columns.grid_shape[1]
    i = int(math.floor((x - columns.grid_origin[0]) / cell))
    j = int(math.floor((y - columns.grid_origin[1]) / cell))
    best, least = NONE, math.inf
    s, d = 0.0, 0.0
    # Squares around (i, j), ring by ring. What lies beyond ring r is at least r cells away. Start at the map's edge.
    ring = max(0, -i, i - nx + 1, -j, j - ny + 1)
    furthest = max(abs(i), abs(i - nx + 1), abs(j), abs(j - ny + 1))
    while ring <= furthest:
        if best != NONE and least <= (ring - 1) * cell:
            break
        for a in range(max(i - ring, 0), min(i + ring, nx - 1) + 1):
            stride = 1 if abs(a - i) == ring or ring == 0 else 2 * ring
            for b in range(j - ring, j + ring + 1, stride):
                if b < 0 or b >= ny:
                    continue
                for item in range(columns.grid_first[a * ny + b], columns.grid_first[a * ny + b + 1]):
                    point = columns.grid_point[item]
                    if kind != NONE and columns.kind[columns.lane[point]] != kind:
                        continue
                    one_s, one_d, cost = aside(columns, point, x, y)
                    if weight > 0.0:
                        cost += weight * (1.0 - math.cos(heading - columns.heading[point]))
                    if cost < least or (cost == least and point < best):
                        best, least, s, d = point, cost, one_s, one_d
        ring += 1
    return best, s, d


@compiled
def segment(columns: Columns, lane: int, s: float) -> int:
    """The point at which the segment of ``lane`` at ``s`` begins; before and after the lane: its first and last one."""
    low, high = columns.first[lane], columns.first[lane + 1] - 2
    while low < high:
        middle = (low + high + 1) // 2
        if columns.s[middle] <= s:
            low = middle
        else:
            high = middle - 1
    return int(low)


@compiled
def place(columns: Columns, lane: int, s: float, d: float) -> tuple[float, float, float]:
    """x, y and the direction of the lane at ``s``, ``d`` to its left; before and after the lane straight on."""
    point = segment(columns, lane, s)
    heading = columns.heading[point]
    cos, sin = math.cos(heading), math.sin(heading)
    ahead = s - columns.s[point]
    return columns.x[point] + ahead * cos - d * sin, columns.y[point] + ahead * sin + d * cos, heading


def nearest(columns: Columns, x: float, y: float, heading: float | None = None, kind: int = NONE) -> Any:
    """:func:`locate` for people: ``(lane, s, d)``."""
    point, s, d = locate(columns, x, y, heading or 0.0, 0.0 if heading is None else 4.0, kind)
    return int(columns.lane[point]) if point != NONE else NONE, s, d
