"""Oriented boxes in the plane: corners, overlap, and whether a segment meets one."""

from math import cos, sin

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Point = tuple[float, float]


def corners(x: float, y: float, heading: float, length: float, width: float) -> tuple[Point, Point, Point, Point]:
    """Front left, rear left, rear right, front right."""
    along = (0.5 * length * cos(heading), 0.5 * length * sin(heading))
    left = (-0.5 * width * sin(heading), 0.5 * width * cos(heading))
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    a, b, c, d = ((x + f * along[0] + g * left[0], y + f * along[1] + g * left[1]) for f, g in signs)
    return a, b, c, d


def cross(a: Point, b: Point, box: tuple[Point, Point, Point, Point]) -> bool:
    """Whether the segment from ``a`` to ``b`` meets a box (its edge included): no axis separates them."""
    normals = [(box[0][0] - box[1][0], box[0][1] - box[1][1]), (box[0][0] - box[3][0], box[0][1] - box[3][1])]
    normals.append((b[1] - a[1], a[0] - b[0]))
    for nx, ny in normals:
        ends = [nx * px + ny * py for px, py in (a, b)]
        other = [nx * px + ny * py for px, py in box]
        if max(ends) < min(other) or max(other) < min(ends):
            return False
    return True


def overlap(one: Array, others: Array) -> npt.NDArray[np.bool_]:
    """Which boxes meet a box, touching included.

    Args:
        one: ``[5]`` x, y, heading, length, width.
        others: ``[n, 5]`` the same.

    Returns:
        ``[n]``; by the separating axes of both boxes.
    """
    dx, dy = others[:, 0] - one[0], others[:, 1] - one[1]
    turn = others[:, 2] - one[2]
    c, s = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    apart = np.zeros(len(others), np.bool_)
    half, halves = 0.5 * one[3:5], 0.5 * others[:, 3:5]
    for heading, own, far in (
        (one[2], half, (halves[:, 0] * c + halves[:, 1] * s, halves[:, 0] * s + halves[:, 1] * c)),
        (others[:, 2], halves.T, (half[0] * c + half[1] * s, half[0] * s + half[1] * c)),
    ):
        along = np.abs(dx * np.cos(heading) + dy * np.sin(heading))
        across = np.abs(dy * np.cos(heading) - dx * np.sin(heading))
        apart |= (along > own[0] + far[0]) | (across > own[1] + far[1])
    return ~apart
