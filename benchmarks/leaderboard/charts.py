"""Inline SVG line charts with bands: no script, no network, readable at the width of a phone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from ..statistics import Band, Floats

WIDTH, HEIGHT = 360, 236
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 24, 34


@dataclass(frozen=True)
class Series:
    """A line: its name, colour, points ``[n]`` and, where known, its band."""

    name: str
    colour: str
    x: Floats
    y: Floats
    band: Band | None


@dataclass(frozen=True)
class _Scale:
    x: tuple[float, float]
    y: tuple[float, float]

    def points(self, x: Floats, y: Floats) -> str:
        """SVG coordinates ``x,y x,y ...``."""
        return " ".join(f"{self.at_x(a):.1f},{self.at_y(b):.1f}" for a, b in zip(x, y, strict=True))

    def at_x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.x[0]) / (self.x[1] - self.x[0])

    def at_y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.y[0]) / (self.y[1] - self.y[0])


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers inside [low, high], at most ``most + 1`` of them, in steps of 1, 2 or 5 times a power of ten."""
    span = high - low
    power = 10.0 ** np.floor(np.log10(span / most))
    step = next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= most)
    first = int(np.ceil(low / step - 1e-9))
    last = int(np.floor(high / step + 1e-9))
    return [round(float(i * step), 12) for i in range(first, last + 1)]


def number(value: float) -> str:
    """A short label: ``0.25``, ``3``, ``20k``, ``1.5M``; a minus sign, not a hyphen."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}".replace("-", "\N{MINUS SIGN}")
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def line_chart(
    series: Sequence[Series], *, title: str, x_label: str, y_label: str, y_range: tuple[float, float] | None = None
) -> str:
    """An SVG element.

    Args:
        series: the lines; those without points are left out.
        title: read out by screen readers.
        x_label: below the axis.
        y_label: above the axis.
        y_range: fixed ends of the vertical axis; by default 0 and all bands fit.
    """
    shown = [one for one in series if len(one.x)]
    if not shown:
        return '<p class="quiet">No points to draw.</p>'
    scale = _scale(shown, y_range)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        *_axes(scale, x_label, y_label),
        *(_band(one, scale) for one in shown if one.band),
        *(_line(one, scale) for one in shown),
        "</svg>",
    ]
    return "\n".join(parts)


def _scale(series: Sequence[Series], y_range: tuple[float, float] | None) -> _Scale:
    x = np.concatenate([one.x for one in series])
    y = np.concatenate([part for one in series for part in _extent(one)])
    x_low, x_high = float(x.min()), float(x.max())
    low, high = y_range or (min(0.0, float(y.min())), max(0.0, float(y.max())))
    margin = 0.0 if y_range else 0.04 * (high - low)
    return _Scale((x_low, x_high if x_high > x_low else x_low + 1), (low - margin, high + margin or low + 1))


def _extent(one: Series) -> list[Floats]:
    return [one.y, one.band.low, one.band.high] if one.band else [one.y]


def _axes(scale: _Scale, x_label: str, y_label: str) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for value in ticks(*scale.y):
        y = scale.at_y(value)
        kind = "zero" if value == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{number(value)}</text>')
    for value in ticks(*scale.x):
        x = scale.at_x(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{number(value)}</text>')
    parts.append(f'<text class="label" x="{right}" y="{HEIGHT - 3}" text-anchor="end">{escape(x_label)}</text>')
    parts.append(f'<text class="label" x="0" y="11">{escape(y_label)}</text>')
    return parts


def _band(one: Series, scale: _Scale) -> str:
    assert one.band is not None
    edge = np.concatenate([one.x, one.x[::-1]]), np.concatenate([one.band.high, one.band.low[::-1]])
    return f'<polygon points="{scale.points(*edge)}" fill="{one.colour}" fill-opacity="0.16"/>'


def _line(one: Series, scale: _Scale) -> str:
    path = f'<polyline points="{scale.points(one.x, one.y)}" fill="none" stroke="{one.colour}" stroke-width="2"/>'
    dots = ""
    if len(one.x) <= 30:
        dots = "".join(
            f'<circle cx="{scale.at_x(x):.1f}" cy="{scale.at_y(y):.1f}" r="2.4" fill="{one.colour}">'
            f"<title>{escape(one.name)} at {number(round(x, 6))}: {y:.3f}</title></circle>"
            for x, y in zip(one.x, one.y, strict=True)
        )
    return f"<g><title>{escape(one.name)}</title>{path}{dots}</g>"
