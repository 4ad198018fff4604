"""One way of drawing: Matplotlib with one palette and one style, as PNG for pages of Markdown and as SVG for HTML.

Everything is drawn and written inside :func:`canvas`, which holds the style::

    with canvas(6.4, 3.6) as figure:
        axes = figure.subplots()
        curve(axes, steps, means, colour=PALETTE[0], label="sac", band=band)
        figure.savefig(path)
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from .records import printable
from .statistics import Band, Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, GRID = "#1c2430", "#6b7280", "#d7dce3"
STRONG = (
    "#2f6fdb",
    "#e0752d",
    "#2e9e6b",
    "#a04fc4",
    "#c8383f",
    "#1597a5",
    "#b08415",
    "#d6569b",
    "#8a5a3c",
    "#6f7885",
)
PALE = ("#8bb0ec", "#eeb288", "#89c9ad", "#cb9cdf", "#e08f93", "#7cc5cd", "#d3ba7b", "#e99fc6", "#bda08f", "#adb2ba")
PALETTE = (*STRONG, *PALE)
"""Twenty colours that differ on white and on dark ground, the ten strong ones first; more repeat."""
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GRID,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "savefig.dpi": 120,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tiltyard",  # the same picture has the same names inside
    "text.color": INK,
    "text.parse_math": False,  # dollars are signs, not formulas
    "xtick.color": GRID,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.color": GRID,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}
SVG = "{http://www.w3.org/2000/svg}"
NAMED = "named "
ON_PAGE: Mapping[str, str] = {INK: "var(--ink)", SOFT: "var(--soft)", GRID: "var(--line)"}
"""The page's own names of the colours that change where it is dark."""


@contextmanager
def canvas(width: float, height: float) -> "Iterator[Figure]":
    """An empty figure of so many inches, and our style until the block ends."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure(figsize=(width, height), facecolor="white", layout="constrained")


def check_picture(path: str | Path) -> None:
    """Refuses a file whose name ends in no format of pictures that Matplotlib writes.

    Raises:
        ValueError: it does.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    if Path(path).suffix.removeprefix(".").lower() not in FigureCanvasBase.get_supported_filetypes():
        raise ValueError(f"a picture's name ends in .png, .svg, .pdf or .jpg, got {str(path)!r}")


def colour(place: int) -> str:
    """The palette's colour at ``place``, which counts on from its end to its start."""
    return PALETTE[place % len(PALETTE)]


def curve(
    axes: "Axes",
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    colour: str,
    label: str = "",
    band: Band | None = None,
    width: float = 1.6,
    marker: str = "",
) -> None:
    """A line through points ``[n]`` and, where known, its band; a legend names it if there is a label."""
    (line,) = axes.plot(x, y, color=colour, label=label or "_", linewidth=width, marker=marker)
    line.set_gid(NAMED + printable(label))
    if band is not None:
        known = np.flatnonzero(np.isfinite(band.low))
        for part in filter(
            len, np.split(known, np.flatnonzero(np.diff(known) > 1) + 1)
        ):  # where there is no interval, no area
            at = np.asarray(x)[part]
            edge = np.append(at, at[::-1]), np.append(band.low[part], band.high[part][::-1])
            axes.fill(*edge, color=colour, alpha=0.16, linewidth=0)


def dots(axes: "Axes", x: npt.ArrayLike, y: npt.ArrayLike, *, colour: str, said: Sequence[str]) -> None:
    """A dot a point, each with its own words for whoever points at it; strokes, not markers, as :func:`svg` needs."""
    for at, height, words in zip(np.asarray(x), np.asarray(y), said, strict=True):
        (dot,) = axes.plot([at, at], [height, height], color=colour, linewidth=4, solid_capstyle="round")
        dot.set_gid(NAMED + printable(words))


class Estimate(NamedTuple):
    """A row of :func:`intervals`; ``interval`` is None where there is none."""

    name: str
    value: float
    interval: Interval | None
    colour: str


def intervals(axes: "Axes", rows: Sequence[Estimate], *, size: float = 6) -> None:
    """A dot and the bar of its interval a row, the first row above; names stand at the left.

    Args:
        axes: to draw in.
        rows: from above.
        size: of a dot, in points.
    """
    for place, row in enumerate(rows):
        if row.interval is not None:
            axes.hlines(place, row.interval.low, row.interval.high, color=row.colour, linewidth=size / 2, alpha=0.4)
        axes.plot(row.value, place, "o", color=row.colour, markersize=size * 0.6)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)


def from_zero(axes: "Axes") -> None:
    """Shows where 0 is upwards, and short round numbers along the axis below."""
    from matplotlib.ticker import MaxNLocator

    axes.axhline(0, color=SOFT, linewidth=0.8, zorder=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(lambda value, _: number(round(value, 9)))


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers inside [low, high], at most ``most + 1`` of them, in steps of 1, 2 or 5 times a power of ten."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [round(float(value), 12) for value in found if low <= value <= high]


def number(value: float) -> str:
    """A short label: ``0.25``, ``3``, ``20k``, ``1.5M``; a minus sign, not a hyphen."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}".replace("-", "\N{MINUS SIGN}")
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def svg(figure: "Figure", title: str) -> str:
    """The figure as an inline SVG element of lines, areas and text, for a page that holds several.

    It has no ground, fonts and ids of its own, and its ink, soft ink and grid are the page's (:data:`ON_PAGE`), so that
    they change where it is dark. Nothing is clipped: the axes must hold what they show. A curve shows its label to
    whoever points at it. The same figure makes the same text.

    Args:
        figure: drawn inside :func:`canvas`, without markers, patterns and pictures, which are none of the three.
        title: what readers hear who do not see it.

    Raises:
        ValueError: the figure has something else in it.
    """
    written = StringIO()
    figure.savefig(written, format="svg", transparent=True)
    root = ElementTree.fromstring(written.getvalue())
    others = {element.tag for element in root.iter()} & {f"{SVG}use", f"{SVG}image"}
    if others:
        raise ValueError("a figure for the page is made of lines, areas and text: draw it without markers and pictures")
    head = {"class": "chart", "viewBox": root.attrib["viewBox"], "role": "img", "aria-label": title}
    made = ElementTree.Element("svg", head)
    for group in root.iter(f"{SVG}g"):
        for part in group:
            if part.tag in (f"{SVG}path", f"{SVG}text") and part.attrib["style"] != "fill: none":
                made.append(_plain(part, group.attrib.get("id", "")))
    return ElementTree.tostring(made, encoding="unicode")


def _plain(part: ElementTree.Element, group: str) -> ElementTree.Element:
    """A path or a text element without ids and fonts, coordinates rounded to what is visible."""
    made = ElementTree.Element(part.tag.removeprefix(SVG))
    made.text = (part.text or "").strip()
    if group.startswith(NAMED):
        ElementTree.SubElement(made, "title").text = group.removeprefix(NAMED)
    style = re.sub(r"font-family: [^;]*; |stroke-line(cap|join): \w+;? ?", "", part.attrib["style"])  # lines end round
    for own, named in ON_PAGE.items():
        style = style.replace(own, named)
    made.attrib["style"] = style.rstrip("; ").replace(": ", ":").replace("; ", ";")
    for name in ("d", "x", "y", "transform"):
        found = " ".join(re.sub(r"-?\d+\.\d+", _tenths, part.attrib.get(name, "")).split())
        if found and not found.startswith("rotate(-0 "):
            made.attrib[name] = found
    return made


def _tenths(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")
