"""A grid over a map's segments: which of them touch each square, by the box around their area."""

from typing import NamedTuple

import numpy as np

from .polyline import F64, I64, Points

CELL = 8.0  # m


def ranges(counts: I64) -> I64:
    """``0, 1, ..., counts[0] - 1, 0, 1, ...``: the place of each item within its own list."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def boxes(points: Points, at: I64) -> tuple[F64, F64]:
    """Lower and upper corners ``[n, 2]`` of the boxes around the areas of the segments that begin at ``at``."""
    ends = np.stack([np.stack([points.x[i], points.y[i]], 1) for i in (at, at + 1)])
    reach = 0.5 * np.maximum(points.width[at], points.width[at + 1])[:, None]
    return ends.min(0) - reach, ends.max(0) + reach


class Grid(NamedTuple):
    """The columns ``grid_*`` of :class:`~.graph.Columns`."""

    origin: F64
    cell: F64
    shape: I64
    first: I64
    point: I64


def grid(points: Points) -> Grid:
    """The grid over all segments, each in the squares that the box around its area touches."""
    at = points.segments()
    low, high = boxes(points, at)
    origin = np.floor(low.min(0)) - 1.0
    cell = CELL
    while np.prod((high.max(0) - origin) / cell) > 4e6:  # few roads in a wide country: larger cells
        cell *= 2.0
    shape = np.floor((high.max(0) - origin) / cell).astype(np.int64) + 1
    begin = np.floor((low - origin) / cell).astype(np.int64)
    size = np.floor((high - origin) / cell).astype(np.int64) - begin + 1
    counts = size[:, 0] * size[:, 1]
    item = np.repeat(np.arange(len(at)), counts)
    place = ranges(counts)
    i = begin[item, 0] + place // size[item, 1]
    j = begin[item, 1] + place % size[item, 1]
    square = i * shape[1] + j
    order = np.argsort(square, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(square, minlength=int(shape[0] * shape[1])))])
    return Grid(origin, np.array([cell]), shape, first, at[item[order]])
