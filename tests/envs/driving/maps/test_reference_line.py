"""Curves of OpenDRIVE by hand."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.document import Element, MapError
from tiltyard.envs.driving.maps.reference_line import Piece, ReferenceLine, clothoid, cubics, reference_line


def geometry(tag: str, length: float, **numbers: object) -> Element:
    road = Element("road", {"id": "1"}, 1, "a.xodr")
    plan = Element("planView", {}, 2, "a.xodr")
    piece = Element("geometry", dict(s="0", x="10", y="20", hdg=str(np.pi / 2), length=str(length)), 3, "a.xodr")
    piece.children.append(Element(tag, {name: str(value) for name, value in numbers.items()}, 4, "a.xodr"))
    plan.children.append(piece)
    road.children.append(plan)
    return road


def end(tag: str, length: float, **numbers: object) -> list[float]:
    return [float(value[0]) for value in reference_line(geometry(tag, length, **numbers)).at(np.array([length]))]


def test_line_and_quarter_circle() -> None:
    np.testing.assert_allclose(end("line", 5.0), [10, 25, np.pi / 2])
    np.testing.assert_allclose(end("arc", 20 * np.pi, curvature=0.025), [10 - 40, 20 + 40, np.pi], atol=1e-9)


def test_euler_spiral() -> None:
    """Fresnel's integrals at 1: C = 0.7798934, S = 0.4382591, for a heading of pi t^2 / 2."""
    u, v, turn = clothoid(0.0, np.pi)(np.array([1.0]))
    np.testing.assert_allclose([u[0], v[0], turn[0]], [0.7798934004, 0.4382591474, np.pi / 2], atol=1e-9)
    np.testing.assert_allclose(end("spiral", 1.0, curvStart=0, curvEnd=np.pi)[2], np.pi, atol=1e-12)


def test_polynomials_go_by_their_own_length() -> None:
    """v = u along u is a line at 45 degrees, of which 10 m end at u = v = 10 / sqrt(2)."""
    side = 10 / np.sqrt(2)
    np.testing.assert_allclose(end("poly3", 10.0, a=0, b=1, c=0, d=0), [10 - side, 20 + side, 0.75 * np.pi], atol=1e-9)
    uneven = dict(aU=0, bU=10, cU=-5, dU=0, aV=0, bV=0, cV=0, dV=0)  # 5 m long, slower and slower
    line = reference_line(geometry("paramPoly3", 5.0, pRange="normalized", **uneven))
    np.testing.assert_allclose(line.at(np.array([2.5]))[1], [22.5], atol=1e-3)
    arc = reference_line(
        geometry("paramPoly3", 5.0, pRange="arcLength", aU=0, bU=1, cU=0, dU=0, aV=0, bV=0, cV=0, dV=0)
    )
    np.testing.assert_allclose(arc.at(np.array([2.5]))[1], [22.5], atol=1e-9)


def test_samples_are_finer_where_the_line_turns() -> None:
    line = ReferenceLine([Piece(0, 0, 0, 0, 50, clothoid(0, 0)), Piece(50, 50, 0, 0, 10, clothoid(0.2, 0))])
    s = line.samples(0.0, 60.0, 1.0)
    assert s[0] == 0
    assert s[-1] == 60
    assert np.diff(s).max() <= 1.0 + 1e-9
    assert np.diff(s)[s[:-1] > 50.5].max() <= 0.51  # 0.1 rad at 0.2 / m


def test_cubics_begin_where_they_say() -> None:
    rows = [Element("width", dict(sOffset=str(s), a=str(a), b="1", c="0", d="0"), 1, "a") for s, a in ((0, 2), (10, 5))]
    np.testing.assert_allclose(cubics(rows, "sOffset", 100.0)(np.array([100.0, 104.0, 112.0])), [2, 6, 7])
    np.testing.assert_allclose(cubics([], "s")(np.zeros(2)), 0)


def test_damage() -> None:
    with pytest.raises(MapError, match=r"a\.xodr, line 3: a geometry is no line, arc"):
        reference_line(geometry("circle", 1.0))
    with pytest.raises(MapError, match="line 3: a geometry is 0.0 m long"):
        reference_line(geometry("line", 0.0))
    with pytest.raises(MapError, match="line 1: road 1 has no geometry"):
        reference_line(Element("road", {"id": "1"}, 1, "a.xodr"))
