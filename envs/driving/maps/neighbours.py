"""Which lanes run side by side, from their geometry: of the same direction, adjacent, along their whole length."""

import numpy as np

from .grid import ranges
from .polyline import F64, I64, Points

SAMPLES = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of both lanes' lengths at which they are compared
TURN = 0.3  # rad between them at most
GAP = 0.35  # of the distance of the middles from half the sum of the widths, as a share of that
SHIFT = 2.0  # m along the lane between points of the same share, at most; longer lanes: 3% of the length
CELL = 8.0  # m


def samples(points: Points, column: F64) -> F64:
    """A column at :data:`SAMPLES` of each lane, ``[L, 5]``, linear between points."""
    at, share = _places(points)
    return column[at] + share * (column[at + 1] - column[at])


def _places(points: Points) -> tuple[I64, F64]:
    """The segment of each sample, ``[L, 5]``, and the share of it."""
    offset = np.concatenate([[0.0], np.cumsum(points.length + 1.0)])  # makes s grow through all lanes
    wanted = offset[:-1, None] + points.length[:, None] * np.array(SAMPLES)
    key = points.s + offset[points.lane]
    at = np.searchsorted(key, wanted.ravel(), side="right").reshape(wanted.shape) - 1
    at = np.clip(at, points.first[:-1, None], points.first[1:, None] - 2)
    return at, np.clip((wanted - key[at]) / (key[at + 1] - key[at]), 0.0, 1.0)


def candidates(x: F64, y: F64) -> tuple[I64, I64]:
    """Pairs of points nearer to each other than a cell, and some more, both ways round, by a grid."""
    i, j = (np.floor((value - value.min()) / CELL).astype(np.int64) + 1 for value in (x, y))
    wide = int(j.max()) + 2
    square = i * wide + j
    order = np.argsort(square, kind="stable")
    a, b = [], []
    for shift in (-wide - 1, -wide, -wide + 1, -1, 0, 1, wide - 1, wide, wide + 1):
        low, high = (np.searchsorted(square[order], square + shift, side=side) for side in ("left", "right"))
        counts = high - low
        a.append(np.repeat(np.arange(len(x)), counts))
        b.append(order[np.repeat(low, counts) + ranges(counts)])
    return np.concatenate(a), np.concatenate(b)


def beside(points: Points, kind: I64, junction: I64) -> tuple[I64, I64]:
    """The left and right neighbours of all lanes, ``[L]``, -1 where there is none.

    Two lanes are neighbours if they are of one kind and one junction (or none), and at 0, 1/4, ... of both their
    lengths the middles are half the sum of the widths apart (within 35%), level along the lane, and of one heading.
    """
    x, y, width = (samples(points, column) for column in (points.x, points.y, points.width))
    heading = points.heading[_places(points)[0]]
    a, b = candidates(x[:, 2], y[:, 2])
    keep = (a != b) & (kind[a] == kind[b]) & (junction[a] == junction[b])
    a, b = a[keep], b[keep]
    dx, dy = x[b] - x[a], y[b] - y[a]
    along = dx * np.cos(heading[a]) + dy * np.sin(heading[a])
    aside = dy * np.cos(heading[a]) - dx * np.sin(heading[a])
    apart = 0.5 * (width[a] + width[b])
    level = np.abs(along) <= np.maximum(SHIFT, 0.03 * points.length[a])[:, None]
    same = np.cos(heading[b] - heading[a]) >= np.cos(TURN)
    high = np.abs(samples(points, points.height)[b] - samples(points, points.height)[a]) < 2.0
    found = []
    for side in (1.0, -1.0):
        fits = (level & same & high & (np.abs(side * aside - apart) <= GAP * apart)).all(1)
        miss = np.abs(side * aside - apart).mean(1)
        one = np.full(len(kind), -1)
        order = np.argsort(-miss[fits], kind="stable")  # the best is written last
        one[a[fits][order]] = b[fits][order]
        found.append(one)
    return found[0], found[1]


def groups(count: int, a: I64, b: I64) -> I64:
    """The number of the connected group that each of ``count`` items is in, given links ``a[k]`` - ``b[k]``, from 0 on.

    Groups are numbered by their first item.
    """
    label = np.arange(count)
    while True:
        low = np.minimum(label[a], label[b])
        new = label.copy()
        np.minimum.at(new, a, low)
        np.minimum.at(new, b, low)
        new = new[new]
        if (new == label).all():
            return np.unique(label, return_inverse=True)[1]
        label = new
