"""The flow of libsumo's IDM on a ring; run by ``traffic.py --sumo``, in the interpreter that has ``libsumo``.

    python benchmarks/studies/sumo_ring.py FOLDER 30 50 80 120    # vehicles; prints one line of JSON: mean speeds, m/s

Writes ``FOLDER/ring.net.xml``, which our reader loads too: a circle of radius 200 m in four edges. Imports nothing of
ours, so that libsumo may live in an environment of its own.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import libsumo  # type: ignore[import-not-found]
import sumo  # type: ignore[import-not-found]

RADIUS, EDGES = 200.0, 4
LIMIT = 15.0  # m/s
HEADWAY, ACCEL, BRAKE, LENGTH, JAM_GAP = 1.5, 1.5, 2.0, 4.8, 2.0
SETTLE, WATCH = 3000, 600  # steps of 0.1 s


def build(folder: Path) -> Path:
    """The net, by SUMO's netconvert."""
    nodes, edges = folder / "ring.nod.xml", folder / "ring.edg.xml"
    net = folder / "ring.net.xml"
    angles = [2.0 * math.pi * i / EDGES for i in range(EDGES)]
    corners = [(RADIUS * math.cos(a), RADIUS * math.sin(a)) for a in angles]
    nodes.write_text(
        "<nodes>" + "".join(f'<node id="n{i}" x="{x}" y="{y}"/>' for i, (x, y) in enumerate(corners)) + "</nodes>"
    )
    text = ""
    for i, begin in enumerate(angles):
        turns = [begin + 2.0 * math.pi / EDGES * k / 80 for k in range(81)]
        shape = " ".join(f"{RADIUS * math.cos(a):.3f},{RADIUS * math.sin(a):.3f}" for a in turns)
        text += f'<edge id="e{i}" from="n{i}" to="n{(i + 1) % EDGES}" numLanes="1" speed="{LIMIT}" shape="{shape}"'
        text += ' spreadType="center"/>'
    edges.write_text(f"<edges>{text}</edges>")
    options = [
        "--no-internal-links",
        "--no-turnarounds",
        "--junctions.limit-turn-speed",
        "-1",
        "--offset.disable-normalization",
    ]
    binary = Path(sumo.SUMO_HOME) / "bin" / "netconvert"
    subprocess.run([binary, "-n", nodes, "-e", edges, "-o", net, *options], check=True, capture_output=True)
    return net


def mean_speed(folder: Path, net: Path, count: int) -> float:
    """Of ``count`` vehicles, evenly spread at first, after five minutes."""
    routes = folder / "ring.rou.xml"
    text = f'<vType id="c" carFollowModel="IDM" tau="{HEADWAY}" accel="{ACCEL}" decel="{BRAKE}" minGap="{JAM_GAP}"'
    text += f' length="{LENGTH}" maxSpeed="{LIMIT}" speedFactor="1" speedDev="0" delta="4"/>'
    for i in range(EDGES):
        text += f'<route id="r{i}" edges="{" ".join(f"e{(i + k) % EDGES}" for k in range(EDGES))}" repeat="200"/>'
    per_edge = [count // EDGES + int(i < count % EDGES) for i in range(EDGES)]
    quarter = 2.0 * math.pi * RADIUS / EDGES
    for i, some in enumerate(per_edge):
        for k in range(some):
            at = (k + 0.9) / some * (quarter - 1.0)
            text += f'<vehicle id="v{i}-{k}" type="c" route="r{i}" depart="0" departPos="{at:.2f}" departSpeed="0"'
            text += ' insertionChecks="none"/>'
    routes.write_text(f"<routes>{text}</routes>")
    quiet = ["--no-step-log", "--no-warnings", "--time-to-teleport", "-1"]
    libsumo.start(["sumo", "-n", str(net), "-r", str(routes), "--step-length", "0.1", *quiet])
    for _ in range(SETTLE):
        libsumo.simulationStep()
    total = 0.0
    for _ in range(WATCH):
        libsumo.simulationStep()
        there = libsumo.vehicle.getIDList()
        if len(there) != count:
            raise RuntimeError(f"of {count} vehicles {len(there)} are on the ring")
        total += sum(map(libsumo.vehicle.getSpeed, there)) / count
    libsumo.close()
    return total / WATCH


def main() -> None:
    """Measures and prints."""
    folder = Path(sys.argv[1])
    net = build(folder)
    print(json.dumps({count: mean_speed(folder, net, int(count)) for count in sys.argv[2:]}))


if __name__ == "__main__":
    main()
