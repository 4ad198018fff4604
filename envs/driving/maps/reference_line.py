"""The reference line of an OpenDRIVE road: lines, arcs, spirals and polynomials, one after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Polynomial

from .document import Element

F64 = npt.NDArray[np.float64]

Local = Callable[[F64], tuple[F64, F64, F64]]
"""From the distance along a piece (m, ``[n]``) to forward, left (m) and heading (rad) from where and as it begins."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True)
class Piece:
    """A geometry of the plan view: where it begins, and its shape from there."""

    s: float
    x: float
    y: float
    heading: float
    length: float
    shape: Local


class ReferenceLine:
    """The pieces of a road, evaluated at any ``s``."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = sorted(pieces, key=lambda piece: piece.s)
        self.begins = np.array([piece.s for piece in self.pieces])

    def at(self, s: F64) -> tuple[F64, F64, F64]:
        """x, y (m) and heading (rad) at each ``s``, ``[n]`` each."""
        of = np.clip(np.searchsorted(self.begins, s, side="right") - 1, 0, len(self.pieces) - 1)
        x, y, heading = (np.zeros(len(s)) for _ in range(3))
        for i in np.unique(of):
            piece, here = self.pieces[i], of == i
            u, v, turn = piece.shape(s[here] - piece.s)
            cos, sin = np.cos(piece.heading), np.sin(piece.heading)
            x[here], y[here] = piece.x + u * cos - v * sin, piece.y + u * sin + v * cos
            heading[here] = piece.heading + turn
        return x, y, heading

    def samples(self, begin: float, end: float, step: float, turn: float = 0.1) -> F64:
        """Values of s from begin to end, at most ``step`` m and (down to 0.1 m) ``turn`` rad apart."""
        fine = np.linspace(begin, end, max(int((end - begin) / 0.1), 1) + 1)
        heading = np.unwrap(self.at(fine)[2])
        need = np.maximum(np.diff(fine) / step, np.abs(np.diff(heading)) / turn)
        reached = np.concatenate([[0.0], np.cumsum(need)])
        count = max(int(np.ceil(reached[-1])), 1)
        return np.interp(np.linspace(0.0, reached[-1], count + 1), reached, fine)


def reference_line(road: Element) -> ReferenceLine:
    """The plan view of a road.

    Raises:
        MapError: there is none, or a piece of it is broken.
    """
    pieces = [_piece(one) for one in road.all("planView", "geometry")]
    if not pieces:
        road.fail(f"road {road.get('id')} has no geometry in its planView")
    return ReferenceLine(pieces)


def _piece(one: Element) -> Piece:
    s, x, y, heading, length = (one.number(name) for name in ("s", "x", "y", "hdg", "length"))
    if length <= 0.0:
        one.fail(f"a geometry is {length} m long")
    for shape in one.children:
        if shape.tag in SHAPES:
            return Piece(s, x, y, heading, length, SHAPES[shape.tag](shape, length))
    one.fail("a geometry is no line, arc, spiral, poly3 or paramPoly3")


def _line(shape: Element, length: float) -> Local:
    return lambda d: (d, np.zeros_like(d), np.zeros_like(d))


def _arc(shape: Element, length: float) -> Local:
    return clothoid(shape.number("curvature"), 0.0)


def _spiral(shape: Element, length: float) -> Local:
    begin, end = shape.number("curvStart"), shape.number("curvEnd")
    return clothoid(begin, (end - begin) / length)


def clothoid(curvature: float, change: float) -> Local:
    """A curve whose curvature (1/m) grows by ``change`` (1/m2): heading ``k d + c d^2 / 2``, integrated by Gauss."""

    def local(d: F64) -> tuple[F64, F64, F64]:
        at = d[:, None] * (NODES + 1.0) / 2.0
        turn = curvature * at + change * at**2 / 2.0
        half = d / 2.0
        return half * (np.cos(turn) @ WEIGHTS), half * (np.sin(turn) @ WEIGHTS), curvature * d + change * d**2 / 2.0

    return local


def _poly3(shape: Element, length: float) -> Local:
    """``v(u) = a + b u + c u^2 + d u^3``; u is found from the length of the curve up to there."""
    v = Polynomial([shape.number(name) for name in "abcd"])
    return _by_length(Polynomial([0.0, 1.0]), v, length, length, scaled=False)


def _param_poly3(shape: Element, length: float) -> Local:
    """``u(p), v(p)`` for p from 0 to 1, or to the piece's length; p is found as u of a poly3."""
    u, v = (Polynomial([shape.number(f"{name}{axis}") for name in "abcd"]) for axis in "UV")
    return _by_length(u, v, length if shape.get("pRange") == "arcLength" else 1.0, length, scaled=True)


def _by_length(u: Polynomial, v: Polynomial, last: float, length: float, *, scaled: bool) -> Local:
    """The curve ``u(p), v(p)`` by its own length; ``scaled``: p = ``last`` is at the piece's end."""
    p = np.linspace(0.0, last, int(min(length, 1e4) * 10) + 65)
    pace = np.hypot(u.deriv()(p), v.deriv()(p))
    reached = np.concatenate([[0.0], np.cumsum(np.diff(p) * (pace[1:] + pace[:-1]) / 2)])
    if scaled and reached[-1] > 0.0:
        reached *= length / reached[-1]

    def local(d: F64) -> tuple[F64, F64, F64]:
        at = np.interp(d, reached, p)
        return u(at), v(at), np.arctan2(v.deriv()(at), u.deriv()(at))

    return local


SHAPES: dict[str, Callable[[Element, float], Local]] = {
    "line": _line,
    "arc": _arc,
    "spiral": _spiral,
    "poly3": _poly3,
    "paramPoly3": _param_poly3,
}


@dataclass(frozen=True)
class Cubics:
    """A function of s made of cubic polynomials, each from its begin on; 0 if there are none."""

    begins: F64  # [n], rising
    factors: F64  # [n, 4]: a + b d + c d^2 + d d^3

    def __call__(self, s: F64) -> F64:
        """Its values, ``[n]``."""
        if not len(self.begins):
            return np.zeros(len(s))
        of = np.clip(np.searchsorted(self.begins, s, side="right") - 1, 0, None)
        d = s - self.begins[of]
        a, b, c, e = self.factors[of].T
        value: F64 = a + d * (b + d * (c + d * e))
        return value


def cubics(elements: Sequence[Element], begin: str, shift: float = 0.0) -> Cubics:
    """The function that elements with a, b, c, d and the attribute ``begin`` write; ``shift`` is added to begins."""
    rows = [[one.number(begin) + shift, *(one.number(name) for name in "abcd")] for one in elements]
    table = np.array(sorted(rows), float).reshape(-1, 5)
    return Cubics(table[:, 0], table[:, 1:])
