"""``tiltyard maps``: which maps are on this machine, and whether one of them can be driven on."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

if TYPE_CHECKING:
    from ..envs.driving.maps.graph import LaneGraph


@dataclass
class Maps:
    """Lists the generators of maps and the maps of installed packages, or reads one and tells what is in it."""

    map: tyro.conf.Positional[str] = "all"
    """a file (Lanelet2 .osm, OpenDRIVE .xodr, SUMO .net.xml) or a name from the list, such as town:7"""
    picture: Path | None = None
    """image file to draw the map into, such as town.png"""

    def run(self) -> int:
        """Prints the list, or the counts and warnings of a map.

        Raises:
            ValueError: a file that holds no map, or a picture without a map or in no format.
        """
        from ..envs.driving.maps.load import load

        if self.map == "all":
            if self.picture is not None:
                raise ValueError("name the map to draw: tiltyard maps MAP --picture FILE")
            print("\n".join(listed()))
            return 0
        if self.picture is not None:
            from .charts import check_picture

            check_picture(self.picture)
        graph = load(self.map)
        print("\n".join(told(graph)))
        if self.picture is not None:
            from ..envs.driving.maps.picture import picture

            picture(graph, str(self.picture))
            print(f"wrote {self.picture}")
        return 0


def listed() -> list[str]:
    """A line a generator and a map of the installed packages; how to install those that are not."""
    from ..envs.driving.maps.catalogue import NAMES
    from ..envs.driving.maps.load import PACKAGES, installed

    lines = [f"{name}:SEED" for name in NAMES]
    for package in PACKAGES:
        names = installed(package)
        lines += [f"{package}:{name}" for name in sorted(names)]
        if not names:
            lines.append(f"{package} is not installed; docs/maps.md says how")
    return lines


def told(graph: "LaneGraph") -> list[str]:
    """Counts, lengths and warnings of a map."""
    from ..envs.driving.maps.graph import CYCLING, DRIVING, GIVE_WAY, NONE, SHOULDER, SIGNAL, STOP_SIGN, WALKING

    c = graph.columns
    names = {DRIVING: "driving", SHOULDER: "shoulder", CYCLING: "cycling", WALKING: "walking"}
    kinds = ", ".join(f"{(c.kind == kind).sum()} {name}" for kind, name in names.items() if (c.kind == kind).any())
    stops = {SIGNAL: "signals", STOP_SIGN: "stop signs", GIVE_WAY: "give-way signs"}
    asked = ", ".join(f"{(c.stop_kind == kind).sum()} at {name}" for kind, name in stops.items())
    ends = int(((c.next_first[1:] == c.next_first[:-1]) & (c.kind == DRIVING)).sum())
    return [
        f"{graph.name}: {len(graph)} lanes ({kinds}), {c.length.sum() / 1000:.1f} lane-km, from {graph.source}",
        f"successors {len(c.next_lane)}, lane changes {(c.left != NONE).sum() + (c.right != NONE).sum()}, "
        f"conflicts {len(c.conflict_lane)}, junctions {c.junction.max() + 1}",
        f"stop lines {len(c.stop_s)} ({asked}), signals {len(c.signal_offset)}, crossings {len(c.crossing)}",
        f"driving lanes without a successor: {ends}",
        *(f"warning: {warning}" for warning in graph.notes.get("warnings", ())),
    ]
