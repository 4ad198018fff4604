"""A race track: a closed line of varied curvature through displaced corners of a random hull."""

import math

import numpy as np
from scipy.spatial import ConvexHull

from ..graph import LaneGraph
from ..polyline import F64
from .curves import STEP, Line
from .draft import Draft

SECTOR = 100.0  # m of each lane, about
LIMIT = 70.0  # m/s
APART = 2.0  # widths of the road between parts of it that are far apart along it, at least
TRIES = 1000
SIGMAS = tuple(range(8, 31, 2))  # m


def racetrack(
    rng: np.random.Generator, *, lanes: int = 2, width: float = 5.0, size: float = 320.0, radius: float = 16.0
) -> LaneGraph:
    """A closed track, driven in one direction, in sectors of about 100 m.

    Args:
        rng: draws the line.
        lanes: side by side.
        width: of a lane, m.
        size: of the square that the corners are drawn in, m.
        radius: smallest of the road's middle, m.
    """
    if radius <= 0.5 * lanes * width:
        raise ValueError(f"a road of {lanes} lanes of {width} m cannot turn with a radius of {radius} m")
    for _ in range(TRIES):
        line = loop(corners(rng, size), radius)
        if line is not None and clear(line, APART * lanes * width):
            return _built(line, lanes, width)
    raise ValueError(f"no track of radius {radius} m or more fits into a square of {size} m: take a larger one")


def corners(rng: np.random.Generator, size: float) -> F64:
    """Corners of a closed line, counter-clockwise, ``[n, 2]``: those of a hull, and displaced points between them."""
    points = rng.uniform(0.0, size, (12, 2))
    hull = points[ConvexHull(points).vertices]
    following = np.roll(hull, -1, axis=0)
    long = np.hypot(*(following - hull).T) > 0.2 * size
    inward = np.stack([hull[:, 1] - following[:, 1], following[:, 0] - hull[:, 0]], 1)
    middle = 0.5 * (hull + following) + rng.uniform(-0.1, 0.45, (len(hull), 1)) * inward
    return np.concatenate([[a, b] if add else [a] for a, b, add in zip(hull, middle, long, strict=True)])


def loop(points: F64, radius: float) -> Line | None:
    """The closed line through corners, rounded as little as its smallest radius allows; ``None``: not by 30 m or less.

    A polygon that is sampled evenly is filtered with a Gaussian along it. The last point is the first one again.
    """
    closed = np.concatenate([points, points[:1]])
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    count = math.ceil(s[-1] / STEP)
    at = np.arange(count) * (s[-1] / count)
    waves = np.fft.fft(np.interp(at, s, closed[:, 0]) + 1j * np.interp(at, s, closed[:, 1]))
    turns = 2.0 * math.pi * np.fft.fftfreq(count) * count / s[-1]  # rad/m
    for sigma in SIGMAS:
        smooth = waves * np.exp(-0.5 * (sigma * turns) ** 2)
        place, first, second = (np.fft.ifft(smooth * (1j * turns) ** order) for order in (0, 1, 2))
        curvature = (first.conj() * second).imag / np.abs(first) ** 3
        if np.abs(curvature).max() <= 1.0 / radius:
            ring = np.append(place, place[0])
            return Line(ring.real, ring.imag, np.unwrap(np.angle(np.append(first, first[0]))))
    return None


def clear(line: Line, apart: float) -> bool:
    """Whether all parts of a closed line that are further apart than 3 ``apart`` along it are ``apart`` m apart."""
    x, y = line.x[:-1], line.y[:-1]
    count = len(x)
    steps = np.abs(np.arange(count)[:, None] - np.arange(count))
    far = np.minimum(steps, count - steps) * STEP > 3.0 * apart
    return bool((np.hypot(x[:, None] - x, y[:, None] - y)[far] >= apart).all())


def _built(line: Line, lanes: int, width: float) -> LaneGraph:
    draft = Draft("racetrack")
    count = round(line.length / SECTOR)
    edges = np.round(np.linspace(0, len(line.x) - 1, count + 1)).astype(int)
    left = line.beside(0.5 * lanes * width)
    rows = []
    for sector, (begin, end) in enumerate(zip(edges, edges[1:], strict=False)):
        part = Line(*(column[begin : end + 1] for column in left))
        rows.append(draft.lanes_beside(f"sector{sector}", part, lanes, width=width, limit=LIMIT))
    for row, after in zip(rows, rows[1:] + rows[:1], strict=True):
        for lane, following in zip(row, after, strict=True):
            draft.follow(lane, following)
    return draft.built()
