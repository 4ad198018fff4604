"""A map as a picture: lanes by kind, stop lines by what they ask for, crossings, and where one may enter and leave."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from .geometry import place
from .graph import CYCLING, DRIVING, F32, GIVE_WAY, SHOULDER, SIGNAL, STOP_SIGN, WALKING, LaneGraph

GROUND = {DRIVING: "#c9ccd1", SHOULDER: "#e3e0d6", CYCLING: "#d9b8a8", WALKING: "#e9e9e9"}
LINES = {SIGNAL: "#d62728", STOP_SIGN: "#8c1fb0", GIVE_WAY: "#ff7f0e"}


def areas(graph: LaneGraph) -> list[F32]:
    """The outline of each lane, ``[2 n, 2]`` m."""
    c = graph.columns
    aside = np.stack([-np.sin(c.heading), np.cos(c.heading)], 1) * 0.5 * c.width[:, None]
    middle = np.stack([c.x, c.y], 1)
    spans = [slice(c.first[i], c.first[i + 1]) for i in range(len(graph))]
    return [np.concatenate([(middle + aside)[span], (middle - aside)[span][::-1]]) for span in spans]


def draw(graph: LaneGraph, axes: Axes, *, names: bool = False, arrows: bool = True) -> None:
    """Draws a map.

    Args:
        graph: the map.
        axes: where to.
        names: whether lanes are named.
        arrows: whether the middles end in arrows.
    """
    c = graph.columns
    kinds = [int(kind) for kind in c.kind]
    colours = [GROUND[kind] for kind in kinds]
    axes.add_collection(PolyCollection(areas(graph), facecolors=colours, edgecolors="#ffffff", linewidths=0.4))
    inside = np.where(c.junction >= 0, "#5b7fa6", "#777777")
    axes.add_collection(
        LineCollection([graph.points(i) for i in range(len(graph))], colors=list(inside), linewidths=0.5)
    )
    for lane in range(len(graph)):
        x, y, heading = place(c, lane, 0.6 * float(c.length[lane]), 0.0)
        if arrows:
            axes.quiver(x, y, np.cos(heading), np.sin(heading), color=inside[lane], scale=70, width=0.0015)
        if names:
            axes.text(x, y, graph.lane_ids[lane], fontsize=4)
        for end, column in ((0.0, c.previous_first), (float(c.length[lane]), c.next_first)):
            if column[lane] == column[lane + 1]:
                x, y, _ = place(c, lane, end, 0.0)
                axes.plot(x, y, "o" if end == 0.0 else "s", color="#2ca02c" if end == 0.0 else "#1f77b4", markersize=3)
        for stop in range(c.stop_first[lane], c.stop_first[lane + 1]):
            half = 0.45 * float(np.interp(c.stop_s[stop], *_widths(graph, lane)))
            ends = np.array([place(c, lane, float(c.stop_s[stop]), side)[:2] for side in (-half, half)])
            axes.plot(*ends.T, color=LINES[int(c.stop_kind[stop])], linewidth=1.6)
    for ax, ay, bx, by, _ in c.crossing:
        axes.plot([ax, bx], [ay, by], color="#222222", linewidth=2.0, linestyle=(0, (0.8, 0.6)))
    axes.set_aspect("equal")
    axes.autoscale()
    axes.set_title(f"{graph.name}: {len(graph)} lanes, {c.length[c.kind == DRIVING].sum() / 1000.0:.1f} lane-km")


def _widths(graph: LaneGraph, lane: int) -> tuple[F32, F32]:
    """``s`` and width of a lane's points."""
    span = slice(graph.columns.first[lane], graph.columns.first[lane + 1])
    return graph.columns.s[span], graph.columns.width[span]


def picture(graph: LaneGraph, path: str, *, inches: float = 10.0, names: bool = False) -> None:
    """Writes a picture of a map to a file."""
    figure = Figure((inches, inches), layout="constrained")
    draw(graph, figure.subplots(), names=names)
    figure.savefig(path, dpi=110)
